//! Classifies responses: whether a failure is temporary, and its failure code in the contract. A pure
//! function, so that tests can cover its whole table.
//!
//! SMTP: 4xx is temporary, and 5xx is permanent once the message was submitted. A refusal before that, at the
//! greeting, TLS or login, concerns our access and is temporary. SES: `Throttling`, `ServiceUnavailable` and
//! failures of the service or of our access are temporary, the rest is permanent. The enhanced status code
//! (RFC 3463) determines the failure code, or else the stage of the session.

use gancho_domain::{Code, Failure, Verdict, mask, pace::Load};

use crate::transport::{SmtpStage, TransportError};

/// The failure codes of the contract. Events have no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    InvalidRecipient,
    BouncePermanent,
    BounceTemporary,
    Complaint,
    SesThrottle,
    SesError,
    InvalidContent,
    InternalError,
}

impl FailureCode {
    pub const ALL: [Self; 8] = [
        Self::InvalidRecipient,
        Self::BouncePermanent,
        Self::BounceTemporary,
        Self::Complaint,
        Self::SesThrottle,
        Self::SesError,
        Self::InvalidContent,
        Self::InternalError,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRecipient => "INVALID_RECIPIENT",
            Self::BouncePermanent => "BOUNCE_PERMANENT",
            Self::BounceTemporary => "BOUNCE_TEMPORARY",
            Self::Complaint => "COMPLAINT",
            Self::SesThrottle => "SES_THROTTLE",
            Self::SesError => "SES_ERROR",
            Self::InvalidContent => "INVALID_CONTENT",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    pub fn code(self) -> Code {
        Code::from_text(self.name())
    }

    /// Maps any failure to a code of the contract: codes of the engine, such as `EXPIRED`, become internal
    /// errors.
    pub fn of(code: &Code) -> Self {
        let known = Self::ALL.into_iter().find(|known| known.name() == code.as_str());
        known.unwrap_or(Self::InternalError)
    }

    pub fn failure(self, reason: impl AsRef<str>) -> Failure {
        Failure::new(self.code(), reason)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classification {
    pub may_pass: bool,
    pub code: FailureCode,
    /// The reason, with addresses masked.
    pub reason: String,
    /// The server's own code: `550`, `MessageRejected`.
    pub error: Option<String>,
    pub status: Option<u16>,
    /// Whether the mail server is at fault, not this e-mail alone.
    pub at_fault: bool,
}

impl Classification {
    pub fn verdict(&self) -> Verdict {
        let failure = self.code.failure(&self.reason).with_provider_code(self.error.as_deref());
        if self.may_pass {
            Verdict::Retry { failure, not_before: None }
        } else {
            Verdict::Never { failure }
        }
    }

    pub fn load(&self) -> Load {
        if self.at_fault { Load::Heavy } else { Load::Light }
    }
}

pub fn classify(cause: &TransportError) -> Classification {
    match cause {
        TransportError::Reply { stage, code, text } => of_reply(*stage, *code, text),
        TransportError::Ses { status, error, text } => of_ses(*status, error, text),
        TransportError::NoResponse { text } => Classification {
            may_pass: true,
            code: FailureCode::SesError,
            reason: mask::text(text),
            error: None,
            status: None,
            at_fault: true,
        },
        TransportError::CutShort => Classification {
            may_pass: true,
            code: FailureCode::SesError,
            reason: "the mail server did not take the e-mail in time, and other e-mails waited for its slot"
                .to_owned(),
            error: None,
            status: None,
            at_fault: true,
        },
        TransportError::Local { text } => Classification {
            may_pass: true,
            code: FailureCode::InternalError,
            reason: text.clone(),
            error: None,
            status: None,
            at_fault: false,
        },
        TransportError::Unfit { text } => Classification {
            may_pass: false,
            code: FailureCode::InvalidContent,
            reason: mask::text(text),
            error: None,
            status: None,
            at_fault: false,
        },
    }
}

fn of_reply(stage: SmtpStage, code: u16, text: &str) -> Classification {
    // Temporary: otherwise an expired password would fail every waiting e-mail.
    let is_access = stage == SmtpStage::Hello && code >= 500;
    let may_pass = code < 500 || is_access;
    let word = match code {
        _ if is_access => FailureCode::InternalError,
        ..500 => of_4xx(stage, code, text),
        _ => of_5xx(stage, code, text),
    };
    // A full mailbox says nothing about the server.
    let of_recipient = word == FailureCode::BounceTemporary;
    Classification {
        may_pass,
        code: word,
        reason: mask::text(&format!("SMTP {code}: {}", given_reason(text))),
        error: Some(code.to_string()),
        status: Some(code),
        at_fault: may_pass && !of_recipient,
    }
}

fn of_4xx(stage: SmtpStage, code: u16, text: &str) -> FailureCode {
    if is_throttle(text) {
        return FailureCode::SesThrottle;
    }
    let Some(about) = enhanced(text) else {
        // Without an enhanced code: the mailbox is busy (450) or full (452).
        let is_mailbox = matches!(stage, SmtpStage::Recipient | SmtpStage::Content);
        let is_temporary = is_mailbox && matches!(code, 450 | 452);
        return if is_temporary { FailureCode::BounceTemporary } else { FailureCode::SesError };
    };
    match about {
        (1 | 2, _) => FailureCode::BounceTemporary,
        (7, 0 | 28) if matches!(code, 421 | 450 | 451 | 454) => FailureCode::SesThrottle,
        _ => FailureCode::SesError,
    }
}

fn of_5xx(stage: SmtpStage, code: u16, text: &str) -> FailureCode {
    let is_ours = matches!(code, 500..=504 | 530..=538);
    match enhanced(text) {
        // X.1.7 and X.1.8 are about the sender's address.
        Some((1, detail)) if detail != 7 && detail != 8 => FailureCode::InvalidRecipient,
        // Too large, or malformed content.
        Some((2 | 3, 3 | 4) | (6, _)) => FailureCode::InvalidContent,
        Some((2 | 4, _)) => FailureCode::BouncePermanent,
        _ if is_ours => FailureCode::InternalError,
        Some((7, _)) | None if stage == SmtpStage::Content => FailureCode::InvalidContent,
        None if code == 552 => FailureCode::InvalidContent,
        None if stage == SmtpStage::Recipient => FailureCode::InvalidRecipient,
        _ => FailureCode::SesError,
    }
}

fn of_ses(status: u16, error: &str, text: &str) -> Classification {
    let small = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    let (may_pass, code) = match error {
        "Throttling"
        | "ThrottlingException"
        | "TooManyRequests"
        | "TooManyRequestsException"
        | "LimitExceeded"
        | "LimitExceededException"
        | "MaxSendingRateExceeded"
        | "RequestThrottled" => (true, FailureCode::SesThrottle),
        "ServiceUnavailable"
        | "ServiceUnavailableException"
        | "InternalFailure"
        | "InternalServerError"
        | "InternalServiceErrorException"
        | "RequestTimeout" => (true, FailureCode::SesError),
        "MailFromDomainNotVerified"
        | "MailFromDomainNotVerifiedException"
        | "AccountSuspendedException"
        | "SendingPausedException" => (false, FailureCode::SesError),
        // Our access is at fault, not the message.
        "AccessDeniedException"
        | "ExpiredTokenException"
        | "ExpiredToken"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException" => (true, FailureCode::InternalError),
        _ if status == 429 => (true, FailureCode::SesThrottle),
        _ if status >= 500 || status == 408 => (true, FailureCode::SesError),
        _ if status == 401 || status == 403 => (true, FailureCode::InternalError),
        // `MessageRejected`, `BadRequestException` and all other refusals.
        _ if has(&["not verified", "not authorized", "sandbox"]) => (false, FailureCode::SesError),
        _ if has(&["recipient", "address", "destination"]) => {
            (false, FailureCode::InvalidRecipient)
        }
        _ if has(&["content", "virus", "attachment", "header", "message", "mime", "length"]) => {
            (false, FailureCode::InvalidContent)
        }
        _ => (false, FailureCode::SesError),
    };
    Classification {
        may_pass,
        code,
        reason: mask::text(&format!("{error}: {}", given_reason(text))),
        error: Some(error.to_owned()),
        status: Some(status),
        at_fault: may_pass,
    }
}

fn given_reason(text: &str) -> &str {
    let text = text.trim();
    if text.is_empty() { "no reason given" } else { text }
}

/// Whether the text means throttling. SES's SMTP servers use 454, others use other codes, but all use these
/// words.
fn is_throttle(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    ["throttl", "rate exceeded", "rate limit", "too many"].iter().any(|word| small.contains(word))
}

/// Returns subject and detail of the enhanced code at the beginning of a reply: `5.1.1 No such user` is `(1,
/// 1)`.
fn enhanced(text: &str) -> Option<(u16, u16)> {
    let code = text.split_whitespace().next()?;
    let mut parts = code.split('.');
    let class = parts.next()?;
    let subject = parts.next()?.parse().ok()?;
    let detail = parts.next()?.parse().ok()?;
    (matches!(class, "2" | "4" | "5") && parts.next().is_none()).then_some((subject, detail))
}

#[cfg(test)]
mod tests;
