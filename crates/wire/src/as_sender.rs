//! Signs as a sender does: for the simulator and for tests, and accepted by [`Recipe::verify`].

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Time;

use crate::{
    KeyError, Preset, Profile, Recipe, SecretEncoding, SignError, SignatureEncoding, SigningKey,
    TimestampFormat, base_string::Piece, candidates::Layout, headers::is_message_id,
};

impl Preset {
    /// Returns the key with which a sender of this kind signs, from the shared secret.
    pub fn hmac_signing_key(
        &self,
        secret: &str,
        encoding: SecretEncoding,
    ) -> Result<SigningKey, KeyError> {
        match (self, encoding) {
            (Self::Standard, SecretEncoding::Raw) => {
                SigningKey::for_profile(&Profile::standard(), secret)
            }
            _ => SigningKey::hmac(secret, encoding),
        }
    }
}

impl Recipe {
    /// Returns the headers with which a sender signs a message. `id` is used if the scheme signs one, and
    /// `key_id` if it names the key.
    pub fn sign(
        &self,
        key: &SigningKey,
        key_id: &str,
        at: Time,
        id: &str,
        body: &[u8],
    ) -> Result<Vec<(String, String)>, SignError> {
        if self.base.has(&Piece::Id) && !is_message_id(id.as_bytes()) {
            return Err(SignError::EventId);
        }
        let time = match self.time_form {
            TimestampFormat::Seconds | TimestampFormat::SecondsOrRfc3339 => at.secs().to_string(),
            TimestampFormat::Millis => at.millis().to_string(),
            TimestampFormat::Rfc3339 => at.to_string(),
        };
        let base = self.base.fill(time.as_bytes(), id.as_bytes(), body);
        let tag = key.tag(&base);
        let unfit = || SignError::KeyDoesNotFit(self.names.signature.clone());
        let signature = match (&self.layout, key.is_hmac()) {
            (Layout::Versions, true) => format!("v1,{}", BASE64.encode(tag.as_ref())),
            (Layout::Versions, false) => format!("v1a,{}", BASE64.encode(tag.as_ref())),
            (Layout::Scheme, true) => format!("hmac-sha256={}", BASE64.encode(tag.as_ref())),
            (Layout::Scheme, false) => format!("ed25519={}", BASE64.encode(tag.as_ref())),
            (Layout::Fields, true) => format!("t={time},v1={}", HEXLOWER.encode(tag.as_ref())),
            (Layout::Single { prefix, encoding }, true) => match encoding {
                SignatureEncoding::Hex => format!("{prefix}{}", HEXLOWER.encode(tag.as_ref())),
                SignatureEncoding::Base64 => format!("{prefix}{}", BASE64.encode(tag.as_ref())),
            },
            (Layout::Fields | Layout::Single { .. }, false) => return Err(unfit()),
        };
        let mut headers = vec![(self.names.signature.clone(), signature)];
        if let Some(name) = &self.names.timestamp {
            headers.push((name.clone(), time));
        }
        if let Some(name) = &self.names.id {
            headers.push((name.clone(), id.to_owned()));
        }
        if let Some(name) = &self.key_id_header {
            headers.push((name.clone(), key_id.to_owned()));
        }
        Ok(headers)
    }

    /// Returns the names of all headers that verification reads.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        let sets = [Some(&self.names), self.other_names.as_ref()].into_iter().flatten();
        let each = sets.flat_map(|names| {
            [Some(&names.signature), names.timestamp.as_ref(), names.id.as_ref()]
        });
        each.chain([self.key_id_header.as_ref()]).flatten().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DEFAULT_TOLERANCE;

    #[test]
    fn what_a_sender_signs_is_verified() {
        let generic = r#"{"generic":{"header":"X-Sig","prefix":"mac=","encoding":"base64",
            "base":"{id}|{timestamp}|{body}","timestamp_header":"X-Time","timestamp_form":"rfc3339",
            "id_header":"X-Id","key_id_header":"X-Key"}}"#;
        let secret = "a secret of some length";
        let now = Time::from_secs(1_706_012_345);
        for text in [
            r#""partner""#,
            r#""standard""#,
            r#""stripe""#,
            r#""github""#,
            r#""slack""#,
            r#""shopify""#,
            generic,
        ] {
            let preset: Preset = serde_json::from_str(text).unwrap();
            let recipe = preset.recipe().unwrap();
            let signing = preset.hmac_signing_key(secret, SecretEncoding::Raw).unwrap();
            let keys = [preset.hmac_key(secret, SecretEncoding::Raw).unwrap()];
            let headers = recipe.sign(&signing, "k1", now, "m_1", b"{}").unwrap();
            let lines: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            recipe.verify(&keys, &lines, b"{}", now, DEFAULT_TOLERANCE).expect(text);
            assert!(recipe.verify(&keys, &lines, b"{ }", now, DEFAULT_TOLERANCE).is_err());
            for (name, _) in &headers {
                assert!(recipe.header_names().any(|known| known == name), "{name}");
            }
        }
    }
}
