//! The steps that wait for a transaction, and the choice of the next.

use std::collections::VecDeque;

use super::{Step, Work};

/// Maximum steps in one transaction. More would make the first of them wait too long.
pub(super) const MAX: usize = 1_024;
/// Maximum steps in one transaction that add nothing. A publisher waits for its commit, but no caller waits
/// for the result of an attempt, and thousands may come at once.
const MAX_UPKEEP: usize = 512;

/// Steps that are in no transaction yet.
#[derive(Default)]
pub(super) struct Waiting {
    growth: VecDeque<(Step, Box<dyn Work>)>,
    upkeep: VecDeque<(Step, Box<dyn Work>)>,
}

impl Waiting {
    pub fn push(&mut self, step: (Step, Box<dyn Work>)) {
        match step.0 {
            Step::Growth => self.growth.push_back(step),
            Step::Upkeep => self.upkeep.push_back(step),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.growth.is_empty() && self.upkeep.is_empty()
    }

    /// Returns how many steps the next transaction takes.
    pub fn len(&self) -> usize {
        self.growth.len().min(MAX - MAX_UPKEEP) + self.upkeep.len().min(MAX_UPKEEP)
    }

    pub fn take_all(&mut self) -> impl Iterator<Item = (Step, Box<dyn Work>)> {
        self.growth.drain(..).chain(self.upkeep.drain(..))
    }

    /// Returns the steps for the next transaction, those that add something first.
    pub fn take(&mut self) -> Vec<(Step, Box<dyn Work>)> {
        let growth = self.growth.len().min(MAX - MAX_UPKEEP);
        let upkeep = self.upkeep.len().min(MAX_UPKEEP);
        self.growth.drain(..growth).chain(self.upkeep.drain(..upkeep)).collect()
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
    }

    #[test]
    fn thousands_of_results_do_not_go_before_what_is_published() {
        let mut waiting = Waiting::default();
        for _ in 0..5_000 {
            waiting.push((Step::Upkeep, Box::new(Nothing)));
        }
        for _ in 0..10 {
            waiting.push((Step::Growth, Box::new(Nothing)));
        }
        let first = waiting.take();
        assert_eq!(first.len(), 10 + MAX_UPKEEP);
        assert!(first[..10].iter().all(|(step, _)| *step == Step::Growth));
        assert_eq!(waiting.len(), MAX_UPKEEP);
        assert_eq!(waiting.take_all().count(), 5_000 - MAX_UPKEEP, "none is lost");
        assert!(waiting.is_empty());
    }
}
