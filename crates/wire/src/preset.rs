//! Presets: the signature schemes of well-known senders.

use serde::Deserialize;

use crate::{
    GenericHmac, GenericHmacError, KeyError, Recipe, SecretEncoding, SignatureEncoding,
    TimestampFormat, VerifyingKey,
    base_string::{BaseString, Piece},
    candidates::Layout,
    recipe::Names,
};

/// A sender's signature scheme.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Gancho's own form for partners: `X-Timestamp`, `X-Key-Id`, `X-Signature`.
    #[default]
    Partner,
    /// Standard Webhooks, also with the `svix-` header names.
    Standard,
    Stripe,
    Github,
    Slack,
    Shopify,
    /// Any other HMAC-SHA256.
    Generic(GenericHmac),
}

impl Preset {
    /// Returns the recipe. Only a generic one can be invalid.
    pub fn recipe(&self) -> Result<Recipe, GenericHmacError> {
        Ok(match self {
            Self::Partner => partner(),
            Self::Standard => Recipe {
                other_names: Some(standard_names("svix")),
                ..Recipe::standard(standard_names("webhook"))
            },
            Self::Stripe => Recipe::timed("Stripe-Signature", TimestampFormat::Seconds),
            Self::Github => {
                Recipe::single("X-Hub-Signature-256", "sha256=", SignatureEncoding::Hex)
            }
            Self::Slack => slack(),
            Self::Shopify => Recipe::single("X-Shopify-Hmac-Sha256", "", SignatureEncoding::Base64),
            Self::Generic(generic) => generic.recipe()?,
        })
    }

    /// Returns the key of a sender's HMAC secret. Standard Webhooks senders write `whsec_` and base64. For
    /// all others the text is decoded by `encoding`, even if it begins with `whsec_`.
    pub fn hmac_key(
        &self,
        secret: &str,
        encoding: SecretEncoding,
    ) -> Result<VerifyingKey, KeyError> {
        match (self, encoding) {
            (Self::Standard, SecretEncoding::Raw) if !secret.starts_with("whpk_") => {
                VerifyingKey::standard(secret)
            }
            _ => VerifyingKey::hmac(secret, encoding),
        }
    }

    /// Returns the key of a sender's Ed25519 public key, if its scheme has any.
    pub fn ed25519_key(&self, public_key: &str) -> Result<VerifyingKey, KeyError> {
        match self {
            Self::Partner | Self::Standard => VerifyingKey::ed25519(public_key),
            _ => Err(KeyError::HmacOnly),
        }
    }
}

fn partner() -> Recipe {
    Recipe {
        names: Names {
            signature: "X-Signature".to_owned(),
            timestamp: Some("X-Timestamp".to_owned()),
            id: None,
        },
        other_names: None,
        key_id_header: Some("X-Key-Id".to_owned()),
        layout: Layout::Scheme,
        time_form: TimestampFormat::SecondsOrRfc3339,
        base: Recipe::timestamp_and_body(),
    }
}

fn standard_names(family: &str) -> Names {
    Names {
        signature: format!("{family}-signature"),
        timestamp: Some(format!("{family}-timestamp")),
        id: Some(format!("{family}-id")),
    }
}

fn slack() -> Recipe {
    let text = |t: &str| Piece::Text(t.to_owned());
    Recipe {
        names: Names {
            signature: "X-Slack-Signature".to_owned(),
            timestamp: Some("X-Slack-Request-Timestamp".to_owned()),
            id: None,
        },
        other_names: None,
        key_id_header: None,
        layout: Layout::Single { prefix: "v0=".to_owned(), encoding: SignatureEncoding::Hex },
        time_form: TimestampFormat::Seconds,
        base: BaseString::of(vec![text("v0:"), Piece::Timestamp, text(":"), Piece::Body]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_named_in_configuration() {
        for (json, preset) in [
            (r#""partner""#, Preset::Partner),
            (r#""standard""#, Preset::Standard),
            (r#""stripe""#, Preset::Stripe),
            (r#""github""#, Preset::Github),
            (r#""slack""#, Preset::Slack),
            (r#""shopify""#, Preset::Shopify),
        ] {
            assert_eq!(serde_json::from_str::<Preset>(json).unwrap(), preset);
            assert!(preset.recipe().is_ok());
        }
        let json = r#"{"generic": {"header": "X-Sig", "encoding": "hex"}}"#;
        assert!(serde_json::from_str::<Preset>(json).unwrap().recipe().is_ok());
    }

    #[test]
    fn only_two_know_ed25519() {
        let key = crate::new_key_pair().unwrap().public_key;
        assert!(Preset::Partner.ed25519_key(&key).is_ok());
        assert!(Preset::Standard.ed25519_key(&key).is_ok());
        assert_eq!(Preset::Github.ed25519_key(&key).unwrap_err(), KeyError::HmacOnly);
        let error = Preset::Standard.hmac_key(&key, SecretEncoding::Raw).unwrap_err();
        assert_eq!(error, KeyError::PublicKeyAsSecret);
    }
}
