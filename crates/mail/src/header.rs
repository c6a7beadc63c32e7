//! Custom headers: which are allowed, and which are reserved.

use gancho_domain::{FieldError, field_error::pointer_part};

const MAX_NAME_LENGTH: usize = 64;
/// Maximum length of a value. A line may have 998 characters including the name, and a word cannot be folded.
pub const MAX_VALUE_LENGTH: usize = 900;
pub const MAX_COUNT: usize = 50;

/// Reserved headers. The gateway sets them from other fields, mail servers set them, or they have effects
/// beyond the message.
const FORBIDDEN: [&str; 24] = [
    "from",
    "to",
    "cc",
    "bcc",
    "sender",
    "reply-to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "return-path",
    "received",
    "received-spf",
    "delivered-to",
    "apparently-to",
    "errors-to",
    "dkim-signature",
    "domainkey-signature",
    "authentication-results",
    "disposition-notification-to",
    "return-receipt-to",
    "x-outbox-id",
    "x-tenant-id",
    "autocrypt",
];
const FORBIDDEN_BEGINNINGS: [&str; 5] = ["content-", "resent-", "arc-", "x-ses-", "x-gancho-"];

pub fn check(headers: &[(String, String)], errors: &mut Vec<FieldError>) {
    if headers.len() > MAX_COUNT {
        errors.push(FieldError::new(
            "too_many",
            "/headers",
            format!("the maximum is {MAX_COUNT} headers"),
        ));
    }
    for (place, (name, value)) in headers.iter().enumerate() {
        let pointer = format!("/headers/{}", pointer_part(name));
        if let Err(why) = check_name(name) {
            errors.push(FieldError::new("header_name", pointer.as_str(), why));
        }
        if headers[..place].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            let why = format!("duplicate header `{name}`");
            errors.push(FieldError::new("header_name", pointer.as_str(), why));
        }
        if let Err(why) = check_value(value) {
            let why = format!("the value of the header `{name}` {why}");
            errors.push(FieldError::new("header_value", pointer.as_str(), why));
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !(1..=MAX_NAME_LENGTH).contains(&name.len()) || !name.bytes().all(fits) {
        return Err(format!(
            "a header name must have 1 to {MAX_NAME_LENGTH} letters, digits and `-`"
        ));
    }
    let small = name.to_ascii_lowercase();
    let begins = FORBIDDEN_BEGINNINGS.iter().any(|start| small.starts_with(start));
    if begins || FORBIDDEN.contains(&small.as_str()) {
        return Err(format!("the header `{name}` is reserved: remove it"));
    }
    Ok(())
}

/// Validates a header value or a subject. Non-ASCII text is encoded; line breaks are not allowed.
pub fn check_value(value: &str) -> Result<(), String> {
    if value.chars().any(char::is_control) {
        return Err("contains a control character, such as a line break: remove it".into());
    }
    if value.chars().count() > MAX_VALUE_LENGTH {
        return Err(format!("is longer than {MAX_VALUE_LENGTH} characters"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(name: &str, value: &str) -> usize {
        let mut errors = Vec::new();
        check(&[(name.to_owned(), value.to_owned())], &mut errors);
        errors.len()
    }

    #[test]
    fn what_may_be_sent() {
        for name in ["X-Campaign", "List-Unsubscribe", "In-Reply-To", "Auto-Submitted", "X-1"] {
            assert_eq!(errors(name, "<mailto:out@example.com>, ção"), 0, "{name}");
        }
    }

    #[test]
    fn what_may_not() {
        for name in FORBIDDEN {
            assert_eq!(errors(name, "a"), 1, "{name}");
            assert_eq!(errors(&name.to_ascii_uppercase(), "a"), 1, "{name}");
        }
        for name in
            ["Content-Type", "X-SES-Source-ARN", "", "a b", "a:", "é", "X\r\nBcc", &"a".repeat(65)]
        {
            assert_eq!(errors(name, "a"), 1, "{name}");
        }
        for value in ["a\r\nBcc: eve@example.com", "a\nb", "a\rb", "a\0", "\u{7f}", "\u{85}"] {
            assert_eq!(errors("X-A", value), 1, "{value:?}");
        }
        assert_eq!(errors("X-A", &"a".repeat(901)), 1);
    }

    #[test]
    fn a_name_counts_once() {
        let mut found = Vec::new();
        let both = ["X-A", "x-a"].map(|name| (name.to_owned(), "1".to_owned()));
        check(&both, &mut found);
        assert_eq!(found.len(), 1);
    }
}
