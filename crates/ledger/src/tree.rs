//! The Merkle tree over the lines (RFC 6962): its root commits to all of them.
//!
//! Only the roots of its full subtrees are stored, one for each set bit of the size: a tree over a billion
//! lines has at most thirty hashes, and adding a line changes two of them on average.

use crate::hash::Hash;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    size: u64,
    /// The roots of the full subtrees, largest first.
    peaks: Vec<Hash>,
}

impl Tree {
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        // Each trailing one-bit is a full subtree that this leaf completes together with another.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.peaks.pop() {
                node = Hash::of_node(&left, &node);
            }
        }
        self.peaks.push(node);
        self.size += 1;
    }

    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else { return Hash::empty() };
        peaks.fold(*last, |right, left| Hash::of_node(left, &right))
    }

    /// Returns the peaks, to store and restore the tree.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Restores a tree; `None` if the number of peaks does not match the size.
    pub fn resume(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }
}

impl Extend<Hash> for Tree {
    fn extend<I: IntoIterator<Item = Hash>>(&mut self, leaves: I) {
        leaves.into_iter().for_each(|leaf| self.push(leaf));
    }
}

impl FromIterator<Hash> for Tree {
    fn from_iter<I: IntoIterator<Item = Hash>>(leaves: I) -> Self {
        let mut tree = Self::default();
        tree.extend(leaves);
        tree
    }
}

/// Returns the root over these leaves.
pub(crate) fn root_of(leaves: &[Hash]) -> Hash {
    leaves.iter().copied().collect::<Tree>().root()
}

/// Returns where a tree of this size is split: the largest power of two below it.
pub(crate) fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leaves and roots of the reference implementation of Certificate Transparency.
    #[test]
    fn agrees_with_the_reference() {
        let leaves: [&[u8]; 8] = [
            b"",
            &[0x00],
            &[0x10],
            &[0x20, 0x21],
            &[0x30, 0x31],
            &[0x40, 0x41, 0x42, 0x43],
            &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
            &[
                0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
                0x6e, 0x6f,
            ],
        ];
        let starts = ["6e340b9c", "fac54203", "aeb6bcfe"];
        let mut tree = Tree::default();
        assert!(tree.root().hex().starts_with("e3b0c442"));
        for (place, leaf) in leaves.iter().enumerate() {
            tree.push(Hash::of_leaf(leaf));
            if let Some(start) = starts.get(place) {
                assert!(tree.root().hex().starts_with(start), "{}", place + 1);
            }
            if place == 6 {
                assert!(tree.root().hex().starts_with("ddb89be4"));
            }
        }
        assert_eq!(
            tree.root().hex(),
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
        );
    }

    #[test]
    fn a_tree_goes_on_from_its_peaks() {
        let leaves: Vec<Hash> = (0_u64..100).map(|n| Hash::of_leaf(&n.to_be_bytes())).collect();
        for cut in 0..=leaves.len() {
            let first: Tree = leaves[..cut].iter().copied().collect();
            let mut second = Tree::resume(first.size(), first.peaks().to_vec()).unwrap();
            second.extend(leaves[cut..].iter().copied());
            assert_eq!(second.root(), root_of(&leaves), "{cut}");
        }
        assert_eq!(Tree::resume(3, vec![Hash::empty()]), None);
    }

    #[test]
    fn it_is_split_at_the_largest_power_of_two_below() {
        for (size, left) in [(2, 1), (3, 2), (4, 2), (5, 4), (8, 4), (9, 8), (1 << 40, 1 << 39)] {
            assert_eq!(split(size), left, "{size}");
        }
    }
}
