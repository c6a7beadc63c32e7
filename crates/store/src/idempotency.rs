//! Defines when two parcels are the same: by a key, and the content that it was first used for.

use aws_lc_rs::digest::{Context, SHA256};
use gancho_domain::Time;

/// A key under which a parcel is accepted once per tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// SHA-256 of the caller's key, with the kind of the key.
    pub key: [u8; 32],
    /// SHA-256 of the content: the same key with other content is a clash.
    pub content: [u8; 32],
    /// How long the key is remembered at least: it ends when upkeep passes a later time, see
    /// [`crate::Upkeep::prune`].
    pub until: Time,
}

/// One part of the hashed data. A missing part differs from an empty one.
type Part<'a> = Option<&'a [u8]>;

impl IdempotencyKey {
    /// `key` is the kind of the key, then the caller's key.
    pub fn new(key: &[Part<'_>], content: &[Part<'_>], until: Time) -> Self {
        Self { key: hash(key), content: hash(content), until }
    }

    /// Creates a key that alone decides: any content under it is the same.
    pub fn of_key(key: &[Part<'_>], until: Time) -> Self {
        let key = hash(key);
        Self { key, content: key, until }
    }
}

/// Returns the SHA-256 of all parts, each preceded by its length.
fn hash(parts: &[Part<'_>]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        let length = part.map_or(u64::MAX, |part| part.len() as u64);
        context.update(&length.to_be_bytes());
        context.update(part.unwrap_or_default());
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        let all = [
            hash(&[]),
            hash(&[None]),
            hash(&[Some(b"")]),
            hash(&[Some(b"ab"), Some(b"c")]),
            hash(&[Some(b"a"), Some(b"bc")]),
            hash(&[Some(b"abc"), None]),
            hash(&[Some(b"abc"), Some(b"")]),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "{at}");
        }
    }

    /// Keys are in the stores: another hash would forget them all.
    #[test]
    fn the_hash_stays_what_it_was() {
        let once = IdempotencyKey::new(
            &[Some(b"publish"), Some(b"k1")],
            &[Some(b"a.b"), None],
            Time::from_secs(1),
        );
        assert_eq!(once.key[..8], [0xc5, 0x33, 0xa9, 0x53, 0xc6, 0x97, 0x32, 0x48]);
        assert_eq!(once.content[..8], [0xd2, 0x45, 0x0b, 0x1a, 0xa0, 0x3d, 0xa3, 0x56]);
    }
}
