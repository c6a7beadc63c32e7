//! Why an attempt failed. A failure without a reason cannot be built.

use std::{borrow::Cow, fmt};

/// A stable, machine-readable code, such as `TIMEOUT` or `HTTP_503`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(Cow<'static, str>);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        impl Code {
            $($(#[$doc])* pub const $name: Self = Self(Cow::Borrowed(stringify!($name)));)*
        }
    };
}

codes! {
    /// No answer within the deadline.
    TIMEOUT;
    /// No connection could be made.
    CONNECT_FAILED;
    /// The name could not be resolved.
    DNS_FAILED;
    /// The certificate was not accepted, or the handshake failed.
    TLS_FAILED;
    /// The response was not HTTP, or was truncated.
    PROTOCOL_ERROR;
    /// The address guard does not allow this address.
    ADDRESS_BLOCKED;
    /// The target was deleted or disabled.
    TARGET_GONE;
    /// The delivery waited longer than its lane allows.
    EXPIRED;
    /// A person canceled the delivery.
    CANCELED;
    /// The content of the parcel was erased.
    ERASED;
    /// The carrier panicked.
    CARRIER_PANIC;
    /// Several nodes died while they held the delivery.
    LEASE_LOST;
    /// The failure has no specific code.
    UNSPECIFIED;
}

impl Code {
    pub fn http(status: u16) -> Self {
        Self(Cow::Owned(format!("HTTP_{status}")))
    }

    /// Accepts upper case, digits and underscores, at most 64; any other text is [`Code::UNSPECIFIED`].
    pub fn from_text(text: &str) -> Self {
        let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        if text.is_empty() || text.len() > 64 || !text.bytes().all(fits) {
            return Self::UNSPECIFIED;
        }
        Self(Cow::Owned(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A code and a sentence. The sentence is never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    code: Code,
    reason: Box<str>,
    provider_code: Option<Box<str>>,
}

/// Longer reasons are truncated.
const MAX_LENGTH: usize = 2_000;

impl Failure {
    pub fn new(code: Code, reason: impl AsRef<str>) -> Self {
        let reason = reason.as_ref().trim();
        let reason = if reason.is_empty() {
            format!("no reason given (code {code})")
        } else {
            let mut end = reason.len().min(MAX_LENGTH);
            while !reason.is_char_boundary(end) {
                end -= 1;
            }
            reason[..end].to_owned()
        };
        Self { code, reason: reason.into(), provider_code: None }
    }

    /// Adds the provider's own code, such as SES's `MessageRejected`.
    #[must_use]
    pub fn with_provider_code(self, code: Option<&str>) -> Self {
        Self { provider_code: code.map(Into::into), ..self }
    }

    pub fn provider_code(&self) -> Option<&str> {
        self.provider_code.as_deref()
    }

    /// Returns the failure of a delivery that ends without another attempt, with the failure of the last
    /// attempt appended.
    #[must_use]
    pub fn after(&self, last: Option<&Self>) -> Self {
        match last {
            Some(last) => {
                let reason = format!("{}; the last attempt failed with {last}", self.reason);
                Self::new(self.code.clone(), reason).with_provider_code(last.provider_code())
            }
            None => self.clone(),
        }
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_never_blank() {
        for blank in ["", " ", "\n\t"] {
            let failure = Failure::new(Code::TIMEOUT, blank);
            assert_eq!(failure.reason(), "no reason given (code TIMEOUT)");
        }
        let long = Failure::new(Code::TIMEOUT, "ç".repeat(3_000));
        assert_eq!(long.reason().len(), 2_000);
    }

    #[test]
    fn codes_are_plain_words() {
        assert_eq!(Code::http(503).as_str(), "HTTP_503");
        assert_eq!(Code::from_text("SES_THROTTLE").as_str(), "SES_THROTTLE");
        for invalid in ["", "a", "A B", &"A".repeat(65)] {
            assert_eq!(Code::from_text(invalid), Code::UNSPECIFIED);
        }
    }
}
