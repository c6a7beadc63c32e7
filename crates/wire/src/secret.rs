//! Decodes secrets, and refuses weak ones.
//!
//! Secrets are refused when they are configured, never when a message is signed or verified: the first
//! delivery must not be the one to find a weak secret. No error repeats the secret's text.

use data_encoding::{BASE64, DecodeKind, HEXLOWER_PERMISSIVE};
use serde::Deserialize;
use zeroize::Zeroizing;

const MIN_LENGTH: usize = 16;
/// Maximum length of a decoded key. HMAC-SHA256 hashes longer keys, so more bytes add nothing.
const MAX_DECODED_LENGTH: usize = 64;
const MAX_TEXT_LENGTH: usize = 256;

pub(crate) const HMAC_PREFIX: &str = "whsec_";
pub(crate) const PRIVATE_PREFIX: &str = "whsk_";
pub(crate) const PUBLIC_PREFIX: &str = "whpk_";

/// How a secret's text was decoded. The API returns it, because the tenant must decode it in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretFormat {
    /// Base64, after `whsec_` if a tenant wrote that: the key is the decoded bytes.
    Base64,
    /// The key is the text itself.
    Raw,
    /// Hexadecimal, for partners' secrets only.
    Hex,
    /// `whsk_` and base64: an Ed25519 private key.
    Ed25519,
}

impl SecretFormat {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Raw => "raw",
            Self::Hex => "hex",
            Self::Ed25519 => "ed25519",
        }
    }
}

/// The encoding of a partner's HMAC secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretEncoding {
    #[default]
    Raw,
    Base64,
    Hex,
}

/// Why a secret or a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("the secret is empty")]
    Empty,
    #[error("the secret is only a prefix")]
    PrefixOnly,
    #[error("the secret has only {0} bytes, the minimum is 16")]
    TooShort(usize),
    #[error("the secret has {0} bytes, the maximum is {1}")]
    TooLong(usize, usize),
    #[error("the secret starts or ends with whitespace")]
    WhiteSpace,
    #[error("the secret is not valid base64 (RFC 4648, with padding)")]
    NotBase64,
    #[error(
        "the part after `whsec_` is not valid base64 (RFC 4648, with padding): it may be truncated"
    )]
    BrokenAfterPrefix,
    #[error(
        "the base64 of the secret has nonzero trailing bits, which libraries decode differently"
    )]
    StrayBits,
    #[error("the secret is not valid hexadecimal")]
    NotHex,
    #[error("`whpk_` marks a public key")]
    PublicKeyAsSecret,
    #[error("`whsk_` marks an Ed25519 private key, but this signature scheme is HMAC")]
    PrivateKeyForHmac,
    #[error("`whsk_` marks a private key, which only the sender may have")]
    PrivateKeyAsPublic,
    #[error("an Ed25519 key has 32 bytes (a private key may have 64), not {0}")]
    Ed25519Length(usize),
    #[error("not an Ed25519 public key")]
    NotEd25519,
    #[error("this Ed25519 public key is weak: signatures can be forged without the private key")]
    WeakEd25519,
    #[error("the second half of the Ed25519 private key is not its public key")]
    KeyPairMismatch,
    #[error("this signature scheme supports HMAC only")]
    HmacOnly,
}

