//! The input for an e-mail, and its validation. All errors are reported at once.

use gancho_domain::{FieldError, TraceContext};

use crate::{
    Email, MailLimits, Mailbox, attachment,
    header::{self, check_value},
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmailDraft {
    pub from: Option<String>,
    /// The recipient. There is only one, because every e-mail has its own status and events.
    pub to: Option<String>,
    pub subject: Option<String>,
    pub html: Option<String>,
    pub text: Option<String>,
    pub reply_to: Option<String>,
    pub headers: Vec<(String, String)>,
    pub attachments: Vec<AttachmentDraft>,
    pub external_id: Option<String>,
    pub idempotency_key: Option<String>,
    /// The publisher's position in its trace.
    pub trace: Option<TraceContext>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttachmentDraft {
    pub filename: String,
    pub content_type: Option<String>,
    /// Base64.
    pub content: String,
    pub content_id: Option<String>,
}

const MAX_ID_LENGTH: usize = 256;

impl EmailDraft {
    /// Validates the draft and returns the e-mail to store, for the tenant with this slug.
    pub(crate) fn check(
        self,
        company: &str,
        limits: &MailLimits,
    ) -> Result<Email, Vec<FieldError>> {
        let mut errors = Vec::new();
        let from = mailbox("from", self.from.as_deref(), &mut errors);
        let to = mailbox("to", self.to.as_deref(), &mut errors);
        let reply_to = self.reply_to.as_deref();
        let reply_to = reply_to.map(|text| mailbox("replyTo", Some(text), &mut errors));
        match self.subject.as_deref() {
            None => errors.push(missing("subject", "set a subject, which may be empty")),
            Some(subject) => {
                if let Err(why) = check_value(subject) {
                    errors.push(FieldError::new(
                        "subject",
                        "/subject",
                        format!("the subject {why}"),
                    ));
                }
            }
        }
        check_content(self.text.as_deref(), self.html.as_deref(), limits, &mut errors);
        check_id("externalId", self.external_id.as_deref(), &mut errors);
        check_id("idempotencyKey", self.idempotency_key.as_deref(), &mut errors);
        header::check(&self.headers, &mut errors);
        let attachments = attachment::check(self.attachments, limits.attachment_bytes, &mut errors);
        match (from, to) {
            (Some(from), Some(to)) if errors.is_empty() => Ok(Email {
                company_id: company.to_owned(),
                from,
                to,
                reply_to: reply_to.flatten(),
                subject: self.subject.unwrap_or_default(),
                text: self.text,
                html: self.html,
                headers: self.headers,
                attachments,
            }),
            _ => Err(errors),
        }
    }
}

fn mailbox(field: &str, text: Option<&str>, errors: &mut Vec<FieldError>) -> Option<Mailbox> {
    let Some(text) = text else {
        errors.push(missing(field, "use the form name@example.com or `Name <name@example.com>`"));
        return None;
    };
    match text.parse() {
        Ok(mailbox) => Some(mailbox),
        Err(why) => {
            let what = format!("`{field}` is not an e-mail address: {why}");
            errors.push(FieldError::new("address", format!("/{field}"), what));
            None
        }
    }
}

fn check_content(
    text: Option<&str>,
    html: Option<&str>,
    limits: &MailLimits,
    errors: &mut Vec<FieldError>,
) {
    if text.is_none() && html.is_none() {
        errors.push(missing("text", "set `text`, `html` or both"));
    }
    for (field, content) in [("text", text), ("html", html)] {
        let is_control = |letter: char| letter.is_control() && !"\r\n\t\u{c}".contains(letter);
        if content.is_some_and(|content| content.chars().any(is_control)) {
            let why =
                format!("`{field}` contains a control character that is not allowed in e-mail");
            errors.push(FieldError::new("content", format!("/{field}"), why));
        }
    }
    let size = text.map_or(0, str::len) + html.map_or(0, str::len);
    if size > limits.content_bytes {
        let why = format!(
            "text and HTML have {size} bytes together, the maximum is {}",
            limits.content_bytes
        );
        errors.push(FieldError::new(
            "too_large",
            if html.is_some() { "/html" } else { "/text" },
            why,
        ));
    }
}

fn check_id(field: &str, id: Option<&str>, errors: &mut Vec<FieldError>) {
    let fits = |id: &str| {
        (1..=MAX_ID_LENGTH).contains(&id.chars().count()) && !id.chars().any(char::is_control)
    };
    if id.is_some_and(|id| !fits(id)) {
        let why = format!(
            "`{field}` must have 1 to {MAX_ID_LENGTH} characters and no control characters"
        );
        errors.push(FieldError::new("id", format!("/{field}"), why));
    }
}

fn missing(field: &str, hint: &str) -> FieldError {
    FieldError::new("missing_field", format!("/{field}"), format!("`{field}` is missing: {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> EmailDraft {
        EmailDraft {
            from: Some("Shop <shop@example.com>".into()),
            to: Some("ana@example.com".into()),
            subject: Some("Olá".into()),
            text: Some("Hello\n.\r\nBye".into()),
            ..EmailDraft::default()
        }
    }

    fn pointers(draft: EmailDraft) -> Vec<String> {
        let errors = draft.check("m2", &MailLimits::default()).err().unwrap_or_default();
        errors.into_iter().map(|error| error.pointer).collect()
    }

    #[test]
    fn all_errors_are_reported_at_once() {
        assert_eq!(pointers(draft()), [""; 0]);
        assert_eq!(pointers(EmailDraft::default()), ["/from", "/to", "/subject", "/text"]);
        let invalid = EmailDraft {
            to: Some("ana@example.com\r\nBcc: eve@example.com".into()),
            reply_to: Some("x".into()),
            subject: Some("a\nb".into()),
            html: Some("a\0".into()),
            external_id: Some(String::new()),
            idempotency_key: Some("k".repeat(257)),
            headers: vec![("Bcc".into(), "eve@example.com".into())],
            ..draft()
        };
        assert_eq!(
            pointers(invalid),
            [
                "/to",
                "/replyTo",
                "/subject",
                "/html",
                "/externalId",
                "/idempotencyKey",
                "/headers/Bcc"
            ]
        );
        let long = EmailDraft { html: Some("a".repeat(2 * 1024 * 1024)), ..draft() };
        assert_eq!(pointers(long), ["/html"]);
    }
}
