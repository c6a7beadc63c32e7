//! The hash chain: each line is linked to the one before, so changing one invalidates every link after it.

use crate::hash::Hash;

/// A stored line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of the line, from 1, without gaps.
    pub number: u64,
    pub entry: Vec<u8>,
    pub link: Hash,
}

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub number: u64,
    pub link: Hash,
}

impl Head {
    /// The head before the first line.
    pub fn start() -> Self {
        Self { number: 0, link: Hash::empty() }
    }

    /// Appends `entry`. The number is part of the hash, so that a line cannot be moved.
    pub fn next(&self, entry: Vec<u8>) -> Line {
        let number = self.number + 1;
        let link = Hash::of_link(&self.link, &leaf(number, &entry));
        Line { number, entry, link }
    }
}

impl Line {
    pub fn head(&self) -> Head {
        Head { number: self.number, link: self.link }
    }

    /// Returns the leaf hash in the tree.
    pub fn leaf(&self) -> Hash {
        leaf(self.number, &self.entry)
    }
}

/// Hashes a line. The number comes before the entry, so that two lines with the same entry are different
/// leaves.
pub fn leaf(number: u64, entry: &[u8]) -> Hash {
    let mut bytes = Vec::with_capacity(8 + entry.len());
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes.extend_from_slice(entry);
    Hash::of_leaf(&bytes)
}
