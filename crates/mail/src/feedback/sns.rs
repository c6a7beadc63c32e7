//! Parses SES notifications from SNS, with or without the SNS envelope. There are two formats:
//! notifications of an identity (`notificationType`) and events of a configuration set (`eventType`).

use serde::Deserialize;
use thiserror::Error;

use super::Feedback;
use crate::{
    FailureCode,
    message::{OUTBOX_HEADER, TENANT_HEADER},
    ses::{OUTBOX_TAG, TENANT_TAG},
};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FeedbackError {
    /// Ignored: delivered, opened, delayed and so on.
    #[error("ignored: an SES notification of type `{0}`")]
    OtherKind(String),
    #[error("not an SES notification: {0}")]
    Unreadable(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Envelope {
    message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    #[serde(rename = "notificationType", alias = "eventType")]
    kind: String,
    bounce: Option<Bounce>,
    complaint: Option<Complaint>,
    #[serde(default)]
    mail: Mail,
}

#[derive(Deserialize)]
struct Bounce {
    #[serde(default, rename = "bounceType")]
    kind: String,
    #[serde(default, rename = "bounceSubType")]
    detail: String,
    #[serde(default, rename = "bouncedRecipients")]
    recipients: Vec<Recipient>,
    #[serde(default, rename = "feedbackId")]
    id: String,
}

#[derive(Deserialize)]
struct Complaint {
    #[serde(default, rename = "complainedRecipients")]
    recipients: Vec<Recipient>,
    #[serde(rename = "complaintFeedbackType")]
    kind: Option<String>,
    #[serde(default, rename = "feedbackId")]
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recipient {
    #[serde(default)]
    email_address: String,
    diagnostic_code: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Mail {
    #[serde(default)]
    headers: Vec<Header>,
    #[serde(default)]
    tags: std::collections::BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    value: String,
}

pub fn parse(body: &[u8]) -> Result<Feedback, FeedbackError> {
    // The plain-text message with which SES tests the topic of a configuration set.
    const TRIED_OUT: &str = "Successfully validated SNS topic";
    let unreadable = |error: serde_json::Error| FeedbackError::Unreadable(error.to_string());
    let notification: Notification = match serde_json::from_slice::<Envelope>(body) {
        Ok(envelope) if envelope.message.starts_with(TRIED_OUT) => {
            return Err(FeedbackError::OtherKind("Validation".to_owned()));
        }
        Ok(envelope) => serde_json::from_str(&envelope.message).map_err(unreadable)?,
        Err(_) => serde_json::from_slice(body).map_err(unreadable)?,
    };
    let found = |tag: &str, header: &str| {
        let tags = notification.mail.tags.get(tag).and_then(|values| values.first());
        let mut headers = notification.mail.headers.iter();
        let of_name = |one: &&Header| one.name.eq_ignore_ascii_case(header);
        tags.or_else(|| headers.find(of_name).map(|one| &one.value)).cloned()
    };
    let email = found(OUTBOX_TAG, OUTBOX_HEADER).and_then(|text| text.trim().parse().ok());
    let tenant = found(TENANT_TAG, TENANT_HEADER).and_then(|text| text.trim().parse().ok());
    let blank = Feedback {
        id: String::new(),
        email,
        tenant,
        code: FailureCode::Complaint,
        error: String::new(),
        reason: String::new(),
        recipients: Vec::new(),
    };
    match (notification.kind.as_str(), notification.bounce, notification.complaint) {
        ("Bounce", Some(bounce), _) => Ok(of_bounce(bounce, blank)),
        ("Complaint", _, Some(complaint)) => Ok(of_complaint(complaint, blank)),
        (other, _, _) => Err(FeedbackError::OtherKind(other.to_owned())),
    }
}

/// Reads a bounce. `Undetermined` may be anything, so the address is not suppressed.
fn of_bounce(bounce: Bounce, mut report: Feedback) -> Feedback {
    let is_for_good = bounce.kind == "Permanent";
    report.code =
        if is_for_good { FailureCode::BouncePermanent } else { FailureCode::BounceTemporary };
    report.id = bounce.id;
    report.error = format!("{}: {}", bounce.kind, bounce.detail);
    let said = bounce.recipients.iter().find_map(|one| one.diagnostic_code.as_deref());
    report.reason = match said {
        Some(said) => format!("it bounced ({}): {said}", report.error),
        None => format!("it bounced ({})", report.error),
    };
    report.recipients = addresses(bounce.recipients);
    report
}

fn of_complaint(complaint: Complaint, mut report: Feedback) -> Feedback {
    let kind = complaint.kind.unwrap_or_else(|| "unspecified".to_owned());
    report.code = FailureCode::Complaint;
    report.id = complaint.id;
    report.error = format!("Complaint: {kind}");
    report.reason = format!("the recipient complained ({kind})");
    report.recipients = addresses(complaint.recipients);
    report
}

fn addresses(recipients: Vec<Recipient>) -> Vec<String> {
    recipients.into_iter().map(|one| one.email_address).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const OUTBOX: &str = "out_01HQXYZ123ABC0000000000000";

    fn bounce(kind: &str) -> Value {
        json!({
            "notificationType": "Bounce",
            "bounce": {
                "bounceType": kind,
                "bounceSubType": "General",
                "bouncedRecipients": [{
                    "emailAddress": "jane@example.com",
                    "action": "failed",
                    "status": "5.1.1",
                    "diagnosticCode": "smtp; 550 5.1.1 <jane@example.com>... User",
                }],
                "timestamp": "2016-01-27T14:59:38.237Z",
                "feedbackId": "00000138111222aa",
            },
            "mail": {
                "messageId": "00000138111222aa-33322211",
                "headers": [{ "name": "x-outbox-id", "value": OUTBOX }],
            },
        })
    }

    #[test]
    fn both_forms_wrapped_and_raw() {
        let raw = bounce("Permanent");
        let wrapped = json!({ "Type": "Notification", "Message": raw.to_string() });
        for body in [raw, wrapped] {
            let report = parse(body.to_string().as_bytes()).expect("feedback");
            assert_eq!(report.code, FailureCode::BouncePermanent);
            assert_eq!(report.email, OUTBOX.parse().ok());
            assert_eq!(report.recipients, ["jane@example.com"]);
            assert_eq!(report.error, "Permanent: General");
        }
        let event = json!({
            "eventType": "Complaint",
            "complaint": {
                "complainedRecipients": [{ "emailAddress": "jane@example.com" }],
                "complaintFeedbackType": "abuse",
                "feedbackId": "f",
            },
            "mail": { "tags": { "outboxId": [OUTBOX], "ses:operation": ["SendEmail"] } },
        });
        let report = parse(event.to_string().as_bytes()).expect("feedback");
        assert_eq!((report.code, report.email), (FailureCode::Complaint, OUTBOX.parse().ok()));
        assert_eq!(report.reason, "the recipient complained (abuse)");
    }

    #[test]
    fn what_may_pass_and_what_is_none() {
        for kind in ["Transient", "Undetermined"] {
            let report = parse(bounce(kind).to_string().as_bytes()).expect("feedback");
            assert_eq!(report.code, FailureCode::BounceTemporary);
        }
        let other = |body: &str| parse(body.as_bytes()).expect_err(body);
        assert_eq!(other("{\"eventType\": \"Open\"}"), FeedbackError::OtherKind("Open".into()));
        let text = "Successfully validated SNS topic for Amazon SES event publishing.";
        let tried = json!({ "Type": "Notification", "Message": text }).to_string();
        assert_eq!(other(&tried), FeedbackError::OtherKind("Validation".into()));
        for invalid in ["", "[]", "{}", "{\"Message\": \"{\"}", "null"] {
            assert!(matches!(other(invalid), FeedbackError::Unreadable(_)), "{invalid}");
        }
    }
}
