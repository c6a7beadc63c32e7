//! What makes two parcels the same: a key, and the content that it was first used for.

use aws_lc_rs::digest::{Context, SHA256};
use gancho_domain::Time;

/// A key under which something is accepted once, per tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// SHA-256 of what the caller calls the key, with what it is a key of.
    pub key: [u8; 32],
    /// SHA-256 of the content: the same key with another content is a clash.
    pub content: [u8; 32],
    /// How long the key is remembered at least: it ends when upkeep names a later time, see
    /// [`crate::Upkeep::prune`].
    pub until: Time,
}

/// One part of what is hashed. One that is not there differs from an empty one.
type Part<'a> = Option<&'a [u8]>;

impl IdempotencyKey {
    /// `key` is what the caller calls the key, with what it is a key of before it.
    pub fn new(key: &[Part<'_>], content: &[Part<'_>], until: Time) -> Self {
        Self { key: hash(key), content: hash(content), until }
    }

    /// The key alone decides: whatever comes under it later is the same.
    pub fn of_key(key: &[Part<'_>], until: Time) -> Self {
        let key = hash(key);
        Self { key, content: key, until }
    }
}

/// SHA-256 of all parts, each with its length before it.
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
