//! The steps that wait for a transaction, and the choice of the next.

use std::collections::VecDeque;

use super::{
    Call, Step, Work,
    turns::{MAX_ROWS, Turns},
};

/// Maximum steps in one transaction. More would make the first of them wait too long.
pub(super) const MAX: usize = 1_024;
/// Maximum steps in one transaction that add nothing. A publisher waits for its commit, but no caller waits
/// for the result of an attempt, and thousands may come at once.
const MAX_UPKEEP: usize = 512;

/// Steps that are in no transaction yet.
#[derive(Default)]
pub(super) struct StepQueue {
    growth: VecDeque<(Step, Box<dyn Work>)>,
    upkeep: VecDeque<(Step, Box<dyn Work>)>,
    turns: Turns,
}

impl StepQueue {
    pub fn push(&mut self, Call { kind, share, work }: Call) {
        match (share, kind) {
            (Some(share), _) => self.turns.push(share, (kind, work)),
            (None, Step::Growth) => self.growth.push_back((kind, work)),
            (None, Step::Upkeep) => self.upkeep.push_back((kind, work)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.growth.is_empty() && self.upkeep.is_empty() && self.turns.is_empty()
    }

    /// Returns about how many steps the next transaction takes.
    pub fn len(&self) -> usize {
        let (growth, upkeep) = (self.growth.len(), self.upkeep.len());
        growth.min(MAX - MAX_UPKEEP) + upkeep.min(MAX_UPKEEP) + self.turns.len()
    }

    pub fn take_all(&mut self) -> impl Iterator<Item = (Step, Box<dyn Work>)> {
        self.growth.drain(..).chain(self.turns.take_all()).chain(self.upkeep.drain(..))
    }

    /// Returns the steps for the next transaction: those of publishing first, then those that callers cause in
    /// turn, then the gateway's others.
    pub fn take(&mut self) -> Vec<(Step, Box<dyn Work>)> {
        let growth = self.growth.len().min(MAX - MAX_UPKEEP);
        let upkeep = self.upkeep.len().min(MAX_UPKEEP);
        let mut taken = Vec::with_capacity(growth + upkeep + self.turns.len().min(MAX_ROWS));
        taken.extend(self.growth.drain(..growth));
        self.turns.take(&mut taken);
        taken.extend(self.upkeep.drain(..upkeep));
        taken
    }
}

#[cfg(test)]
mod tests {
    use gancho_store::Result;

    use super::*;
    use crate::{transaction::Tx, tx_error::TxError};

    struct Nothing;

    impl Work for Nothing {
        fn run(&mut self, _: &Tx<'_>) -> Result<(), TxError> {
            Ok(())
        }

        fn answer(self: Box<Self>, _: Result<()>) {}

        fn is_abandoned(&self) -> bool {
            false
        }
    }

    #[test]
    fn thousands_of_results_do_not_go_before_what_is_published() {
        let mut waiting = StepQueue::default();
        let mut push = |kind| waiting.push(Call { kind, share: None, work: Box::new(Nothing) });
        for _ in 0..5_000 {
            push(Step::Upkeep);
        }
        for _ in 0..10 {
            push(Step::Growth);
        }
        let first = waiting.take();
        assert_eq!(first.len(), 10 + MAX_UPKEEP);
        assert!(first[..10].iter().all(|(step, _)| *step == Step::Growth));
        assert_eq!(waiting.len(), MAX_UPKEEP);
        assert_eq!(waiting.take_all().count(), 5_000 - MAX_UPKEEP, "none is lost");
        assert!(waiting.is_empty());
    }
}
