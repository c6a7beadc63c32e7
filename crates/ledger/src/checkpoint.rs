//! A signed statement of the ledger's size and root, as a signed note (C2SP `tlog-checkpoint`): text that
//! people can read and other programs can check.
//!
//! ```text
//! gancho.example/ledger
//! 1234
//! <root in base64>
//! 2026-11-15T10:00:00.000Z
//!
//! — gancho.example/ledger <four bytes of the key's hash and the signature, in base64>
//! ```

use aws_lc_rs::{
    digest::{Context, SHA256},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use data_encoding::BASE64;
use thiserror::Error;

use crate::hash::Hash;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The origin of the ledger: a name without spaces, which is also the name of the key.
    pub origin: String,
    pub size: u64,
    pub root: Hash,
    /// When it was signed, as text: part of the signed text, not used in verification.
    pub made_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CheckpointError {
    #[error("not a checkpoint: it needs an origin, a size, a root and a signature")]
    Form,
    #[error("the checkpoint is not signed with this key")]
    OtherKey,
    #[error(
        "the signature of the checkpoint is invalid: it was changed, or signed by another gateway"
    )]
    Signature,
    #[error("the key is not an Ed25519 seed or public key of 32 bytes")]
    Key,
}

/// The dash that begins a signature line in a signed note.
const DASH: &str = "\u{2014} ";
/// The number of Ed25519 among the key types of signed notes.
const KIND: u8 = 1;

impl Checkpoint {
    fn text(&self) -> String {
        format!("{}\n{}\n{}\n{}\n", self.origin, self.size, self.root.base64(), self.made_at)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let origin = lines.next().filter(|origin| is_name(origin))?.to_owned();
        let size = number(lines.next()?)?;
        let root = Hash::from_base64(lines.next()?)?;
        let made_at = lines.next()?.to_owned();
        lines.next().is_none().then_some(Self { origin, size, root, made_at })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('+')
}

/// Parses a number in canonical form.
fn number(text: &str) -> Option<u64> {
    let number = text.parse::<u64>().ok()?;
    (number.to_string() == text).then_some(number)
}

pub struct Signer {
    pair: Ed25519KeyPair,
}

impl Signer {
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, CheckpointError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| CheckpointError::Key)?;
        Ok(Self { pair })
    }

    pub fn public_key(&self) -> Verifier {
        let mut key = [0; 32];
        key.copy_from_slice(self.pair.public_key().as_ref());
        Verifier { key }
    }

    /// Signs any bytes that are not a checkpoint.
    pub fn sign_bytes(&self, bytes: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(bytes).as_ref());
        signature
    }

    /// Returns the whole signed note.
    pub fn sign(&self, checkpoint: &Checkpoint) -> Result<String, CheckpointError> {
        if !is_name(&checkpoint.origin) || checkpoint.made_at.contains('\n') {
            return Err(CheckpointError::Form);
        }
        let text = checkpoint.text();
        let mut signed = self.public_key().mark(&checkpoint.origin).to_vec();
        signed.extend_from_slice(&self.sign_bytes(text.as_bytes()));
        Ok(format!("{text}\n{DASH}{} {}\n", checkpoint.origin, BASE64.encode(&signed)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verifier {
    key: [u8; 32],
}

impl Verifier {
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.key
    }

    pub fn verify_bytes(&self, bytes: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.key).verify(bytes, signature).is_ok()
    }

    /// Parses a note and verifies its signature. Signatures of other keys are ignored.
    pub fn open(&self, note: &str) -> Result<Checkpoint, CheckpointError> {
        let (text, signatures) = note.split_once("\n\n").ok_or(CheckpointError::Form)?;
        let text = format!("{text}\n");
        let checkpoint = Checkpoint::parse(&text).ok_or(CheckpointError::Form)?;
        let mine = self.mark(&checkpoint.origin);
        let mut is_mine = false;
        for line in signatures.lines() {
            let (name, signed) = line
                .strip_prefix(DASH)
                .and_then(|rest| rest.split_once(' '))
                .ok_or(CheckpointError::Form)?;
            let signed = BASE64.decode(signed.as_bytes()).map_err(|_| CheckpointError::Form)?;
            let (mark, signature) = signed.split_at_checked(4).ok_or(CheckpointError::Form)?;
            if name != checkpoint.origin || mark != mine {
                continue;
            }
            is_mine = true;
            if self.verify_bytes(text.as_bytes(), signature) {
                return Ok(checkpoint);
            }
        }
        Err(if is_mine { CheckpointError::Signature } else { CheckpointError::OtherKey })
    }

    /// Returns the four-byte key hash in a signature line.
    fn mark(&self, name: &str) -> [u8; 4] {
        let mut context = Context::new(&SHA256);
        context.update(name.as_bytes());
        context.update(b"\n");
        context.update(&[KIND]);
        context.update(&self.key);
        let mut mark = [0; 4];
        mark.copy_from_slice(&context.finish().as_ref()[..4]);
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        Checkpoint {
            origin: "gancho.test/ledger".into(),
            size: 7,
            root: Hash::of_leaf(b"x"),
            made_at: "2026-11-15T10:00:00.000Z".into(),
        }
    }

    #[test]
    fn what_was_signed_opens_as_it_was() {
        let signer = Signer::from_seed(&[7; 32]).unwrap();
        let note = signer.sign(&checkpoint()).unwrap();
        assert_eq!(signer.public_key().open(&note), Ok(checkpoint()));
        let lines: Vec<&str> = note.lines().collect();
        assert_eq!(lines[..2], ["gancho.test/ledger", "7"]);
        assert!(lines[5].starts_with("\u{2014} gancho.test/ledger "));
    }

    #[test]
    fn no_byte_can_be_changed() {
        let signer = Signer::from_seed(&[7; 32]).unwrap();
        let note = signer.sign(&checkpoint()).unwrap();
        for place in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[place] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(signer.public_key().open(&changed).is_err(), "{place}: {changed}");
        }
    }

    #[test]
    fn another_key_is_distinguished_from_a_wrong_signature() {
        let signer = Signer::from_seed(&[7; 32]).unwrap();
        let note = signer.sign(&checkpoint()).unwrap();
        let other = Signer::from_seed(&[8; 32]).unwrap().public_key();
        assert_eq!(other.open(&note), Err(CheckpointError::OtherKey));
        let changed = note.replacen("\n7\n", "\n8\n", 1);
        assert_eq!(signer.public_key().open(&changed), Err(CheckpointError::Signature));
        assert_eq!(other.open("hello"), Err(CheckpointError::Form));
    }

    #[test]
    fn a_name_that_would_break_the_note_is_refused() {
        let signer = Signer::from_seed(&[7; 32]).unwrap();
        for origin in ["", "two words", "line\nbreak"] {
            let bad = Checkpoint { origin: origin.into(), ..checkpoint() };
            assert_eq!(signer.sign(&bad), Err(CheckpointError::Form));
        }
    }
}
