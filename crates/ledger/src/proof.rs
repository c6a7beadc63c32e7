//! Short proofs that can be checked without the ledger (RFC 6962, 2.1): a few dozen hashes for a billion
//! lines.

use crate::{
    hash::Hash,
    tree::{root_of, split},
};

/// Proof that a line is in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// The line's number, from 1.
    pub number: u64,
    /// The number of lines in the tree.
    pub size: u64,
    /// The hashes from the leaf upwards.
    pub path: Vec<Hash>,
}

impl InclusionProof {
    /// Makes a proof; `None` if the line is not among the leaves.
    pub fn make(leaves: &[Hash], number: u64) -> Option<Self> {
        let place = number.checked_sub(1)?;
        (place < leaves.len() as u64).then(|| {
            let mut path = Vec::new();
            climb(leaves, place, &mut path);
            Self { number, size: leaves.len() as u64, path }
        })
    }

    /// Returns the root that this proof computes from a leaf; `None` if it has too few or too many steps.
    pub fn root(&self, leaf: Hash) -> Option<Hash> {
        let place = self.number.checked_sub(1).filter(|place| *place < self.size)?;
        let mut path = self.path.iter();
        let root = fold(leaf, place, self.size, &mut path)?;
        path.next().is_none().then_some(root)
    }
}

fn climb(leaves: &[Hash], place: u64, path: &mut Vec<Hash>) {
    if leaves.len() < 2 {
        return;
    }
    let middle = split(leaves.len() as u64);
    let (left, right) = leaves.split_at(middle as usize);
    if place < middle {
        climb(left, place, path);
        path.push(root_of(right));
    } else {
        climb(right, place - middle, path);
        path.push(root_of(left));
    }
}

fn fold<'a>(
    leaf: Hash,
    place: u64,
    size: u64,
    path: &mut impl Iterator<Item = &'a Hash>,
) -> Option<Hash> {
    if size == 1 {
        return Some(leaf);
    }
    let middle = split(size);
    if place < middle {
        let left = fold(leaf, place, middle, path)?;
        Some(Hash::of_node(&left, path.next()?))
    } else {
        let right = fold(leaf, place - middle, size - middle, path)?;
        Some(Hash::of_node(path.next()?, &right))
    }
}

/// Proof that a later tree extends an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    pub old_size: u64,
    pub new_size: u64,
    pub path: Vec<Hash>,
}

impl ConsistencyProof {
    /// Proves that the tree over all leaves extends the tree over the first `old_size` leaves.
    pub fn make(leaves: &[Hash], old_size: u64) -> Option<Self> {
        let new_size = leaves.len() as u64;
        if old_size > new_size {
            return None;
        }
        let mut path = Vec::new();
        if old_size > 0 && old_size < new_size {
            descend(leaves, old_size, true, &mut path);
        }
        Some(Self { old_size, new_size, path })
    }

    /// Whether the proof leads from one root to the other.
    pub fn holds(&self, old: Hash, new: Hash) -> bool {
        if self.old_size > self.new_size {
            return false;
        }
        if self.old_size == 0 {
            return self.path.is_empty() && old == Hash::empty();
        }
        if self.old_size == self.new_size {
            return self.path.is_empty() && old == new;
        }
        let mut path = self.path.iter();
        let roots = rebuild(self.old_size, self.new_size, old, true, &mut path);
        path.next().is_none() && roots == Some((old, new))
    }
}

/// `whole` means that the part so far is all of the old tree, whose root the reader knows.
fn descend(leaves: &[Hash], old_size: u64, whole: bool, path: &mut Vec<Hash>) {
    if old_size == leaves.len() as u64 {
        if !whole {
            path.push(root_of(leaves));
        }
        return;
    }
    let middle = split(leaves.len() as u64);
    let (left, right) = leaves.split_at(middle as usize);
    if old_size <= middle {
        descend(left, old_size, whole, path);
        path.push(root_of(right));
    } else {
        descend(right, old_size - middle, false, path);
        path.push(root_of(left));
    }
}

/// Returns the roots of the old part and of the new one.
fn rebuild<'a>(
    old_size: u64,
    new_size: u64,
    known: Hash,
    whole: bool,
    path: &mut impl Iterator<Item = &'a Hash>,
) -> Option<(Hash, Hash)> {
    if old_size == new_size {
        let root = if whole { known } else { *path.next()? };
        return Some((root, root));
    }
    let middle = split(new_size);
    if old_size <= middle {
        let (old, new) = rebuild(old_size, middle, known, whole, path)?;
        Some((old, Hash::of_node(&new, path.next()?)))
    } else {
        let (old, new) = rebuild(old_size - middle, new_size - middle, known, false, path)?;
        let left = path.next()?;
        Some((Hash::of_node(left, &old), Hash::of_node(left, &new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count).map(|n| Hash::of_leaf(&n.to_be_bytes())).collect()
    }

    #[test]
    fn every_line_of_every_small_tree_is_proved_and_no_other() {
        for size in 1..40 {
            let leaves = leaves(size);
            let root = root_of(&leaves);
            for number in 1..=size {
                let proof = InclusionProof::make(&leaves, number).unwrap();
                assert_eq!(proof.root(leaves[number as usize - 1]), Some(root), "{number}/{size}");
                let other = Hash::of_leaf(b"another");
                assert_ne!(proof.root(other), Some(root));
                let mut long = proof.clone();
                long.path.push(other);
                assert_eq!(long.root(leaves[number as usize - 1]), None);
                if size > 1 {
                    let moved = InclusionProof { number: number % size + 1, ..proof };
                    assert_ne!(moved.root(leaves[number as usize - 1]), Some(root));
                }
            }
            assert_eq!(InclusionProof::make(&leaves, 0), None);
            assert_eq!(InclusionProof::make(&leaves, size + 1), None);
        }
    }

    #[test]
    fn a_tree_is_shown_to_grow_from_each_of_its_beginnings() {
        for size in 1..40 {
            let leaves = leaves(size);
            let new = root_of(&leaves);
            for old_size in 0..=size {
                let old = root_of(&leaves[..old_size as usize]);
                let proof = ConsistencyProof::make(&leaves, old_size).unwrap();
                assert!(proof.holds(old, new), "{old_size}/{size}");
                assert!(!proof.holds(Hash::of_leaf(b"another"), new));
                if old_size > 0 {
                    assert!(!proof.holds(old, Hash::of_leaf(b"another")));
                }
            }
            assert_eq!(ConsistencyProof::make(&leaves, size + 1), None);
        }
    }

    #[test]
    fn a_rewritten_past_is_not_consistent() {
        let honest = leaves(20);
        let old = root_of(&honest[..11]);
        let mut forged = honest.clone();
        forged[3] = Hash::of_leaf(b"forged");
        let proof = ConsistencyProof::make(&forged, 11).unwrap();
        assert!(!proof.holds(old, root_of(&forged)));
    }
}
