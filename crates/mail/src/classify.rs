//! What an answer means: whether it may pass, and which of the contract's words for a failure fits. A
//! pure function, so that its whole table can be tested.
//!
//! Of a mail server, 4xx may pass and 5xx may not, once it spoke of the letter: what it refuses before,
//! at the greeting, TLS or the login, is about us, and may pass. Of SES, `Throttling`, `ServiceUnavailable` and what
//! is a fault of the service or of our access to it may pass, and the rest may not. The enhanced
//! status code (RFC 3463) says what it is about, or else the place in the talk where it came.

use gancho_domain::{Code, Failure, Verdict, pace::Load};

use crate::{
    masking,
    transport::{Stage, TransportError},
};

/// The words of the contract. There are no others in events.
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

    /// The contract's word for any failure: what the engine itself gave up, such as `EXPIRED`, is
    /// internal to a tenant.
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
    /// Addresses in it are masked.
    pub reason: String,
    /// The server's own word: `550`, `MessageRejected`.
    pub error: Option<String>,
    pub status: Option<u16>,
    /// The mail server is at fault, not this e-mail alone.
    pub at_fault: bool,
}

impl Classification {
    pub fn verdict(&self) -> Verdict {
        let failure = self.code.failure(&self.reason);
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
            reason: masking::text(text),
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
            reason: masking::text(text),
            error: None,
            status: None,
            at_fault: false,
        },
    }
}

fn of_reply(stage: Stage, code: u16, text: &str) -> Classification {
    // Were it final, a password that ran out would end every e-mail that waits.
    let is_access = stage == Stage::Hello && code >= 500;
    let may_pass = code < 500 || is_access;
    let word = match code {
        _ if is_access => FailureCode::InternalError,
        ..500 => of_4xx(stage, code, text),
        _ => of_5xx(stage, code, text),
    };
    // A mailbox that is full says nothing of the server.
    let of_recipient = word == FailureCode::BounceTemporary;
    Classification {
        may_pass,
        code: word,
        reason: masking::text(&format!("SMTP {code}: {}", said(text))),
        error: Some(code.to_string()),
        status: Some(code),
        at_fault: may_pass && !of_recipient,
    }
}

fn of_4xx(stage: Stage, code: u16, text: &str) -> FailureCode {
    if is_throttle(text) {
        return FailureCode::SesThrottle;
    }
    let Some(about) = enhanced(text) else {
        // Without a code that says more: the mailbox is busy (450) or full (452).
        let is_mailbox = matches!(stage, Stage::Recipient | Stage::Content);
        let is_temporary = is_mailbox && matches!(code, 450 | 452);
        return if is_temporary { FailureCode::BounceTemporary } else { FailureCode::SesError };
    };
    match about {
        (1 | 2, _) => FailureCode::BounceTemporary,
        (7, 0 | 28) if matches!(code, 421 | 450 | 451 | 454) => FailureCode::SesThrottle,
        _ => FailureCode::SesError,
    }
}

fn of_5xx(stage: Stage, code: u16, text: &str) -> FailureCode {
    let is_ours = matches!(code, 500..=504 | 530..=538);
    match enhanced(text) {
        // X.1.7 and X.1.8 are about the sender's address.
        Some((1, detail)) if detail != 7 && detail != 8 => FailureCode::InvalidRecipient,
        // Too large for the mailbox or for the system; or what it is made of is wrong.
        Some((2 | 3, 3 | 4) | (6, _)) => FailureCode::InvalidContent,
        Some((2 | 4, _)) => FailureCode::BouncePermanent,
        _ if is_ours => FailureCode::InternalError,
        Some((7, _)) | None if stage == Stage::Content => FailureCode::InvalidContent,
        None if code == 552 => FailureCode::InvalidContent,
        None if stage == Stage::Recipient => FailureCode::InvalidRecipient,
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
        // What is wrong is our access, not the letter.
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
        // `MessageRejected`, `BadRequestException` and whatever else is refused.
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
        reason: masking::text(&format!("{error}: {}", said(text))),
        error: Some(error.to_owned()),
        status: Some(status),
        at_fault: may_pass,
    }
}

fn said(text: &str) -> &str {
    let text = text.trim();
    if text.is_empty() { "no reason given" } else { text }
}

/// SES's own mail servers say it with 454, others with other codes, and all with these words.
fn is_throttle(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    ["throttl", "rate exceeded", "rate limit", "too many"].iter().any(|word| small.contains(word))
}

/// Subject and detail of the code at the beginning of a reply: `5.1.1 No such user` is `(1, 1)`.
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
