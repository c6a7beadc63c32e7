//! The operator's token: from the settings, or generated once and stored in the data directory.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use anyhow::Context;
use data_encoding::{BASE64, HEXLOWER};
use gancho_access::OperatorToken;

use crate::{
    private_file::{self, Creation},
    settings::{Secret, Settings},
};

const FILE: &str = "admin.token";

pub struct Token {
    pub text: Secret,
    /// The file, if the token is not in the settings.
    pub file: Option<PathBuf>,
    pub is_new: bool,
}

impl Token {
    pub fn check(&self) -> anyhow::Result<OperatorToken> {
        OperatorToken::new(self.text.reveal()).context("invalid operator token")
    }
}

/// Returns the effective token. Generates it if there is none.
pub fn of(settings: &Settings) -> anyhow::Result<Token> {
    if let Some(text) = &settings.admin_token {
        return Ok(Token { text: text.clone(), file: None, is_new: false });
    }
    let path = settings.data_dir.join(FILE);
    let (text, made) = private_file::read_or_make(&path, || Ok(random()? + "\n"))?;
    Ok(Token { text: Secret::new(text.trim()), file: Some(path), is_new: made == Creation::Now })
}

/// Returns the token if it exists, for commands that call a running gateway.
pub fn find(settings: &Settings) -> anyhow::Result<Option<Secret>> {
    if let Some(text) = &settings.admin_token {
        return Ok(Some(text.clone()));
    }
    let text = private_file::read(Path::new(&settings.data_dir.join(FILE)))?;
    Ok(text.map(|text| Secret::new(text.trim())))
}

/// Returns why a token is weak, if it is.
pub fn weakness(token: &str) -> Option<&'static str> {
    const MIN_LENGTH: usize = 32;
    const MIN_DISTINCT: usize = 10;
    const WORDS: [&str; 6] = ["password", "changeme", "secret", "example", "qwerty", "0123456789"];
    let lower = token.to_ascii_lowercase();
    let distinct: BTreeSet<u8> = lower.bytes().collect();
    if token.len() < MIN_LENGTH {
        Some("it is shorter than 32 characters")
    } else if distinct.len() < MIN_DISTINCT {
        Some("it repeats a few characters")
    } else if WORDS.iter().any(|word| lower.contains(word)) {
        Some("it contains a common word or sequence")
    } else {
        None
    }
}

/// Returns 256 random bits.
fn random() -> anyhow::Result<String> {
    let secret = gancho_wire::new_secret()?;
    let encoded = secret.strip_prefix("whsec_").unwrap_or(&secret);
    Ok(HEXLOWER.encode(&BASE64.decode(encoded.as_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    // faults.md 20
    #[test]
    fn a_token_that_could_be_guessed_is_noticed() {
        for weak in [
            "0123456789-0123",
            "a-token-of-thirty-one-character",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "abababababababababababababababababab",
            "my-production-Password-for-the-gateway",
            "7b1c9e5d3f2a8b6c4d0e1f-changeme-9a8b7c",
        ] {
            assert!(weakness(weak).is_some(), "{weak}");
        }
        for _ in 0..1_000 {
            assert_eq!(weakness(&random().unwrap()), None);
        }
    }
}
