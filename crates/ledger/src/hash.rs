//! SHA-256 with domain separation, so that a line can never be confused with a node.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::{BASE64, HEXLOWER};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

/// The domain-separation bytes. The first two are those of RFC 6962.
const LEAF: u8 = 0;
const NODE: u8 = 1;
const LINK: u8 = 2;

impl Hash {
    /// Returns the root of a tree without leaves: the hash of nothing.
    pub fn empty() -> Self {
        digest(&[])
    }

    pub fn of_leaf(entry: &[u8]) -> Self {
        digest(&[&[LEAF], entry])
    }

    pub fn of_node(left: &Self, right: &Self) -> Self {
        digest(&[&[NODE], &left.0, &right.0])
    }

    /// Hashes a line's link, which covers the link before it and the line.
    pub fn of_link(before: &Self, leaf: &Self) -> Self {
        digest(&[&[LINK], &before.0, &leaf.0])
    }

    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    pub fn base64(&self) -> String {
        BASE64.encode(&self.0)
    }

    pub fn from_base64(text: &str) -> Option<Self> {
        Some(Self(BASE64.decode(text.as_bytes()).ok()?.try_into().ok()?))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

fn digest(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    Hash(bytes)
}
