//! A message of SNS, and its signed text.
//!
//! The signed text has lines: a name, then its value, which is not escaped. It is unambiguous only if no
//! value but that of `Message` contains a line end, so a message with another such value is refused.
//! `MessageAttributes` are not signed at all.

use gancho_domain::Time;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    Notification,
    SubscriptionConfirmation,
    UnsubscribeConfirmation,
}

/// The hash that `SignatureVersion` selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    Sha1,
    Sha256,
}

#[derive(Debug)]
pub struct Message {
    pub kind: MessageType,
    pub hash: Hash,
    pub message_id: String,
    pub topic_arn: String,
    pub sent_at: Time,
    /// The signature in base64.
    pub signature: String,
    pub signing_cert_url: String,
    pub subscribe_url: Option<String>,
    text: String,
    subject: Option<String>,
    timestamp: String,
    token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawMessage {
    r#type: String,
    message_id: String,
    topic_arn: String,
    message: String,
    timestamp: String,
    signature_version: String,
    signature: String,
    #[serde(rename = "SigningCertURL")]
    signing_cert_url: String,
    subject: Option<String>,
    token: Option<String>,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Option<String>,
}

/// Maximum length of ids and names. Amazon's are shorter.
const MAX_LENGTH: usize = 2_048;

impl Message {
    pub fn read(body: &[u8]) -> Result<Self, &'static str> {
        let raw: RawMessage = serde_json::from_slice(body).map_err(
            |_| "not a signed SNS message. hint: disable raw message delivery for the subscription",
        )?;
        let lines = [&raw.message_id, &raw.topic_arn, &raw.timestamp, &raw.signing_cert_url];
        let more = [&raw.subject, &raw.token, &raw.subscribe_url];
        if !lines.into_iter().chain(more.into_iter().flatten()).all(|text| is_line(text)) {
            return Err("a field contains a line break or is too long");
        }
        let kind = match raw.r#type.as_str() {
            "Notification" => MessageType::Notification,
            "SubscriptionConfirmation" => MessageType::SubscriptionConfirmation,
            "UnsubscribeConfirmation" => MessageType::UnsubscribeConfirmation,
            _ => return Err("unknown SNS message type"),
        };
        let is_greeting = kind != MessageType::Notification;
        if is_greeting && (raw.token.is_none() || raw.subscribe_url.is_none()) {
            return Err("a subscription confirmation without a token and a URL");
        }
        let hash = match raw.signature_version.as_str() {
            "1" => Hash::Sha1,
            "2" => Hash::Sha256,
            _ => return Err("the signature version is neither 1 nor 2"),
        };
        let sent_at: jiff::Timestamp =
            raw.timestamp.parse().map_err(|_| "the timestamp is invalid")?;
        Ok(Self {
            kind,
            hash,
            sent_at: Time::from_micros(sent_at.as_microsecond()),
            message_id: raw.message_id,
            topic_arn: raw.topic_arn,
            signature: raw.signature,
            signing_cert_url: raw.signing_cert_url,
            subscribe_url: raw.subscribe_url,
            text: raw.message,
            subject: raw.subject,
            timestamp: raw.timestamp,
            token: raw.token,
        })
    }

    /// Returns the signed text, in Amazon's order.
    pub fn base(&self) -> String {
        let kind = match self.kind {
            MessageType::Notification => "Notification",
            MessageType::SubscriptionConfirmation => "SubscriptionConfirmation",
            MessageType::UnsubscribeConfirmation => "UnsubscribeConfirmation",
        };
        let is_greeting = self.kind != MessageType::Notification;
        let only_greeting = |value: &'_ Option<String>| value.clone().filter(|_| is_greeting);
        let subject = self.subject.clone().filter(|_| !is_greeting);
        let mut base = String::with_capacity(self.text.len() + 512);
        for (name, value) in [
            ("Message", Some(&self.text)),
            ("MessageId", Some(&self.message_id)),
            ("Subject", subject.as_ref()),
            ("SubscribeURL", only_greeting(&self.subscribe_url).as_ref()),
            ("Timestamp", Some(&self.timestamp)),
            ("Token", only_greeting(&self.token).as_ref()),
            ("TopicArn", Some(&self.topic_arn)),
            ("Type", Some(&kind.to_owned())),
        ] {
            let Some(value) = value else { continue };
            for part in [name, "\n", value.as_str(), "\n"] {
                base.push_str(part);
            }
        }
        base
    }
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_LENGTH && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A notification as in Amazon's documentation.
    fn notification() -> Value {
        json!({
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": "arn:aws:sns:us-west-2:123456789012:MyTopic",
            "Subject": "My First Message",
            "Message": "Hello\nworld!",
            "Timestamp": "2012-05-02T00:54:06.655Z",
            "SignatureVersion": "1",
            "Signature": "EXAMPLE",
            "SigningCertURL": "https://sns.us-west-2.amazonaws.com/S.pem",
            "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe",
        })
    }

    fn base(message: &Value) -> String {
        Message::read(message.to_string().as_bytes()).unwrap().base()
    }

    #[test]
    fn what_is_signed() {
        let mut message = notification();
        assert_eq!(
            base(&message),
            "Message\nHello\nworld!\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\n\
             Subject\nMy First Message\nTimestamp\n2012-05-02T00:54:06.655Z\n\
             TopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nNotification\n"
        );
        message["Subject"] = Value::Null;
        message["Token"] = json!("not part of it");
        assert!(!base(&message).contains("Subject") && !base(&message).contains("Token"));
        message["Type"] = json!("SubscriptionConfirmation");
        message["Subject"] = json!("not part of it");
        message["Token"] = json!("t");
        message["SubscribeURL"] = json!("https://s");
        message["SignatureVersion"] = json!("2");
        assert_eq!(
            base(&message),
            "Message\nHello\nworld!\nMessageId\n22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324\n\
             SubscribeURL\nhttps://s\nTimestamp\n2012-05-02T00:54:06.655Z\nToken\nt\n\
             TopicArn\narn:aws:sns:us-west-2:123456789012:MyTopic\nType\nSubscriptionConfirmation\n"
        );
    }

    #[test]
    fn what_is_none() {
        let invalid = |name: &str, value: Value| {
            let mut message = notification();
            message[name] = value;
            Message::read(message.to_string().as_bytes()).expect_err(name)
        };
        for name in ["Type", "MessageId", "TopicArn", "Message", "Timestamp", "Signature"] {
            invalid(name, Value::Null);
            invalid(name, json!(["x"]));
        }
        for name in ["MessageId", "TopicArn", "Subject", "Timestamp", "SigningCertURL", "Token"] {
            invalid(name, json!("a\nb"));
        }
        invalid("SubscribeURL", json!("https://s\n"));
        invalid("MessageId", json!("a".repeat(MAX_LENGTH + 1)));
        invalid("SignatureVersion", json!("3"));
        invalid("SignatureVersion", json!(1));
        invalid("Type", json!("notification"));
        invalid("Type", json!("SubscriptionConfirmation"));
        invalid("Timestamp", json!("yesterday"));
        for raw in ["", "null", "[]", "hello", "{\"default\":\"hello\"}"] {
            assert!(Message::read(raw.as_bytes()).unwrap_err().contains("raw message delivery"));
        }
        let twice = notification().to_string().replacen('{', "{\"Message\":\"another\",", 1);
        Message::read(twice.as_bytes()).expect_err("a field that is there twice");
    }
}
