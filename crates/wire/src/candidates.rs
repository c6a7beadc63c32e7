//! Reads the signatures that a request claims to have from its signature header.
//!
//! A header that is not exactly in its form is refused completely, even if it contains a valid signature:
//! text that a proxy has joined or folded is not what the sender wrote.

use data_encoding::{BASE64, Encoding, HEXLOWER};

use crate::{SignatureEncoding, VerifyError};

/// Maximum signatures in a list; a rotation needs a handful.
pub const MAX_SIGNATURES: usize = 16;

/// Maximum Ed25519 signatures that are tried. Each costs a pass over the body, unlike HMACs, which are
/// compared with one that is computed once.
pub const MAX_ED25519_SIGNATURES: usize = 5;

/// A signature of the right length for its algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Candidate {
    Hmac([u8; 32]),
    Ed25519([u8; 64]),
}

/// The content of a signature header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim<'a> {
    /// The timestamp, in the form that contains it.
    pub timestamp: Option<&'a [u8]>,
    pub candidates: Vec<Candidate>,
}

/// The form of signatures in their header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `v1,<base64> v1a,<base64>`, separated by single spaces
    Versions,
    /// `t=<time>,v1=<hex>,v1=<hex>`
    Fields,
    /// `hmac-sha256=<base64>` or `ed25519=<base64>`, also as `scheme=…,sig=…`
    Scheme,
    /// `<prefix><HMAC>`
    Single { prefix: String, encoding: SignatureEncoding },
}

impl Layout {
    pub(crate) fn read<'a>(&self, header: &'a [u8]) -> Result<Claim<'a>, VerifyError> {
        match self {
            Self::Versions => versions(header).map(untimed),
            Self::Fields => fields(header),
            Self::Scheme => scheme(header).map(|candidate| untimed(vec![candidate])),
            Self::Single { prefix, encoding } => {
                let value = header.strip_prefix(prefix.as_bytes());
                let value = value.ok_or(VerifyError::MalformedSignature)?;
                let candidate = match encoding {
                    SignatureEncoding::Hex => hmac(value, &HEXLOWER)?,
                    SignatureEncoding::Base64 => hmac(value, &BASE64)?,
                };
                Ok(untimed(vec![candidate]))
            }
        }
    }
}

fn untimed(candidates: Vec<Candidate>) -> Claim<'static> {
    Claim { timestamp: None, candidates }
}

/// Reads versions. Skips unknown ones, so that a sender may add new ones.
fn versions(header: &[u8]) -> Result<Vec<Candidate>, VerifyError> {
    let mut candidates = Vec::new();
    for (index, entry) in header.split(|&b| b == b' ').enumerate() {
        if index == MAX_SIGNATURES {
            return Err(VerifyError::TooManySignatures);
        }
        match split(entry, b',')? {
            (b"v1", value) => candidates.push(hmac(value, &BASE64)?),
            (b"v1a", value) => candidates.push(ed25519(value)?),
            (other, value) if is_word(other) && !value.is_empty() && !value.contains(&b',') => {}
            _ => return Err(VerifyError::MalformedSignature),
        }
    }
    Ok(candidates)
}

/// Reads fields. Skips unknown ones. The time may occur once: with two of them, one could be checked and the
/// other trusted.
fn fields(header: &[u8]) -> Result<Claim<'_>, VerifyError> {
    let mut timestamp = None;
    let mut candidates = Vec::new();
    for (index, entry) in header.split(|&b| b == b',').enumerate() {
        if index > MAX_SIGNATURES {
            return Err(VerifyError::TooManySignatures);
        }
        match split(entry, b'=')? {
            (b"t", value) => {
                if timestamp.replace(value).is_some() {
                    return Err(VerifyError::MalformedSignature);
                }
            }
            (b"v1", value) => candidates.push(hmac(value, &HEXLOWER)?),
            (other, value) if is_word(other) && !value.is_empty() => {}
            _ => return Err(VerifyError::MalformedSignature),
        }
    }
    Ok(Claim { timestamp, candidates })
}

fn scheme(header: &[u8]) -> Result<Candidate, VerifyError> {
    let (name, value) = match header.strip_prefix(b"scheme=") {
        Some(rest) => {
            let (name, signature) = split(rest, b',')?;
            (name, signature.strip_prefix(b"sig=").ok_or(VerifyError::MalformedSignature)?)
        }
        None => split(header, b'=')?,
    };
    match name {
        b"hmac-sha256" => hmac(value, &BASE64),
        b"ed25519" => ed25519(value),
        _ => Err(VerifyError::MalformedSignature),
    }
}

fn split(text: &[u8], at: u8) -> Result<(&[u8], &[u8]), VerifyError> {
    let middle = text.iter().position(|&b| b == at).ok_or(VerifyError::MalformedSignature)?;
    Ok((&text[..middle], &text[middle + 1..]))
}

fn is_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_alphanumeric)
}

fn hmac(value: &[u8], encoding: &Encoding) -> Result<Candidate, VerifyError> {
    exactly(value, encoding).map(Candidate::Hmac)
}

fn ed25519(value: &[u8]) -> Result<Candidate, VerifyError> {
    exactly(value, &BASE64).map(Candidate::Ed25519)
}

/// Decodes exactly the canonical spelling: both encodings refuse white space, other alphabets, missing
/// padding, stray bits and upper-case hex.
fn exactly<const N: usize>(value: &[u8], encoding: &Encoding) -> Result<[u8; N], VerifyError> {
    // The length is checked first, so that nothing is decoded that cannot fit.
    if value.len() != encoding.encode_len(N) {
        return Err(VerifyError::MalformedSignature);
    }
    let bytes = encoding.decode(value).map_err(|_| VerifyError::MalformedSignature)?;
    bytes.try_into().map_err(|_| VerifyError::MalformedSignature)
}

impl Candidate {
    pub(crate) fn hmac(&self) -> Option<&[u8; 32]> {
        if let Self::Hmac(bytes) = self { Some(bytes) } else { None }
    }

    pub(crate) fn ed25519(&self) -> Option<&[u8; 64]> {
        if let Self::Ed25519(bytes) = self { Some(bytes) } else { None }
    }
}
