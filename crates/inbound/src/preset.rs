//! The authentication of a source: a signature scheme of [`gancho_wire`], that of Amazon SNS, or a token if
//! the sender signs nothing. A preset also defines the sender's handshake, the location of the event id and
//! the header with the event type.

use gancho_wire::{GenericHmac, GenericHmacError, KeyError, Recipe, SecretEncoding};
use serde::Deserialize;
use thiserror::Error;

use crate::sns::hosts::is_region;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Gancho's own scheme: `X-Timestamp`, `X-Key-Id`, `X-Signature`.
    #[default]
    Partner,
    Standard,
    Stripe,
    Github,
    Slack,
    Shopify,
    /// Facebook, Instagram and WhatsApp: signed like GitHub, handshake with `hub.challenge`.
    Meta,
    /// Microsoft Graph: handshake with `validationToken`, authenticated by the `clientState` in each
    /// notification.
    Microsoft,
    /// Amazon SNS, which signs with its own key: the source has none.
    Sns(SnsTopics),
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

/// The ARNs of the accepted topics. Amazon signs messages of all other topics as well.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnsTopics {
    pub topics: Vec<String>,
}

const MAX_TOPICS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PresetError {
    #[error(transparent)]
    Generic(#[from] GenericHmacError),
    #[error("`topics` must have 1 to {MAX_TOPICS} ARNs; other topics are rejected")]
    TopicCount,
    #[error("`{0}` is not the ARN of a topic, e.g. arn:aws:sns:eu-west-1:123456789012:name")]
    Topic(String),
}

/// The handshake of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handshake {
    /// No handshake, or one that is answered for every partner.
    Nothing,
    /// A GET request with a verify token.
    VerifyToken,
    /// A signed challenge.
    UrlVerification,
    /// A signed message about a subscription.
    Subscription,
}

/// How a request is verified.
#[derive(Debug, Clone)]
pub enum Proof {
    Signature(Box<Recipe>),
    HeaderToken(String),
    /// `value[*].clientState` in the body.
    ClientState,
    /// The signature in the body, and the topic.
    Sns(Vec<String>),
}

impl Preset {
    /// The presets that need only a name.
    pub const NAMES: [&'static str; 8] =
        ["partner", "standard", "stripe", "github", "slack", "shopify", "meta", "microsoft"];

    /// Whether this is Gancho's own scheme, which is also used for unknown partners.
    pub fn is_own_form(&self) -> bool {
        *self == Self::Partner
    }

    pub fn handshake(&self) -> Handshake {
        match self {
            Self::Meta => Handshake::VerifyToken,
            Self::Slack => Handshake::UrlVerification,
            Self::Sns(_) => Handshake::Subscription,
            _ => Handshake::Nothing,
        }
    }

    pub fn proof(&self) -> Result<Proof, PresetError> {
        match self.signed() {
            Some(preset) => Ok(Proof::Signature(Box::new(preset.recipe()?))),
            None => match self {
                Self::Sns(sns) => checked_topics(&sns.topics).map(Proof::Sns),
                Self::Token(token) if is_header_name(&token.header) => {
                    Ok(Proof::HeaderToken(token.header.clone()))
                }
                Self::Token(token) => {
                    Err(GenericHmacError::HeaderName(token.header.clone()).into())
                }
                _ => Ok(Proof::ClientState),
            },
        }
    }

    /// The signature scheme of presets that have one.
    pub fn signed(&self) -> Option<gancho_wire::Preset> {
        Some(match self {
            Self::Partner => gancho_wire::Preset::Partner,
            Self::Standard => gancho_wire::Preset::Standard,
            Self::Stripe => gancho_wire::Preset::Stripe,
            Self::Github | Self::Meta => gancho_wire::Preset::Github,
            Self::Slack => gancho_wire::Preset::Slack,
            Self::Shopify => gancho_wire::Preset::Shopify,
            Self::Generic(generic) => gancho_wire::Preset::Generic(generic.clone()),
            Self::Microsoft | Self::Sns(_) | Self::Token(_) => return None,
        })
    }

    /// Returns the default location of the event id in the body. Only senders that guarantee that it
    /// identifies the event have one: the id of the event's object would merge two events.
    pub fn event_id_pointer(&self) -> Option<&'static str> {
        match self {
            Self::Partner | Self::Slack => Some("/event_id"),
            Self::Stripe => Some("/id"),
            _ => None,
        }
    }

