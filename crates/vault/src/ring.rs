//! The key ring: keys by number, encryption and decryption.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    rand,
};
use data_encoding::BASE64;
use thiserror::Error;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const HEAD: usize = 1 + 4 + NONCE_LEN;

/// Text that is erased from memory when dropped.
pub type Secret = Zeroizing<String>;

/// The keys. A running process can switch to a newer ring.
pub struct KeyRing(RwLock<Arc<Keys>>);

struct Keys {
    by_number: BTreeMap<u32, RandomizedNonceKey>,
    /// The text of the file.
    text: Secret,
}

/// Where a secret is stored: authenticated with it, so that it cannot be decrypted elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct SecretLocation<'a> {
    pub tenant: &'a [u8],
    pub table: &'a str,
    pub column: &'a str,
    pub row: &'a [u8],
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyRingError {
    #[error("the key ring is empty: it needs a line of the form `1 <32 bytes in base64>`")]
    Empty,
    #[error("line {0} of the key ring is not a number followed by 32 bytes in base64")]
    Malformed(usize),
    #[error("the key ring has two keys with the number {0}")]
    Twice(u32),
    #[error("the system's random number generator failed")]
    NoRandom,
    #[error("the new key ring does not contain key {0}: keep the existing lines and add to them")]
    Lacks(u32),
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum UnsealError {
    #[error("the ciphertext is truncated or has an unknown format")]
    Malformed,
    #[error("key {0} is not in the key ring: restore the key ring that encrypted this secret")]
    UnknownKey(u32),
    #[error("the ciphertext was modified or belongs to another record")]
    Refused,
}

impl KeyRing {
    /// Parses one key per line: its number, a space, and 32 bytes in base64. `#` starts a comment.
    pub fn parse(text: &str) -> Result<Self, KeyRingError> {
        let mut keys = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (id, key) = parse_line(line).ok_or(KeyRingError::Malformed(number))?;
            if keys.insert(id, key).is_some() {
                return Err(KeyRingError::Twice(id));
            }
        }
        if keys.is_empty() {
            return Err(KeyRingError::Empty);
        }
        let keys = Keys { by_number: keys, text: Zeroizing::new(text.to_owned()) };
        Ok(Self(RwLock::new(Arc::new(keys))))
    }

    fn keys(&self) -> Arc<Keys> {
        // A panicked reader has changed nothing.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates a ring with one new key.
    pub fn generate() -> Result<Self, KeyRingError> {
        Self::parse(&new_line(1)?)
    }

    /// Returns the same ring with a new key, which encrypts from now on.
    pub fn with_new_key(&self) -> Result<Self, KeyRingError> {
        let line = new_line(self.newest() + 1)?;
        Self::parse(&Zeroizing::new(format!("{}\n{}", self.text().trim_end(), *line)))
    }

    /// Returns the same ring without one key, whose secrets cannot be decrypted any more.
    pub fn without(&self, number: u32) -> Result<Self, KeyRingError> {
        let keeps = |line: &&str| parse_line(line.trim()).is_none_or(|(id, _)| id != number);
        let text = self.text();
        let lines: Vec<&str> = text.lines().filter(keeps).collect();
        Self::parse(&Zeroizing::new(lines.join("\n") + "\n"))
    }

    /// Replaces the ring with one that has all of its keys and possibly more.
    pub fn adopt(&self, newer: &Self) -> Result<(), KeyRingError> {
        let (mine, theirs) = (self.keys(), newer.keys());
        // Compared by lines, so that a different key with the same number is not accepted.
        let has = |line: &str| theirs.text.lines().any(|other| other.trim() == line.trim());
        for line in mine.text.lines().filter(|line| !has(line)) {
            if let Some((lost, _)) = parse_line(line.trim()) {
                return Err(KeyRingError::Lacks(lost));
            }
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = theirs;
        Ok(())
    }

    /// Returns the text to store in the file.
    pub fn text(&self) -> Secret {
        self.keys().text.clone()
    }

    /// Returns the numbers of its keys, newest last.
    pub fn numbers(&self) -> Vec<u32> {
        self.keys().by_number.keys().copied().collect()
    }

    /// Returns the number of the key that encrypts.
    pub fn newest(&self) -> u32 {
        self.keys().by_number.last_key_value().map_or(0, |(id, _)| *id)
    }

    pub fn seal(&self, place: SecretLocation<'_>, secret: &str) -> Result<Vec<u8>, KeyRingError> {
        let keys = self.keys();
        let (id, key) = keys.by_number.last_key_value().ok_or(KeyRingError::Empty)?;
        let mut sealed = Zeroizing::new(secret.as_bytes().to_vec());
        let nonce = key
            .seal_in_place_append_tag(Aad::from(place.bytes(*id)), &mut *sealed)
            .map_err(|_| KeyRingError::NoRandom)?;
        let mut record = Vec::with_capacity(HEAD + sealed.len());
        record.push(VERSION);
        record.extend_from_slice(&id.to_be_bytes());
        record.extend_from_slice(nonce.as_ref());
        record.extend_from_slice(&sealed);
        Ok(record)
    }

    pub fn open(&self, place: SecretLocation<'_>, record: &[u8]) -> Result<Secret, UnsealError> {
        let (id, nonce, sealed) = split(record).ok_or(UnsealError::Malformed)?;
        let keys = self.keys();
        let key = keys.by_number.get(&id).ok_or(UnsealError::UnknownKey(id))?;
        let mut plain = Zeroizing::new(sealed.to_vec());
        let opened = key
            .open_in_place(Nonce::from(nonce), Aad::from(place.bytes(id)), &mut plain)
            .map_err(|_| UnsealError::Refused)?;
        let text = std::str::from_utf8(opened).map_err(|_| UnsealError::Malformed)?;
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Returns the keys from which others are derived.
    pub(crate) fn raw_keys(&self) -> Vec<(u32, Zeroizing<Vec<u8>>)> {
        self.text().lines().filter_map(|line| raw_line(line.trim())).collect()
    }

    /// Returns the number of the key that encrypted a record.
    pub fn key_of(record: &[u8]) -> Option<u32> {
        split(record).map(|(id, _, _)| id)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("keys", &self.numbers()).finish_non_exhaustive()
    }
}

impl SecretLocation<'_> {
    /// Encodes the place. Each part is length-prefixed, so that no two places are encoded the same.
    fn bytes(&self, key: u32) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&key.to_be_bytes());
        for part in [self.tenant, self.table.as_bytes(), self.column.as_bytes(), self.row] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

fn parse_line(line: &str) -> Option<(u32, RandomizedNonceKey)> {
    let (id, key) = raw_line(line)?;
    Some((id, RandomizedNonceKey::new(&AES_256_GCM, &key).ok()?))
}

fn raw_line(line: &str) -> Option<(u32, Zeroizing<Vec<u8>>)> {
    let (id, key) = line.split_once(' ')?;
    let key = Zeroizing::new(BASE64.decode(key.trim().as_bytes()).ok()?);
    (key.len() == KEY_BYTES).then_some((id.parse().ok()?, key))
}

fn new_line(id: u32) -> Result<Secret, KeyRingError> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    rand::fill(&mut *key).map_err(|_| KeyRingError::NoRandom)?;
    Ok(Zeroizing::new(format!("{id} {}\n", BASE64.encode(&*key))))
}

fn split(record: &[u8]) -> Option<(u32, &[u8; NONCE_LEN], &[u8])> {
    let (head, sealed) = record.split_at_checked(HEAD)?;
    let (version, head) = head.split_first()?;
    let (id, nonce) = head.split_first_chunk::<4>()?;
    let nonce = nonce.first_chunk::<NONCE_LEN>()?;
    (*version == VERSION).then_some((u32::from_be_bytes(*id), nonce, sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: SecretLocation<'static> =
        SecretLocation { tenant: b"t1", table: "endpoints", column: "secret", row: b"e1" };

    #[test]
    fn opens_in_its_place_only() {
        let ring = KeyRing::generate().unwrap();
        let sealed = ring.seal(HERE, "whsec_abc").unwrap();
        assert!(!sealed.windows(5).any(|window| window == b"whsec"));
        assert_eq!(ring.open(HERE, &sealed).unwrap().as_str(), "whsec_abc");
        for elsewhere in [
            SecretLocation { tenant: b"t2", ..HERE },
            SecretLocation { table: "sources", ..HERE },
            SecretLocation { column: "token", ..HERE },
            SecretLocation { row: b"e2", ..HERE },
            SecretLocation { tenant: b"t1e", row: b"1", ..HERE },
        ] {
            assert_eq!(ring.open(elsewhere, &sealed), Err(UnsealError::Refused));
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let ring = KeyRing::generate().unwrap();
        let sealed = ring.seal(HERE, "secret").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(ring.open(HERE, &changed).is_err(), "byte {at}");
            assert!(ring.open(HERE, &sealed[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_new_key_seals_and_the_old_one_still_opens() {
        let old = KeyRing::generate().unwrap();
        let sealed = old.seal(HERE, "secret").unwrap();
        let new = old.with_new_key().unwrap();
        assert_eq!(new.open(HERE, &sealed).unwrap().as_str(), "secret");
        let resealed = new.seal(HERE, "secret").unwrap();
        assert_eq!((KeyRing::key_of(&sealed), KeyRing::key_of(&resealed)), (Some(1), Some(2)));
        assert_eq!(old.open(HERE, &resealed), Err(UnsealError::UnknownKey(2)));
        assert_eq!(KeyRing::parse(&new.text()).unwrap().newest(), 2);
    }

    #[test]
    fn a_ring_in_use_takes_on_a_newer_one_and_never_loses_a_key() {
        let ring = KeyRing::generate().unwrap();
        let sealed = ring.seal(HERE, "secret").unwrap();
        ring.adopt(&ring.with_new_key().unwrap()).unwrap();
        assert_eq!((ring.newest(), ring.numbers()), (2, vec![1, 2]));
        assert_eq!(ring.open(HERE, &sealed).unwrap().as_str(), "secret");
        let without = ring.without(1).unwrap();
        assert_eq!(without.numbers(), [2]);
        assert_eq!(ring.adopt(&without), Err(KeyRingError::Lacks(1)));
        let other = KeyRing::generate().unwrap().with_new_key().unwrap();
        assert_eq!(ring.adopt(&other), Err(KeyRingError::Lacks(1)), "its key 1 is another");
        assert_eq!(without.open(HERE, &sealed), Err(UnsealError::UnknownKey(1)));
        assert_eq!(without.without(2).unwrap_err(), KeyRingError::Empty);
    }

    #[test]
    fn faults_name_the_line_and_never_the_key() {
        assert_eq!(KeyRing::parse("# nothing\n").unwrap_err(), KeyRingError::Empty);
        assert_eq!(KeyRing::parse("\n1 c2hvcnQ=").unwrap_err(), KeyRingError::Malformed(2));
        let ring = KeyRing::generate().unwrap();
        let twice = format!("{0}{0}", *ring.text());
        assert_eq!(KeyRing::parse(&twice).unwrap_err(), KeyRingError::Twice(1));
        assert_eq!(format!("{ring:?}"), "KeyRing { keys: [1], .. }");
    }
}