impl KeyError {
    /// Returns what to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Empty => "use at least 16 characters, or omit it to have one generated",
            Self::PrefixOnly => "add 24 to 64 random bytes in base64",
            Self::TooShort(..) => "use 32 random bytes",
            Self::TooLong(..) => "use a shorter one",
            Self::WhiteSpace => "remove it",
            Self::NotBase64 | Self::StrayBits => "encode the key again",
            Self::BrokenAfterPrefix => "use the whole secret, or a plain text without the prefix",
            Self::NotHex => "use pairs of 0-9 and a-f, or another encoding",
            Self::PublicKeyAsSecret => "use a secret: `whsec_…` for HMAC or `whsk_…` for Ed25519",
            Self::PrivateKeyForHmac => "use a `whsec_…` or plain secret",
            Self::PrivateKeyAsPublic => "use the public key",
            Self::Ed25519Length(..) => "check that the whole key was copied",
            Self::NotEd25519 => "ask the sender for the 32 bytes in base64",
            Self::WeakEd25519 => "ask the sender for another one",
            Self::KeyPairMismatch => "export the key again",
            Self::HmacOnly => "use a secret instead of a public key",
        }
    }

    /// Returns the error and the hint in one line, for errors of a field.
    pub fn with_hint(self) -> String {
        format!("{self}; {}", self.hint())
    }
}

/// A key's bytes, erased from memory when dropped.
pub(crate) type KeyBytes = Zeroizing<Vec<u8>>;

/// Decodes by the rule of Standard Webhooks: base64 after `whsec_`, or else the text itself.
///
/// The text counts as base64 if its characters and its length are those of base64. Stray bits at the end, the
/// one case in which the public libraries differ, are refused.
pub(crate) fn standard(secret: &str) -> Result<(KeyBytes, SecretFormat), KeyError> {
    let Some(encoded) = secret.strip_prefix(HMAC_PREFIX) else {
        return Ok((raw(secret)?, SecretFormat::Raw));
    };
    match BASE64.decode(encoded.as_bytes()) {
        Ok(bytes) => Ok((decoded(Zeroizing::new(bytes))?, SecretFormat::Base64)),
        Err(error) if error.kind == DecodeKind::Trailing => Err(KeyError::StrayBits),
        Err(_) => Ok((raw(secret)?, SecretFormat::Raw)),
    }
}

/// Checks that a text with a prefix of base64 is base64.
pub(crate) fn check_prefixed(secret: &str) -> Result<(), KeyError> {
    match secret.strip_prefix(HMAC_PREFIX) {
        Some("") => Err(KeyError::PrefixOnly),
        Some(encoded) => match BASE64.decode(encoded.as_bytes()) {
            Ok(_) => Ok(()),
            Err(error) if error.kind == DecodeKind::Trailing => Err(KeyError::StrayBits),
            Err(_) => Err(KeyError::BrokenAfterPrefix),
        },
        None => Ok(()),
    }
}

/// Decodes a secret whose encoding is known.
pub(crate) fn encoded(secret: &str, encoding: SecretEncoding) -> Result<KeyBytes, KeyError> {
    match encoding {
        SecretEncoding::Raw => raw(secret),
        SecretEncoding::Base64 => decoded(base64(secret)?),
        SecretEncoding::Hex => {
            refuse_ed25519(secret)?;
            let bytes = HEXLOWER_PERMISSIVE.decode(secret.as_bytes());
            decoded(Zeroizing::new(bytes.map_err(|_| KeyError::NotHex)?))
        }
    }
}

/// Uses the text itself as the key.
pub(crate) fn raw(secret: &str) -> Result<KeyBytes, KeyError> {
    refuse_ed25519(secret)?;
    if secret.is_empty() {
        return Err(KeyError::Empty);
    }
    if secret == HMAC_PREFIX {
        return Err(KeyError::PrefixOnly);
    }
    if secret.trim() != secret {
        return Err(KeyError::WhiteSpace);
    }
    let characters = secret.chars().count();
    if characters < MIN_LENGTH {
        return Err(KeyError::TooShort(characters));
    }
    if secret.len() > MAX_TEXT_LENGTH {
        return Err(KeyError::TooLong(secret.len(), MAX_TEXT_LENGTH));
    }
    Ok(Zeroizing::new(secret.as_bytes().to_vec()))
}

