//! A signing key, prepared once from its text and used for every attempt.

use std::fmt;

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use ed25519_dalek::Signer;

use crate::{
    KeyError, Profile, Scheme, SecretEncoding, SecretFormat, VerifyingKey,
    secret::{self, KeyBytes, PRIVATE_PREFIX, PUBLIC_PREFIX},
};

/// An HMAC or Ed25519 key. It does not store the text, and its memory is erased when dropped (AWS-LC and
/// dalek both do that). It cannot be cloned, and `Debug` shows only its kind.
pub struct SigningKey {
    kind: KeyMaterial,
    format: SecretFormat,
}

// Boxed, because a prepared HMAC key takes more than a kilobyte.
enum KeyMaterial {
    Hmac(Box<hmac::Key>),
    Ed25519(Box<ed25519_dalek::SigningKey>),
}

/// A signature.
pub(crate) enum Tag {
    Hmac(hmac::Tag),
    Ed25519([u8; 64]),
}

impl SigningKey {
    /// Creates the key of a secret's text in a profile: for `standard`, base64 after `whsec_` or `whsk_`, or
    /// the text itself; for the other schemes always the text itself.
    pub fn for_profile(profile: &Profile, secret: &str) -> Result<Self, KeyError> {
        match profile.signature.scheme {
            Scheme::Standard => Self::standard(secret),
            Scheme::Sha256
            | Scheme::Hex
            | Scheme::V0
            | Scheme::TimedSeconds
            | Scheme::TimedMillis => Self::hmac(secret, SecretEncoding::Raw),
        }
    }

    /// As [`Self::for_profile`], for a secret that is being configured. If it begins with `whsec_` and the
    /// profile decodes that, the rest must be base64, because the public libraries could not use it
    /// otherwise. Secrets that were configured before this check continue to sign.
    pub fn for_new_secret(profile: &Profile, secret: &str) -> Result<Self, KeyError> {
        if profile.signature.scheme == Scheme::Standard {
            secret::check_prefixed(secret)?;
        }
        Self::for_profile(profile, secret)
    }

    fn standard(secret: &str) -> Result<Self, KeyError> {
        if secret.starts_with(PRIVATE_PREFIX) {
            return Self::ed25519(secret);
        }
        let (bytes, format) = secret::standard(secret)?;
        Ok(Self::from_hmac_bytes(&bytes, format))
    }

    /// Creates an HMAC key in a known encoding, such as a partner's.
    pub fn hmac(secret: &str, encoding: SecretEncoding) -> Result<Self, KeyError> {
        let bytes = secret::encoded(secret, encoding)?;
        let format = match encoding {
            SecretEncoding::Raw => SecretFormat::Raw,
            SecretEncoding::Base64 => SecretFormat::Base64,
            SecretEncoding::Hex => SecretFormat::Hex,
        };
        Ok(Self::from_hmac_bytes(&bytes, format))
    }

    /// Creates an Ed25519 key: base64, with or without `whsk_`, of the seed or of seed and public key.
    pub fn ed25519(secret: &str) -> Result<Self, KeyError> {
        let bytes = secret::base64(secret.strip_prefix(PRIVATE_PREFIX).unwrap_or(secret))?;
        let key = if let Ok(seed) = <&[u8; 32]>::try_from(bytes.as_slice()) {
            ed25519_dalek::SigningKey::from_bytes(seed)
        } else {
            let pair = bytes.as_slice().try_into();
            let pair = pair.map_err(|_| KeyError::Ed25519Length(bytes.len()))?;
            ed25519_dalek::SigningKey::from_keypair_bytes(pair)
                .map_err(|_| KeyError::KeyPairMismatch)?
        };
        Ok(Self { kind: KeyMaterial::Ed25519(Box::new(key)), format: SecretFormat::Ed25519 })
    }

    fn from_hmac_bytes(bytes: &KeyBytes, format: SecretFormat) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        Self { kind: KeyMaterial::Hmac(Box::new(key)), format }
    }

    /// Returns how the secret's text was decoded.
    pub fn format(&self) -> SecretFormat {
        self.format
    }

    /// Returns the key that verifies what this one signs.
    pub fn verifying_key(&self) -> VerifyingKey {
        match &self.kind {
            KeyMaterial::Hmac(key) => VerifyingKey::from_hmac((**key).clone()),
            KeyMaterial::Ed25519(key) => VerifyingKey::from_ed25519(key.verifying_key()),
        }
    }

    /// Returns `whpk_…` for receivers; `None` for HMAC, which has no public key.
    pub fn public_key(&self) -> Option<String> {
        match &self.kind {
            KeyMaterial::Hmac(_) => None,
            KeyMaterial::Ed25519(key) => {
                let public = BASE64.encode(key.verifying_key().as_bytes());
                Some(format!("{PUBLIC_PREFIX}{public}"))
            }
        }
    }

    /// Signs the parts as if they were one text.
    pub(crate) fn tag(&self, parts: &[&[u8]]) -> Tag {
        match &self.kind {
            KeyMaterial::Hmac(key) => Tag::Hmac(mac(key, parts)),
            KeyMaterial::Ed25519(key) => Tag::Ed25519(key.sign(&parts.concat()).to_bytes()),
        }
    }

    pub(crate) fn is_hmac(&self) -> bool {
        matches!(self.kind, KeyMaterial::Hmac(_))
    }
}

pub(crate) fn mac(key: &hmac::Key, parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(part);
    }
    context.sign()
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Hmac(tag) => tag.as_ref(),
            Self::Ed25519(bytes) => bytes,
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, redacted)", if self.is_hmac() { "hmac" } else { "ed25519" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing_of_the_key() {
        let key = SigningKey::hmac("canary-canary-canary", SecretEncoding::Raw).unwrap();
        assert_eq!(format!("{key:?}"), "SigningKey(hmac, redacted)");
        assert_eq!(format!("{:?}", key.verifying_key()), "VerifyingKey(hmac, redacted)");
    }

    #[test]
    fn a_private_key_may_carry_its_public_half_if_it_is_the_right_one() {
        let seed = [9_u8; 32];
        let pair = ed25519_dalek::SigningKey::from_bytes(&seed).to_keypair_bytes();
        let text = |bytes: &[u8]| format!("whsk_{}", BASE64.encode(bytes));
        let short = SigningKey::ed25519(&text(&seed)).unwrap();
        let long = SigningKey::ed25519(&text(&pair)).unwrap();
        assert_eq!(short.public_key(), long.public_key());

        let mut other = pair;
        other[40] ^= 1;
        assert_eq!(SigningKey::ed25519(&text(&other)).unwrap_err(), KeyError::KeyPairMismatch);
        let error = SigningKey::ed25519(&text(&seed[1..])).unwrap_err();
        assert_eq!(error, KeyError::Ed25519Length(31));
    }

    #[test]
    fn an_ed25519_key_is_for_standard_only() {
        let secret = format!("whsk_{}", BASE64.encode(&[9; 32]));
        for profile in Profile::built_in() {
            let key = SigningKey::for_profile(&profile, &secret);
            if profile.signature.scheme == Scheme::Standard {
                assert_eq!(key.unwrap().format(), SecretFormat::Ed25519);
            } else {
                assert_eq!(key.unwrap_err(), KeyError::PrivateKeyForHmac);
            }
        }
    }
}