    /// Returns the header with the event type. It is not signed, so it is passed on as a hint and proves
    /// nothing.
    pub fn topic_header(&self) -> Option<&'static str> {
        match self {
            Self::Github => Some("x-github-event"),
            Self::Shopify => Some("x-shopify-topic"),
            _ => None,
        }
    }

    /// Returns the part of that header that distinguishes two events with the same body.
    ///
    /// Shopify sends such events: an order is created and paid at the same time. So a topic in Shopify's
    /// format is part of the identity, and anyone who has a signed body can have it accepted again under
    /// another topic. GitHub's bodies name their event themselves, so there another header does not make
    /// another event.
    pub fn telling_topic<'a>(&self, topic: Option<&'a str>) -> Option<&'a str> {
        let is_word = |word: &str| {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            (1..=40).contains(&word.len()) && word.bytes().all(plain)
        };
        let is_usual = |topic: &&str| {
            topic.split_once('/').is_some_and(|(what, deed)| is_word(what) && is_word(deed))
        };
        topic.filter(is_usual).filter(|_| *self == Self::Shopify)
    }

    /// Whether sources with this preset have keys.
    pub fn has_keys(&self) -> bool {
        !matches!(self, Self::Sns(_))
    }

    /// Checks whether a secret is valid for this preset.
    pub fn check_secret(&self, secret: &str, encoding: SecretEncoding) -> Result<(), KeyError> {
        match self.signed() {
            Some(preset) => preset.hmac_key(secret, encoding).map(|_| ()),
            None => gancho_wire::Token::new(secret).map(|_| ()),
        }
    }

    pub fn check_public_key(&self, public_key: &str) -> Result<(), KeyError> {
        match self.signed() {
            Some(preset) => preset.ed25519_key(public_key).map(|_| ()),
            None => Err(KeyError::HmacOnly),
        }
    }
}

fn checked_topics(topics: &[String]) -> Result<Vec<String>, PresetError> {
    if topics.is_empty() || topics.len() > MAX_TOPICS {
        return Err(PresetError::TopicCount);
    }
    match topics.iter().find(|topic| !is_topic(topic)) {
        Some(invalid) => Err(PresetError::Topic(invalid.clone())),
        None => Ok(topics.to_vec()),
    }
}

/// Whether it is `arn:<partition>:sns:<region>:<account>:<name>`. There are no placeholders: each ARN is one
/// topic.
fn is_topic(arn: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    match arn.split(':').collect::<Vec<_>>()[..] {
        ["arn", partition, "sns", region, account, name] => {
            partition.starts_with("aws")
                && partition.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
                && is_region(region)
                && account.len() == 12
                && account.bytes().all(|byte| byte.is_ascii_digit())
                && (1..=256).contains(&name.len())
                && name.bytes().all(plain)
        }
        _ => false,
    }
}

fn is_header_name(text: &str) -> bool {
    text.len() <= 64 && http::HeaderName::from_bytes(text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_listed_or_has_parameters() {
        for name in Preset::NAMES {
            assert!(serde_json::from_str::<Preset>(&format!("\"{name}\"")).is_ok(), "{name}");
        }
        // The error lists all of them.
        let text = serde_json::from_str::<Preset>("\"no such\"").unwrap_err().to_string();
        let known: Vec<_> = text.split('`').skip(3).step_by(2).collect();
        let listed: Vec<_> = Preset::NAMES.into_iter().chain(["sns", "generic", "token"]).collect();
        assert_eq!(known, listed, "{text}");
    }

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
        let sns = |topics: &str| {
            let json = format!(r#"{{"sns":{{"topics":{topics}}}}}"#);
            serde_json::from_str::<Preset>(&json).unwrap().proof()
        };
        for fine in [
            "arn:aws:sns:eu-west-1:123456789012:ses-feedback",
            "arn:aws-cn:sns:cn-north-1:123456789012:a_b",
            "arn:aws-us-gov:sns:us-gov-west-1:000000000000:a.fifo",
        ] {
            assert!(matches!(sns(&format!("[\"{fine}\"]")), Ok(Proof::Sns(_))), "{fine}");
        }
        assert_eq!(sns("[]").unwrap_err(), PresetError::TopicCount);
        for invalid in [
            "",
            "*",
            "arn:aws:sns:*:123456789012:a",
            "arn:aws:sns:eu-west-1:123456789012:*",
            "arn:aws:sqs:eu-west-1:123456789012:a",
            "arn:aws:sns:eu-west-1:123456789012:a:b",
            "arn:aws:sns:eu-west-1:1234:a",
            "arn:aws:sns:eu-west-1:123456789012:",
        ] {
            assert!(sns(&format!("[\"{invalid}\"]")).is_err(), "{invalid}");
        }
        assert!(serde_json::from_str::<Preset>(r#""sns""#).is_err(), "topics are not optional");
        let invalid = Preset::Token(TokenHeader { header: "a b".into() });
        assert!(invalid.proof().is_err());
        assert!(serde_json::from_str::<Preset>(r#""paypal""#).is_err());
    }
}
