//! The steps that callers cause, in turn: each account has its own queue, and a transaction takes a bounded
//! number of rows of all of them.
//!
//! So a commit takes no longer however many calls there are, and what a tenant has waiting delays its own calls
//! only. Steps with many rows have a budget of their own: one with few waits for no more than a turn of each
//! other account, however much the others write.

use std::collections::{VecDeque, hash_map::Entry};

use gancho_domain::IdMap;
use gancho_store::{Account, StoreError};

use super::{Step, Work};

/// Maximum rows that one transaction writes: of steps with few rows, and of steps with many. A step with more
/// has a transaction's budget alone.
pub(super) const MAX_ROWS: usize = 256;
/// A step with more rows is a step with many rows.
const FEW: usize = 16;
/// Maximum waiting steps of one account. More are refused with [`StoreError::Busy`].
const MAX_WAITING: usize = 1_024;

const PAGE_BYTES: usize = 4 << 10;

/// The account that a step takes its turn for, and about how many rows it writes. A full page counts as a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    pub account: Account,
    pub rows: usize,
}

/// Returns how many pages a value of this size fills, besides its row.
pub(crate) fn pages(bytes: usize) -> usize {
    bytes / PAGE_BYTES
}

#[derive(Default)]
pub(super) struct Turns {
    queues: IdMap<Account, VecDeque<SharedStep>>,
    /// The accounts whose next step has few rows, in the order of their turns.
    few: VecDeque<Account>,
    /// Those whose next step has many.
    many: VecDeque<Account>,
    steps: usize,
    rows: usize,
}

struct SharedStep {
    rows: usize,
    step: (Step, Box<dyn Work>),
}

impl Turns {
    pub fn push(&mut self, share: Share, step: (Step, Box<dyn Work>)) {
        let Share { account, rows } = share;
        let new = SharedStep { rows: rows.max(1), step };
        if self.queues.get(&account).is_some_and(|queue| queue.len() >= MAX_WAITING)
            && !self.make_room(account)
        {
            let why = format!("{MAX_WAITING} calls of this tenant are waiting already");
            return new.step.1.answer(Err(StoreError::Busy(why)));
        }
        self.steps += 1;
        self.rows += new.rows;
        let queue = self.queues.entry(account).or_default();
        queue.push_back(new);
        if queue.len() == 1 {
            self.line_up(account, rows.max(1));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// Returns about how many steps the next transaction takes.
    pub fn len(&self) -> usize {
        if self.rows <= MAX_ROWS { self.steps } else { self.steps * MAX_ROWS / self.rows }
    }

    pub fn take_all(&mut self) -> impl Iterator<Item = (Step, Box<dyn Work>)> + use<> {
        let all = std::mem::take(self);
        all.queues.into_values().flatten().map(|next| next.step)
    }

    /// Adds the steps for the next transaction.
    pub fn take(&mut self, into: &mut Vec<(Step, Box<dyn Work>)>) {
        let mut rows = 0;
        while rows < MAX_ROWS
            && let Some(account) = self.few.pop_front()
        {
            rows += self.take_next(account, into);
        }
        rows = 0;
        while let Some(account) = self.many.pop_front() {
            let next = self.queues.get(&account).and_then(VecDeque::front);
            if rows > 0 && next.is_some_and(|next| rows + next.rows > MAX_ROWS) {
                self.many.push_front(account);
                return;
            }
            rows += self.take_next(account, into);
        }
    }

    /// Takes the account's next step, and lines the account up for the one after it. Returns its rows.
    fn take_next(&mut self, account: Account, into: &mut Vec<(Step, Box<dyn Work>)>) -> usize {
        let Entry::Occupied(mut queue) = self.queues.entry(account) else { return 0 };
        let Some(SharedStep { rows, step }) = queue.get_mut().pop_front() else { return 0 };
        self.steps -= 1;
        self.rows -= rows;
        match queue.get().front().map(|next| next.rows) {
            Some(next) => self.line_up(account, next),
            None => drop(queue.remove()),
        }
        into.push(step);
        rows
    }

    fn line_up(&mut self, account: Account, rows: usize) {
        let line = if rows > FEW { &mut self.many } else { &mut self.few };
        line.push_back(account);
    }

    /// Drops the steps of callers that have gone away, except the first, which has its place in the order of
    /// turns. Returns whether there is room.
    fn make_room(&mut self, account: Account) -> bool {
        let Some(queue) = self.queues.get_mut(&account) else { return true };
        let mut place = 0;
        queue.retain(|waiting| {
            place += 1;
            let stays = place == 1 || !waiting.step.1.is_abandoned();
            if !stays {
                self.steps -= 1;
                self.rows -= waiting.rows;
            }
            stays
        });
        queue.len() < MAX_WAITING
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
