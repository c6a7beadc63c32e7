//! The stored form of an e-mail: validated once, with everything that is needed to send it and to report on
//! it.

use std::fmt;

use bytes::Bytes;
use gancho_domain::{EmailId, Parcel, mask};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, Visitor},
};

use crate::{Mailbox, attachment::Attachment};

/// Fields that lists show come first, and those that may be large come last: see [`SUMMARY_PREFIX_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Email {
    /// The tenant's slug, for events.
    pub company_id: String,
    pub to: Mailbox,
    pub from: Mailbox,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Mailbox>,
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// Length of the prefix of a stored e-mail that contains its [`EmailSummary`], whatever its fields are.
pub const SUMMARY_PREFIX_BYTES: usize = 16 << 10;

/// The part of an e-mail that events contain, read without the rest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailSummary {
    pub company_id: String,
    pub to: Mailbox,
    pub from: Mailbox,
    pub subject: String,
}

impl Email {
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Serializes the e-mail. Deterministic: the same e-mail gives the same bytes.
    pub fn write(&self) -> Result<Bytes, serde_json::Error> {
        serde_json::to_vec(self).map(Bytes::from)
    }
}

impl EmailSummary {
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Reads the summary from the prefix of a stored e-mail; `None` if the prefix does not contain it.
    pub fn in_prefix(prefix: &[u8]) -> Option<Self> {
        let mut parts = Parts::default();
        // A truncated document is not an error: the fields were read by then, or are missing.
        let _ = serde_json::Deserializer::from_slice(prefix).deserialize_map(&mut parts);
        Some(Self {
            company_id: parts.company_id?,
            to: parts.to?,
            from: parts.from?,
            subject: parts.subject?,
        })
    }
}

/// The fields of an [`EmailSummary`] that were read so far.
#[derive(Default)]
struct Parts {
    company_id: Option<String>,
    to: Option<Mailbox>,
    from: Option<Mailbox>,
    subject: Option<String>,
}

impl<'de> Visitor<'de> for &mut Parts {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the beginning of an e-mail")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "companyId" => self.company_id = Some(map.next_value()?),
                "to" => self.to = Some(map.next_value()?),
                "from" => self.from = Some(map.next_value()?),
                "subject" => self.subject = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Returns what is stored in place of an e-mail whose content was erased: an e-mail of the tenant without
/// sender and recipient.
pub fn erased(body: &[u8]) -> Option<Bytes> {
    let nobody: Mailbox = "erased@erased.invalid".parse().ok()?;
    let email = Email {
        company_id: EmailSummary::read(body).ok()?.company_id,
        to: nobody.clone(),
        from: nobody,
        reply_to: None,
        subject: String::new(),
        text: None,
        html: None,
        headers: Vec::new(),
        attachments: Vec::new(),
    };
    email.write().ok()
}

/// Returns a stored e-mail as dead letters show it: every address is masked, and attachments have only their
/// names. `None` if it is not an e-mail.
pub fn masked(body: &[u8]) -> Option<Bytes> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct MaskedEmail {
        company_id: String,
        to: String,
        from: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        subject: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, String)>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
    }
    let email = Email::read(body).ok()?;
    let hide = |text: String| mask::text(&text);
    let masked = MaskedEmail {
        company_id: email.company_id,
        to: email.to.masked(),
        from: email.from.masked(),
        reply_to: email.reply_to.map(|mailbox| mailbox.masked()),
        subject: hide(email.subject),
        text: email.text.map(hide),
        html: email.html.map(hide),
        headers: email.headers.into_iter().map(|(name, value)| (name, hide(value))).collect(),
        attachments: email.attachments.into_iter().map(|file| hide(file.filename)).collect(),
    };
    serde_json::to_vec(&masked).ok().map(Bytes::from)
}

/// Returns the id of an e-mail: the id of its parcel, with another prefix.
pub fn outbox_id(parcel: &Parcel) -> EmailId {
    parcel.id.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn email(name: &str, subject: &str, text: usize) -> Email {
        let mailbox = |at: &str| format!("\"{name}\" <{at}@example.com>").parse().unwrap();
        Email {
            company_id: "m2".into(),
            to: mailbox("ana"),
            from: mailbox("shop"),
            reply_to: Some(mailbox("help")),
            subject: subject.into(),
            text: Some("x".repeat(text)),
            html: None,
            headers: Vec::new(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn a_prefix_holds_the_summary_of_the_longest() {
        // Quotes are escaped twice, which makes the name as long as possible.
        let quotes = "\\\"".repeat(200);
        let longest = "\u{1f600}".repeat(crate::header::MAX_VALUE_LENGTH);
        for (name, subject) in [("Ana", "Ol\u{e1}"), ("", ""), (&quotes, &longest)] {
            let body = email(name, subject, 100_000).write().unwrap();
            let summary = EmailSummary::in_prefix(&body[..SUMMARY_PREFIX_BYTES]);
            assert_eq!(summary.as_ref(), EmailSummary::read(&body).ok().as_ref());
            assert_eq!(EmailSummary::in_prefix(&body), summary, "all of it is a beginning too");
        }
    }

    #[test]
    fn no_address_is_shown() {
        let mut whole = email("Ana", "For ana@example.com", 10);
        whole.html = Some("<a href=\"mailto:ana@example.com\">ana@example.com</a>".into());
        whole.headers = vec![("X-For".into(), "ana@example.com".into())];
        let shown = masked(&whole.write().unwrap()).unwrap();
        let shown = std::str::from_utf8(&shown).unwrap();
        assert!(!shown.contains("ana@") && !shown.contains("shop@") && !shown.contains("help@"));
        assert!(shown.contains("\"to\":\"a***@e***le.com\""), "{shown}");
        assert!(shown.contains("xxxxxxxxxx"), "what was written is");
        assert_eq!(masked(b"{}"), None);
    }

    #[test]
    fn a_short_prefix_holds_none() {
        let body = email("Ana", "Hello", 10).write().unwrap();
        for end in 0..body.len() {
            let summary = EmailSummary::in_prefix(&body[..end]);
            assert!(summary.is_none_or(|summary| summary.subject == "Hello"), "{end}");
        }
        assert_eq!(EmailSummary::in_prefix(b"not JSON"), None);
        assert_eq!(EmailSummary::in_prefix(b"[]"), None);
    }
}
