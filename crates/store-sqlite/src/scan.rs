//! A bounded scan of the log, newest first or oldest first.
//!
//! A list is found on one or more scans: the time buckets of a lane, an index, the deliveries of a parcel.
//! [`Search`] follows all of them at once and returns the matching rows, newest first. It stops when the page
//! is full, at the end, or when it has scanned the maximum number of rows of a page; then it returns where
//! the next page continues. So the cost of a page is bounded whatever the filter.
//!
//! A search always goes from greater keys down. Newest first, the key of a row is its number; oldest first,
//! the number negated (see [`Direction`]).

use std::collections::VecDeque;

use gancho_store::ListOrder;

use crate::tx_error::TxError;

/// The order in which a list reads rows, whose numbers rise with time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Direction(pub ListOrder);

impl Direction {
    /// Returns the key of a row in a search, and the row of a key.
    pub fn key(self, row: i64) -> i64 {
        match self.0 {
            ListOrder::NewestFirst => row,
            ListOrder::OldestFirst => -row,
        }
    }

    pub fn word(self) -> &'static str {
        match self.0 {
            ListOrder::NewestFirst => "DESC",
            ListOrder::OldestFirst => "ASC",
        }
    }

    /// Returns the key below which a page begins: the first page of rows from `first` up to but not including
    /// `end`, or the page after a row.
    pub fn start(self, after: Option<i64>, first: i64, end: i64) -> i64 {
        let bound = match self.0 {
            ListOrder::NewestFirst => end,
            ListOrder::OldestFirst => self.key(first - 1),
        };
        after.map_or(bound, |row| self.key(row).min(bound))
    }

    /// Returns the range of rows (from the first, up to but not including the second) whose keys are below
    /// this one, of those from `first` on and before `end`.
    pub fn rows_below(self, key: i64, first: i64, end: i64) -> (i64, i64) {
        match self.0 {
            ListOrder::NewestFirst => (first, key.min(end)),
            ListOrder::OldestFirst => (first.max(1_i64.saturating_sub(key)), end),
        }
    }

    pub fn is_newest_first(self) -> bool {
        self.0 == ListOrder::NewestFirst
    }
}

/// How many more rows a page may scan.
#[derive(Debug)]
pub(crate) struct ScanBudget {
    left: usize,
}

/// The cost of reading the parcel of a row, in rows that are merely skipped.
pub(crate) const PARCEL_COST: usize = 8;
/// The cost of searching the body of a parcel.
pub(crate) const BODY_COST: usize = 50;
/// When the page is full, the scan goes at most this far to find out whether there is another page.
const FOR_ANOTHER_PAGE: usize = 1_000;

impl ScanBudget {
    pub fn new(max: usize) -> Self {
        Self { left: max.max(1) }
    }

    pub fn spend(&mut self, rows: usize) {
        self.left = self.left.saturating_sub(rows);
    }

    pub fn are_spent(&self) -> bool {
        self.left == 0
    }

    /// Limits the scan, because the page is full.
    pub fn only_for_another_page(&mut self) {
        self.left = self.left.min(FOR_ANOTHER_PAGE);
    }
}

/// Finds rows in one place, in the order of their keys, from the greatest down.
pub(crate) trait RowScan {
    /// Scans up to `step` rows below a key, or fewer if they are costly. Adds the keys of matching rows to
    /// `found`, and returns how far it came.
    fn follow(
        &self,
        below: i64,
        step: usize,
        budget: &mut ScanBudget,
        found: &mut VecDeque<i64>,
    ) -> Result<ScanExtent, TxError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanExtent {
    /// Every row from here on up was scanned.
    DownTo(i64),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Row(i64),
    /// The budget is spent; every row from here on up was scanned.
    Enough(i64),
    End,
}

/// Merges several scans.
pub(crate) struct Search<T> {
    scans: Vec<ScanCursor<T>>,
    /// Where the page begins.
    start: i64,
}

struct ScanCursor<T> {
    row_scan: T,
    /// Matching rows that were scanned and not returned yet.
    found: VecDeque<i64>,
    /// Every row from here on up was scanned.
    below: i64,
    /// How many rows to scan next; 0 at the end.
    step: usize,
}

const MAX_STEP: usize = 4_096;

impl<T: RowScan> Search<T> {
    /// Searches rows below a number, in pages of `page`.
    pub fn new(scans: Vec<T>, below: i64, page: usize) -> Self {
        let step = (page + 1).min(MAX_STEP);
        let followed = |row_scan| ScanCursor { row_scan, found: VecDeque::new(), below, step };
        Self { scans: scans.into_iter().map(followed).collect(), start: below }
    }

    pub fn next(&mut self, budget: &mut ScanBudget) -> Result<Step, TxError> {
        loop {
            let newest = self.scans.iter().filter_map(|one| one.found.front()).max().copied();
            // A scan whose rows are unknown below a key may still have one above another scan's.
            let is_behind = |one: &&mut ScanCursor<T>| {
                one.found.is_empty() && one.step > 0 && newest.is_none_or(|row| row < one.below)
            };
            let behind = self.scans.iter_mut().filter(is_behind).max_by_key(|one| one.below);
            match (behind, newest) {
                // Each scan is followed a little, or the next page would begin where this one did.
                (Some(one), _) if budget.are_spent() && one.below < self.start => {
                    return Ok(Step::Enough(one.below));
                }
                (Some(one), _) => one.follow(budget)?,
                (None, Some(newest)) => {
                    for one in &mut self.scans {
                        if one.found.front() == Some(&newest) {
                            one.found.pop_front();
                        }
                    }
                    return Ok(Step::Row(newest));
                }
                (None, None) => return Ok(Step::End),
            }
        }
    }
}

impl<T: RowScan> ScanCursor<T> {
    fn follow(&mut self, budget: &mut ScanBudget) -> Result<(), TxError> {
        let step = self.step.min(budget.left.max(1));
        match self.row_scan.follow(self.below, step, budget, &mut self.found)? {
            ScanExtent::DownTo(below) => {
                self.below = below;
                self.step = MAX_STEP.min(self.step * 2);
            }
            ScanExtent::End => self.step = 0,
        }
        Ok(())
    }
}

/// Returns a page of what a search finds, with the key where the next one begins.
pub(crate) fn page<T: RowScan, R>(
    search: &mut Search<T>,
    max: usize,
    budget: &mut ScanBudget,
    read: impl Fn(i64) -> Result<Option<R>, TxError>,
) -> Result<(Vec<R>, Option<i64>), TxError> {
    let mut rows = Vec::new();
    let mut last = None;
    loop {
        match search.next(budget)? {
            Step::Row(row) if rows.len() == max => return Ok((rows, last.or(Some(row + 1)))),
            Step::Row(row) => {
                if let Some(read) = read(row)? {
                    rows.push(read);
                    last = Some(row);
                }
                if rows.len() == max {
                    budget.only_for_another_page();
                }
            }
            Step::Enough(below) => return Ok((rows, Some(below))),
            Step::End => return Ok((rows, None)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
