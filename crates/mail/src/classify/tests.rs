//! The table, row by row.

use super::*;

fn reply(stage: SmtpStage, code: u16, text: &str) -> (bool, &'static str) {
    let ruling = classify(&TransportError::Reply { stage, code, text: text.into() });
    (ruling.may_pass, ruling.code.name())
}

fn ses(status: u16, error: &str, text: &str) -> (bool, &'static str) {
    let ruling = classify(&TransportError::Ses { status, error: error.into(), text: text.into() });
    (ruling.may_pass, ruling.code.name())
}

/// 421, 450, 451, 452 and every other 4xx are temporary; 500, 550, 554 and every other 5xx are permanent.
/// This holds for messages: a refusal before the message, such as SES's refusals of our access, is temporary.
#[test]
fn every_reply() {
    for stage in [SmtpStage::Hello, SmtpStage::Sender, SmtpStage::Recipient, SmtpStage::Content] {
        for code in 400..600 {
            let enhanced = format!("{}.1.1 text", code / 100);
            for text in ["", "text", &enhanced, "5.7.1 text", "nonsense.1.1", "4.2.2"] {
                let ruling = classify(&TransportError::Reply { stage, code, text: text.into() });
                let is_access = stage == SmtpStage::Hello && code >= 500;
                assert_eq!(ruling.may_pass, code < 500 || is_access, "{code} {text}");
                assert!(!is_access || ruling.at_fault && ruling.code == FailureCode::InternalError);
                assert_eq!(ruling.error, Some(code.to_string()));
                assert!(ruling.reason.starts_with(&format!("SMTP {code}: ")));
                assert!(ruling.may_pass || !ruling.at_fault);
            }
        }
    }
}

#[test]
fn replies_by_what_they_are_about() {
    use SmtpStage::{Content, Hello, Recipient, Sender};
    let table = [
        (Hello, 421, "4.3.2 Service not available", "SES_ERROR"),
        (Hello, 421, "Service not available", "SES_ERROR"),
        (Hello, 421, "4.7.0 Try again later", "SES_THROTTLE"),
        (Hello, 535, "5.7.8 Authentication failed", "INTERNAL_ERROR"),
        (Hello, 550, "5.1.1 Not you", "INTERNAL_ERROR"),
        (Hello, 554, "No SMTP service here", "INTERNAL_ERROR"),
        (Sender, 500, "Syntax error", "INTERNAL_ERROR"),
        (Sender, 553, "5.1.8 Sender's domain not found", "SES_ERROR"),
        (Recipient, 450, "4.2.1 The mailbox is busy", "BOUNCE_TEMPORARY"),
        (Recipient, 450, "Mailbox unavailable", "BOUNCE_TEMPORARY"),
        (Recipient, 450, "4.7.1 Greylisted", "SES_ERROR"),
        (Recipient, 451, "Local error", "SES_ERROR"),
        (Recipient, 452, "4.2.2 The mailbox is full", "BOUNCE_TEMPORARY"),
        (Recipient, 452, "4.5.3 Too many recipients", "SES_THROTTLE"),
        (Recipient, 452, "Insufficient system storage", "BOUNCE_TEMPORARY"),
        (Recipient, 550, "5.1.1 User unknown", "INVALID_RECIPIENT"),
        (Recipient, 550, "5.1.2 No such host", "INVALID_RECIPIENT"),
        (Recipient, 550, "Mailbox not found", "INVALID_RECIPIENT"),
        (Recipient, 550, "5.2.1 Mailbox disabled", "BOUNCE_PERMANENT"),
        (Recipient, 552, "5.2.2 Mailbox full", "BOUNCE_PERMANENT"),
        (Recipient, 554, "5.7.1 Relay access denied", "SES_ERROR"),
        (Recipient, 550, "5.4.4 No route", "BOUNCE_PERMANENT"),
        (Content, 454, "Throttling failure: Maximum sending rate exceeded.", "SES_THROTTLE"),
        (Content, 451, "4.3.0 Try again", "SES_ERROR"),
        (Content, 452, "4.3.1 Out of space", "SES_ERROR"),
        (Content, 552, "5.3.4 Message too big", "INVALID_CONTENT"),
        (Content, 552, "5.2.3 Too long for the mailbox", "INVALID_CONTENT"),
        (Content, 554, "5.6.0 Bad MIME", "INVALID_CONTENT"),
        (Content, 554, "5.7.1 Spam", "INVALID_CONTENT"),
        (Content, 554, "Transaction failed", "INVALID_CONTENT"),
        (Content, 550, "5.1.1 User unknown", "INVALID_RECIPIENT"),
    ];
    for (stage, code, text, word) in table {
        let may_pass = code < 500 || stage == Hello;
        assert_eq!(reply(stage, code, text), (may_pass, word), "{code} {text}");
    }
}

#[test]
fn answers_of_ses() {
    let table = [
        (400, "Throttling", "Rate exceeded", true, "SES_THROTTLE"),
        (429, "TooManyRequestsException", "", true, "SES_THROTTLE"),
        (429, "Odd", "", true, "SES_THROTTLE"),
        (400, "LimitExceededException", "", true, "SES_THROTTLE"),
        (503, "ServiceUnavailable", "", true, "SES_ERROR"),
        (500, "InternalFailure", "", true, "SES_ERROR"),
        (502, "", "", true, "SES_ERROR"),
        (403, "ExpiredTokenException", "", true, "INTERNAL_ERROR"),
        (403, "Odd", "", true, "INTERNAL_ERROR"),
        (400, "MessageRejected", "Email address is not verified.", false, "SES_ERROR"),
        (400, "MessageRejected", "Recipient address rejected", false, "INVALID_RECIPIENT"),
        (400, "MessageRejected", "It contains a virus", false, "INVALID_CONTENT"),
        (400, "MessageRejected", "", false, "SES_ERROR"),
        (400, "MailFromDomainNotVerifiedException", "", false, "SES_ERROR"),
        (400, "MailFromDomainNotVerified", "", false, "SES_ERROR"),
        (400, "BadRequestException", "Invalid header", false, "INVALID_CONTENT"),
        (404, "NotFoundException", "no such set", false, "SES_ERROR"),
        (400, "AccountSuspendedException", "", false, "SES_ERROR"),
    ];
    for (status, error, text, may_pass, word) in table {
        assert_eq!(ses(status, error, text), (may_pass, word), "{error} {text}");
    }
}

#[test]
fn no_answer_may_pass_and_what_is_unfit_may_not() {
    let ruling = classify(&TransportError::NoResponse { text: "the time ran out".into() });
    assert!(ruling.may_pass && ruling.at_fault && ruling.code == FailureCode::SesError);
    let ruling = classify(&TransportError::Unfit { text: "odd".into() });
    assert!(!ruling.may_pass && ruling.code == FailureCode::InvalidContent);
}

#[test]
fn addresses_are_masked_and_words_are_the_contracts() {
    let text = "5.1.1 <joao@example.com>: Recipient address rejected".into();
    let cause = TransportError::Reply { stage: SmtpStage::Recipient, code: 550, text };
    let ruling = classify(&cause);
    assert_eq!(ruling.reason, "SMTP 550: 5.1.1 <j***@e***le.com>: Recipient address rejected");
    for word in FailureCode::ALL {
        assert_eq!(FailureCode::of(&word.code()), word);
    }
    assert_eq!(FailureCode::of(&Code::EXPIRED), FailureCode::InternalError);
}