pub(crate) fn base64(text: &str) -> Result<KeyBytes, KeyError> {
    refuse_ed25519(text)?;
    match BASE64.decode(text.as_bytes()) {
        Ok(bytes) => Ok(Zeroizing::new(bytes)),
        Err(error) if error.kind == DecodeKind::Trailing => Err(KeyError::StrayBits),
        Err(_) => Err(KeyError::NotBase64),
    }
}

fn decoded(bytes: KeyBytes) -> Result<KeyBytes, KeyError> {
    match bytes.len() {
        0 => Err(KeyError::PrefixOnly),
        short @ 1..MIN_LENGTH => Err(KeyError::TooShort(short)),
        MIN_LENGTH..=MAX_DECODED_LENGTH => Ok(bytes),
        long => Err(KeyError::TooLong(long, MAX_DECODED_LENGTH)),
    }
}

fn refuse_ed25519(secret: &str) -> Result<(), KeyError> {
    if secret.starts_with(PUBLIC_PREFIX) {
        Err(KeyError::PublicKeyAsSecret)
    } else if secret.starts_with(PRIVATE_PREFIX) {
        Err(KeyError::PrivateKeyForHmac)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(secret: &str) -> Result<(usize, SecretFormat), KeyError> {
        standard(secret).map(|(bytes, format)| (bytes.len(), format))
    }

    #[test]
    fn whsec_and_base64_is_decoded() {
        let secret = "whsec_a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6";
        assert_eq!(format(secret), Ok((24, SecretFormat::Base64)));
        assert_eq!(raw(secret).unwrap().as_slice(), secret.as_bytes());
    }

    #[test]
    fn anything_else_is_the_text_itself() {
        for text in
            ["my webhook secret", "whsec_not-base64_at-all", "whsec_unpadded30charactersxxxxxx"]
        {
            assert_eq!(format(text), Ok((text.len(), SecretFormat::Raw)), "{text}");
        }
    }

    // faults.md C5
    #[test]
    fn a_new_secret_that_begins_as_base64_is_base64() {
        let whole = format!("whsec_{}", BASE64.encode(&[7; 32]));
        assert_eq!(check_prefixed(&whole), Ok(()));
        assert_eq!(check_prefixed("my webhook secret"), Ok(()));
        for cut in 1..whole.len() - "whsec_".len() {
            let cut = &whole[..whole.len() - cut];
            // Four characters of base64 are three bytes, so a truncation between them cannot be detected.
            let fits = (cut.len() - "whsec_".len()).is_multiple_of(4);
            assert_eq!(check_prefixed(cut).is_ok(), fits, "{cut}");
        }
        for broken in ["whsec_", "whsec_not-base64_at-all", "whsec_ö", "whsec_AAAA AAAA"] {
            assert!(check_prefixed(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_secret_that_libraries_read_differently_is_refused() {
        assert_eq!(format("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDAB=="), Err(KeyError::StrayBits));
    }

    #[test]
    fn sixteen_means_characters_in_text_and_bytes_when_decoded() {
        assert_eq!(format("fifteen letters"), Err(KeyError::TooShort(15)));
        assert_eq!(format("çççççççççç"), Err(KeyError::TooShort(10)));
        let secret = |n: usize| format!("whsec_{}", BASE64.encode(&vec![7; n]));
        assert_eq!(format(&secret(15)), Err(KeyError::TooShort(15)));
        assert_eq!(format(&secret(16)), Ok((16, SecretFormat::Base64)));
        assert_eq!(format(&secret(64)), Ok((64, SecretFormat::Base64)));
        assert_eq!(format(&secret(65)), Err(KeyError::TooLong(65, 64)));
    }

    #[test]
    fn partners_may_write_hex_in_either_case() {
        let bytes = encoded("00FFaa11223344556677889900112233", SecretEncoding::Hex).unwrap();
        assert_eq!(bytes.len(), 16);
        let error = encoded("00FFaa1122334455667788990011223", SecretEncoding::Hex);
        assert_eq!(error.unwrap_err(), KeyError::NotHex);
    }
}
