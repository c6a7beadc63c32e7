//! Builds the proof of one line in one pass over all lines, without storing them: a proof for a billion
//! lines needs a few hundred hashes in memory.

use std::ops::Range;

use crate::{
    hash::Hash,
    proof::InclusionProof,
    tree::{Tree, split},
};

#[derive(Debug)]
pub struct Prover {
    number: u64,
    size: u64,
    /// How many leaves were pushed.
    seen: u64,
    /// The subtrees beside the path from the leaf to the root, from the leaf upwards.
    beside: Vec<(Range<u64>, Tree)>,
    /// The index of the subtree that got the last leaf.
    current: usize,
}

impl Prover {
    /// Starts a proof that line `number`, from 1, is among the first `size`. `None` if it cannot be.
    pub fn new(number: u64, size: u64) -> Option<Self> {
        let place = number.checked_sub(1).filter(|place| *place < size)?;
        let mut beside = Vec::new();
        climb(0..size, place, &mut beside);
        Some(Self { number, size, seen: 0, beside, current: 0 })
    }

    /// Adds the next leaf. Leaves that are not needed are ignored.
    pub fn push(&mut self, leaf: Hash) {
        let place = self.seen;
        self.seen += 1;
        let holds = |(range, _): &(Range<u64>, Tree)| range.contains(&place);
        if !self.beside.get(self.current).is_some_and(holds) {
            match self.beside.iter().position(holds) {
                Some(found) => self.current = found,
                // The line itself, or one after the end.
                None => return,
            }
        }
        if let Some((_, tree)) = self.beside.get_mut(self.current) {
            tree.push(leaf);
        }
    }

    /// Returns the proof; `None` if leaves are missing.
    pub fn finish(self) -> Option<InclusionProof> {
        (self.seen >= self.size).then(|| InclusionProof {
            number: self.number,
            size: self.size,
            path: self.beside.iter().map(|(_, tree)| tree.root()).collect(),
        })
    }
}

fn climb(whole: Range<u64>, place: u64, beside: &mut Vec<(Range<u64>, Tree)>) {
    let size = whole.end - whole.start;
    if size < 2 {
        return;
    }
    let middle = whole.start + split(size);
    let (left, right) = (whole.start..middle, middle..whole.end);
    let (mine, other) = if place < middle { (left, right) } else { (right, left) };
    climb(mine, place, beside);
    beside.push((other, Tree::default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_makes_what_is_made_of_all_leaves_at_once() {
        let leaves: Vec<Hash> = (0_u64..40).map(|n| Hash::of_leaf(&n.to_be_bytes())).collect();
        for size in 1..=leaves.len() {
            for number in 1..=size as u64 {
                let mut prover = Prover::new(number, size as u64).unwrap();
                // There may be more lines than the checkpoint covers.
                for leaf in &leaves {
                    prover.push(*leaf);
                }
                let whole = InclusionProof::make(&leaves[..size], number);
                assert_eq!(prover.finish(), whole, "{number}/{size}");
            }
        }
    }

    #[test]
    fn a_line_that_is_not_there_is_not_proved() {
        assert!(Prover::new(0, 5).is_none());
        assert!(Prover::new(6, 5).is_none());
        let mut short = Prover::new(1, 2).unwrap();
        short.push(Hash::of_leaf(b"only one"));
        assert_eq!(short.finish(), None);
    }
}
