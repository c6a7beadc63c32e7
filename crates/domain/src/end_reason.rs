//! Why a delivery ends without another attempt. The reason includes the failure of the last attempt.

use crate::{Code, Failure};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndReason {
    pub code: Code,
    /// The whole reason if no attempt was made.
    pub untried: &'static str,
    /// The prefix of the reason if there was an attempt.
    pub tried: &'static str,
}

impl EndReason {
    pub const EXPIRED: Self = Self {
        code: Code::EXPIRED,
        untried: "expired before its first attempt",
        tried: "expired before the next attempt; the last one failed with",
    };
    pub const ENDPOINT_DELETED: Self = Self {
        code: Code::TARGET_GONE,
        untried: "the endpoint was deleted",
        tried: "the endpoint was deleted; the last attempt failed with",
    };

    pub const CANCELED: Self = Self {
        code: Code::CANCELED,
        untried: "canceled before its first attempt",
        tried: "canceled before the next attempt; the last one failed with",
    };

    pub fn failure(&self, last: Option<&Failure>) -> Failure {
        match last {
            Some(last) => Failure::new(self.code.clone(), format!("{} {last}", self.tried))
                .with_provider_code(last.provider_code()),
            None => Failure::new(self.code.clone(), self.untried),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failure_stays_readable() {
        let last = Failure::new(Code::http(503), "the server is busy");
        for reason in [EndReason::EXPIRED, EndReason::ENDPOINT_DELETED, EndReason::CANCELED] {
            let (untried, tried) = (reason.failure(None), reason.failure(Some(&last)));
            assert_eq!((untried.code(), tried.code()), (&reason.code, &reason.code));
            assert!(tried.reason().ends_with("HTTP_503: the server is busy"), "{tried}");
            assert!(!untried.reason().contains("HTTP_503"));
        }
    }
}
