//! The operator token.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use thiserror::Error;

use crate::{digest::sha256, key_text, portal};

/// The digest of the token. Comparing digests takes the same time for every token, and the token itself
/// cannot leak from memory.
#[derive(Clone)]
pub struct OperatorToken([u8; 32]);

#[derive(Debug, Error, PartialEq, Eq)]
pub enum OperatorTokenError {
    #[error("the operator token has {0} characters; use at least 16")]
    TooShort(usize),
    #[error(
        "the operator token must consist of visible ASCII characters, because it is sent in a header"
    )]
    InvalidCharacter,
    #[error("the operator token must not begin with `{0}`, the prefix of a tenant's credentials")]
    ReservedPrefix(&'static str),
}

impl OperatorToken {
    pub fn new(token: &str) -> Result<Self, OperatorTokenError> {
        for prefix in [key_text::PREFIX, portal::PREFIX] {
            if token.starts_with(prefix) {
                return Err(OperatorTokenError::ReservedPrefix(prefix));
            }
        }
        if token.len() < 16 {
            return Err(OperatorTokenError::TooShort(token.len()));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(OperatorTokenError::InvalidCharacter);
        }
        Ok(Self(sha256(token)))
    }

    pub(crate) fn digest(&self) -> &[u8] {
        &self.0
    }

    pub fn matches(&self, token: &str) -> bool {
        verify_slices_are_equal(&self.0, &sha256(token)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_matches() {
        let admin = OperatorToken::new("correct-horse-battery").unwrap();
        assert!(admin.matches("correct-horse-battery"));
        for wrong in ["", "correct-horse-batter", "correct-horse-battery ", "Correct-horse-battery"]
        {
            assert!(!admin.matches(wrong), "{wrong}");
        }
    }

    #[test]
    fn weak_ones_are_refused() {
        assert_eq!(OperatorToken::new("short").err(), Some(OperatorTokenError::TooShort(5)));
        assert_eq!(
            OperatorToken::new("with a space inside").err(),
            Some(OperatorTokenError::InvalidCharacter)
        );
        assert_eq!(
            OperatorToken::new("gk_0123456789abcdef").err(),
            Some(OperatorTokenError::ReservedPrefix("gk_"))
        );
    }
}
