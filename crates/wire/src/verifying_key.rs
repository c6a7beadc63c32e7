//! A key that verifies. Its kind alone decides the algorithm: a signature that claims another is ignored.

use std::fmt;

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use data_encoding::BASE64;
use ed25519_dalek::Signature;

use crate::{
    KeyError, MAX_ED25519_SIGNATURES, SecretEncoding,
    candidates::Candidate,
    secret::{self, HMAC_PREFIX, PRIVATE_PREFIX, PUBLIC_PREFIX},
    signing_key::mac,
};

#[derive(Clone)]
pub struct VerifyingKey {
    kind: KeyMaterial,
}

#[derive(Clone)]
enum KeyMaterial {
    Hmac(Box<hmac::Key>),
    Ed25519(Box<ed25519_dalek::VerifyingKey>),
}

impl VerifyingKey {
    /// Creates a key from a partner's HMAC secret.
    pub fn hmac(secret: &str, encoding: SecretEncoding) -> Result<Self, KeyError> {
        let bytes = secret::encoded(secret, encoding)?;
        Ok(Self::from_hmac(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Creates a Standard Webhooks key: `whpk_…` is Ed25519; `whsec_…` and anything else is HMAC.
    pub fn standard(secret: &str) -> Result<Self, KeyError> {
        if secret.starts_with(PUBLIC_PREFIX) {
            return Self::ed25519(secret);
        }
        let (bytes, _) = secret::standard(secret)?;
        Ok(Self::from_hmac(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Creates a key from an Ed25519 public key: base64, with or without `whpk_`.
    ///
    /// Refuses weak keys (of small order) and keys in a form that has a shorter spelling, so that
    /// `verify_strict` never gets one.
    pub fn ed25519(public_key: &str) -> Result<Self, KeyError> {
        if public_key.starts_with(PRIVATE_PREFIX) || public_key.starts_with(HMAC_PREFIX) {
            return Err(KeyError::PrivateKeyAsPublic);
        }
        let text = public_key.strip_prefix(PUBLIC_PREFIX).unwrap_or(public_key);
        let bytes = BASE64.decode(text.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
        let length = bytes.len();
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError::Ed25519Length(length))?;
        let key = ed25519_dalek::VerifyingKey::from_bytes(&bytes);
        let key = key.map_err(|_| KeyError::NotEd25519)?;
        if key.is_weak() || key.to_edwards().compress().to_bytes() != bytes {
            return Err(KeyError::WeakEd25519);
        }
        Ok(Self::from_ed25519(key))
    }

    pub(crate) fn from_hmac(key: hmac::Key) -> Self {
        Self { kind: KeyMaterial::Hmac(Box::new(key)) }
    }

    pub(crate) fn from_ed25519(key: ed25519_dalek::VerifyingKey) -> Self {
        Self { kind: KeyMaterial::Ed25519(Box::new(key)) }
    }

    /// Returns a key that nobody has. If a request has no key to be checked with, this one is used, so that
    /// the response takes as long as for a wrong signature.
    pub(crate) fn decoy() -> Self {
        Self::from_hmac(hmac::Key::new(hmac::HMAC_SHA256, &[0; 32]))
    }

    /// Whether one of the candidates is this key's signature of the base string.
    ///
    /// However many candidates there are, an HMAC is computed once; all of them are compared, each in
    /// constant time. Ed25519 signatures have to be checked one by one, so fewer are tried.
    pub(crate) fn signed(&self, base: &[&[u8]], candidates: &[Candidate]) -> bool {
        match &self.kind {
            KeyMaterial::Hmac(key) => {
                let tag = mac(key, base);
                candidates.iter().filter_map(Candidate::hmac).fold(false, |found, candidate| {
                    found | verify_slices_are_equal(tag.as_ref(), candidate).is_ok()
                })
            }
            KeyMaterial::Ed25519(key) => {
                let message = base.concat();
                candidates
                    .iter()
                    .filter_map(Candidate::ed25519)
                    .take(MAX_ED25519_SIGNATURES)
                    .any(|s| key.verify_strict(&message, &Signature::from_bytes(s)).is_ok())
            }
        }
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            KeyMaterial::Hmac(_) => write!(f, "VerifyingKey(hmac, redacted)"),
            KeyMaterial::Ed25519(key) => {
                write!(f, "VerifyingKey({PUBLIC_PREFIX}{})", BASE64.encode(key.as_bytes()))
            }
        }
    }
}
