//! The name of a partner: one spelling, safe in paths, labels and file names.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// `^[a-z0-9][a-z0-9-]{0,62}$`
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partner(Box<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a partner name must have 1 to 63 characters of a-z, 0-9 and `-`, and must not start with `-`"
)]
pub struct PartnerError;

impl Partner {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is a valid name. Does not allocate.
    pub fn fits(text: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = text.as_bytes();
        (1..=63).contains(&bytes.len())
            && plain(bytes[0])
            && bytes.iter().all(|&byte| plain(byte) || byte == b'-')
    }
}

impl FromStr for Partner {
    type Err = PartnerError;

    fn from_str(text: &str) -> Result<Self, PartnerError> {
        if Self::fits(text) { Ok(Self(text.into())) } else { Err(PartnerError) }
    }
}

impl fmt::Display for Partner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each partner has one spelling: lower case, digits and hyphens.
    #[test]
    fn one_plain_spelling() {
        for name in ["a", "acme", "acme-2", "0", &"a".repeat(63)] {
            assert_eq!(name.parse::<Partner>().unwrap().as_str(), name);
        }
        for invalid in [
            "",
            ".",
            "..",
            "%2e%2e",
            "%2f",
            "a/b",
            ";x",
            "a;x",
            "-a",
            "a.",
            "a ",
            " a",
            "Acme",
            "a_b",
            "caf\u{e9}",
            "cafe\u{301}",
            "a\0",
            "a\n",
            "_health",
            "_simulate",
            &"a".repeat(64),
            &"a".repeat(10_240),
        ] {
            assert!(invalid.parse::<Partner>().is_err(), "{invalid:.20}");
        }
    }
}
