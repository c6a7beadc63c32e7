//! How a source proves its requests: by one of the signatures that [`gancho_wire`] knows, or, where the
//! sender signs nothing, by a token. A preset also says how the sender greets, where its event's id
//! stands and which header names the kind of event.

use gancho_wire::{GenericFault, GenericHmac, KeyFault, Recipe, SecretEncoding};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Gancho's own form: `X-Timestamp`, `X-Key-Id`, `X-Signature`.
    #[default]
    Partner,
    Standard,
    Stripe,
    Github,
    Slack,
    Shopify,
    /// Facebook, Instagram and WhatsApp: signed as GitHub does, greeted by `hub.challenge`.
    Meta,
    /// Microsoft Graph: greeted by `validationToken`, proved by the `clientState` in each notification.
    Microsoft,
    /// Any other HMAC-SHA256.
    Generic(GenericHmac),
    /// A fixed token in a header.
    Token(TokenHeader),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenHeader {
    pub header: String,
}

/// What is looked at to prove a request.
#[derive(Debug, Clone)]
pub enum Proof {
    Signature(Box<Recipe>),
    HeaderToken(String),
    /// `value[*].clientState` in the body.
    ClientState,
}

impl Preset {
    pub fn proof(&self) -> Result<Proof, GenericFault> {
        match self.signed() {
            Some(preset) => preset.recipe().map(|recipe| Proof::Signature(Box::new(recipe))),
            None => match self {
                Self::Token(token) if is_header_name(&token.header) => {
                    Ok(Proof::HeaderToken(token.header.clone()))
                }
                Self::Token(token) => Err(GenericFault::HeaderName(token.header.clone())),
                _ => Ok(Proof::ClientState),
            },
        }
    }

    /// The same among those that sign.
    pub fn signed(&self) -> Option<gancho_wire::Preset> {
        Some(match self {
            Self::Partner => gancho_wire::Preset::Partner,
            Self::Standard => gancho_wire::Preset::Standard,
            Self::Stripe => gancho_wire::Preset::Stripe,
            Self::Github | Self::Meta => gancho_wire::Preset::Github,
            Self::Slack => gancho_wire::Preset::Slack,
            Self::Shopify => gancho_wire::Preset::Shopify,
            Self::Generic(generic) => gancho_wire::Preset::Generic(generic.clone()),
            Self::Microsoft | Self::Token(_) => return None,
        })
    }

    /// Where the event's id stands in the body, unless the source says otherwise. Only where the
    /// sender promises that it names the event: an id of what the event is about would make two
    /// events one.
    pub fn event_id_pointer(&self) -> Option<&'static str> {
        match self {
            Self::Partner | Self::Slack => Some("/event_id"),
            Self::Stripe => Some("/id"),
            _ => None,
        }
    }

    /// The header that names the kind of event. No signature covers it, so it is handed on as a hint
    /// and tells apart two events whose bodies are the same, but proves nothing.
    pub fn topic_header(&self) -> Option<&'static str> {
        match self {
            Self::Github => Some("x-github-event"),
            Self::Shopify => Some("x-shopify-topic"),
            _ => None,
        }
    }

    /// Whether a secret can stand for a key of this preset.
    pub fn check_secret(&self, secret: &str, encoding: SecretEncoding) -> Result<(), KeyFault> {
        match self.signed() {
            Some(preset) => preset.hmac_key(secret, encoding).map(|_| ()),
            None => gancho_wire::Token::new(secret).map(|_| ()),
        }
    }

    pub fn check_public_key(&self, public_key: &str) -> Result<(), KeyFault> {
        match self.signed() {
            Some(preset) => preset.ed25519_key(public_key).map(|_| ()),
            None => Err(KeyFault::HmacOnly),
        }
    }
}

fn is_header_name(text: &str) -> bool {
    text.len() <= 64 && http::HeaderName::from_bytes(text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_named_in_json() {
        for (json, preset) in [
            (r#""partner""#, Preset::Partner),
            (r#""meta""#, Preset::Meta),
            (r#""microsoft""#, Preset::Microsoft),
            (
                r#"{"token":{"header":"X-Token"}}"#,
                Preset::Token(TokenHeader { header: "X-Token".into() }),
            ),
        ] {
            assert_eq!(serde_json::from_str::<Preset>(json).unwrap(), preset);
            assert!(preset.proof().is_ok());
        }
        let odd = Preset::Token(TokenHeader { header: "a b".into() });
        assert!(odd.proof().is_err());
        assert!(serde_json::from_str::<Preset>(r#""paypal""#).is_err());
    }
}
