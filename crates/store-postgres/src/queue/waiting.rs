//! The calls that wait for a transaction, and which of them are next.
//!
//! A transaction takes as long as its rows, and a publisher waits for it. So the results of attempts, which keep
//! nobody waiting and may come by the thousand, do not fill a transaction that someone waits for, and calls with few
//! rows do not wait for the rows of large ones: those have a transaction of their own, on the next committer.

use std::collections::VecDeque;

use super::Call;
use crate::batch::Work;

/// A transaction takes no more than this, unless one call alone is larger.
pub(super) const MAX_ROWS: usize = 1_024;
const MAX_BYTES: usize = 8 << 20;
/// Results in a transaction that a publisher waits for.
const MAX_RESULTS_BESIDE: usize = 128;
/// A call with more rows is a large one.
const FEW: usize = 16;
/// Rows of large calls in a transaction, unless one call alone has more.
const MAX_LARGE: usize = 256;
/// The same where calls with few rows are in it too.
const MAX_LARGE_BESIDE: usize = 128;

#[derive(Default)]
pub(super) struct Waiting {
    publishing: VecDeque<Call>,
    results: VecDeque<Call>,
}

impl Waiting {
    pub fn push(&mut self, call: Call) {
        match call.work {
            Work::Accept(..) | Work::Report(..) => self.publishing.push_back(call),
            Work::Settle(..) | Work::Release(..) => self.results.push_back(call),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.publishing.is_empty() && self.results.is_empty()
    }

    pub fn rows(&self) -> usize {
        self.publishing.iter().chain(&self.results).map(|call| call.rows).sum()
    }

    /// Moves what fits into the transaction, at least one call if it has none yet.
    pub fn take(&mut self, into: &mut Transaction, max_rows: usize) {
        let mut passed_over = VecDeque::new();
        while let Some(call) = self.publishing.pop_front() {
            if !into.has_place_beside(&call) {
                passed_over.push_back(call);
            } else if into.fits(&call, max_rows) {
                into.add(call);
            } else {
                passed_over.push_back(call);
                break;
            }
        }
        passed_over.append(&mut self.publishing);
        self.publishing = passed_over;
        while let Some(call) = self.results.pop_front() {
            let is_full = into.is_awaited() && into.result_rows >= MAX_RESULTS_BESIDE;
            if is_full || !into.fits(&call, max_rows) {
                self.results.push_front(call);
                break;
            }
            into.add(call);
        }
    }
}

/// Calls for one transaction.
#[derive(Default)]
pub(crate) struct Transaction {
    pub calls: Vec<Call>,
    rows: usize,
    bytes: usize,
    result_rows: usize,
    /// Of large calls.
    large_rows: usize,
}

impl Transaction {
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Whether a publisher waits for it.
    const fn is_awaited(&self) -> bool {
        self.rows > self.result_rows
    }

    /// Whether a call that publishes may go with those that are in it.
    const fn has_place_beside(&self, call: &Call) -> bool {
        let has_small = self.rows > self.result_rows + self.large_rows;
        if call.rows <= FEW {
            self.large_rows <= MAX_LARGE_BESIDE
        } else if has_small {
            self.large_rows + call.rows <= MAX_LARGE_BESIDE
        } else {
            self.large_rows == 0 || self.large_rows + call.rows <= MAX_LARGE
        }
    }

    fn fits(&self, call: &Call, max_rows: usize) -> bool {
        self.calls.is_empty()
            || (self.rows + call.rows <= max_rows && self.bytes + call.bytes <= MAX_BYTES)
    }

    fn add(&mut self, call: Call) {
        self.rows += call.rows;
        self.bytes += call.bytes;
        match call.work {
            Work::Accept(..) | Work::Report(..) if call.rows <= FEW => {}
            Work::Accept(..) | Work::Report(..) => self.large_rows += call.rows,
            Work::Settle(..) | Work::Release(..) => self.result_rows += call.rows,
        }
        self.calls.push(call);
    }
}

#[cfg(test)]
mod tests {
    use gancho_store::NodeId;
    use tokio::sync::oneshot;

    use super::*;

    const NODE: NodeId = NodeId(1);

    fn publish(rows: usize) -> Call {
        Call { work: Work::Accept(Vec::new(), NODE), reply: oneshot::channel().0, rows, bytes: 0 }
    }

    fn result() -> Call {
        let work = Work::Settle(NODE, Vec::new());
        Call { work, reply: oneshot::channel().0, rows: 1, bytes: 0 }
    }

    fn waiting(calls: impl IntoIterator<Item = Call>) -> Waiting {
        let mut waiting = Waiting::default();
        calls.into_iter().for_each(|call| waiting.push(call));
        waiting
    }

    /// The rows of each call, publishers first.
    fn next(waiting: &mut Waiting) -> (Vec<usize>, usize) {
        let mut next = Transaction::default();
        waiting.take(&mut next, MAX_ROWS);
        let is_publish = |call: &&Call| matches!(call.work, Work::Accept(..));
        let publishes = next.calls.iter().filter(is_publish).map(|call| call.rows).collect();
        (publishes, next.result_rows)
    }

    #[test]
    fn thousands_of_results_do_not_fill_the_transaction_of_a_publisher() {
        let results = std::iter::repeat_with(result).take(2_000);
        let mut waiting = waiting(results.chain([publish(2), publish(3)]));
        assert_eq!(next(&mut waiting), (vec![2, 3], MAX_RESULTS_BESIDE));
        assert_eq!(next(&mut waiting), (vec![], MAX_ROWS), "by themselves they do");
        assert_eq!(waiting.rows(), 2_000 - MAX_RESULTS_BESIDE - MAX_ROWS, "none is lost");
    }

    #[test]
    fn calls_with_few_rows_do_not_wait_for_those_of_large_ones() {
        let mut waiting = waiting([publish(2), publish(500), publish(3), publish(256), publish(4)]);
        assert_eq!(next(&mut waiting), (vec![2, 3, 4], 0), "they pass them");
        assert_eq!(next(&mut waiting), (vec![500], 0));
        assert_eq!(next(&mut waiting), (vec![256], 0));
        assert!(waiting.is_empty());
    }

    #[test]
    fn large_calls_share_a_transaction_within_a_bound() {
        let mut waiting = waiting([publish(2)].into_iter().chain((0..20).map(|_| publish(21))));
        assert_eq!(next(&mut waiting), (vec![2, 21, 21, 21, 21, 21, 21], 0));
        assert_eq!(next(&mut waiting), (vec![21; 12], 0));
        assert_eq!(next(&mut waiting), (vec![21; 2], 0));
    }

    #[test]
    fn the_first_in_line_is_never_passed_over() {
        let mut waiting = waiting([publish(5_000), publish(2)]);
        assert_eq!(next(&mut waiting), (vec![5_000], 0), "however large it is");
        assert_eq!(next(&mut waiting), (vec![2], 0));
    }
}
