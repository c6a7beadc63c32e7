//! A bounded scan of the log, newest first or oldest first.
//!
//! A list is read in steps: each scans some rows after a position and returns the matching ones and how far
//! it came. The search stops when the page is full, at the end, or when it has scanned the maximum number of
//! rows of a page, or many rows for a long time; then it returns where the next page continues. So the cost
//! of a page is bounded whatever the filter and the server, and since each step is a short statement, nothing
//! runs for long after the caller has gone away.

use std::{future::Future, time::Duration};

use gancho_store::{ListOrder, Result};
use tokio::time::Instant;
use uuid::Uuid;

/// The ids that a step may scan: those after a position, up to an edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ids {
    pub order: ListOrder,
    /// The lowest id that may match.
    pub first: Uuid,
    /// An id above all that may match.
    pub end: Uuid,
}

impl Ids {
    /// Returns the position before the first page.
    pub fn start(self) -> Uuid {
        match self.order {
            ListOrder::NewestFirst => self.end,
            ListOrder::OldestFirst => Uuid::from_u128(self.first.as_u128().saturating_sub(1)),
        }
    }

    /// Returns the position to continue from, within the range that may match.
    pub fn from(self, place: Uuid) -> Uuid {
        match self.order {
            ListOrder::NewestFirst => place.min(self.start()),
            ListOrder::OldestFirst => place.max(self.start()),
        }
    }

    pub fn edge(self) -> Uuid {
        match self.order {
            ListOrder::NewestFirst => self.first,
            ListOrder::OldestFirst => self.end,
        }
    }

    /// Returns the condition that a column is after a position and before the edge.
    pub fn within(self, column: &str, place: &str, edge: &str) -> String {
        match self.order {
            ListOrder::NewestFirst => format!("{column} < {place} and {column} >= {edge}"),
            ListOrder::OldestFirst => format!("{column} > {place} and {column} < {edge}"),
        }
    }

    pub fn word(self) -> &'static str {
        word(self.order)
    }
}

pub(crate) fn word(order: ListOrder) -> &'static str {
    match order {
        ListOrder::NewestFirst => "desc",
        ListOrder::OldestFirst => "asc",
    }
}

/// A list that is read in steps.
pub(crate) trait RowScan: Sync {
    type Row: Send;
    /// A row's position in the list.
    type Place: Copy + Send;

    /// Scans up to `budget` rows after a position.
    fn step(
        &self,
        after: Self::Place,
        budget: i64,
    ) -> impl Future<Output = Result<Step<Self::Row, Self::Place>>> + Send;
}

/// The result of one step.
#[derive(Debug)]
pub(crate) struct Step<R, P> {
    /// The matching rows, in the order of the list, each with its position.
    pub found: Vec<(R, P)>,
    /// Everything up to here was scanned; `None` at the end.
    pub reached: Option<P>,
}

/// How much of the search's budget is left.
#[derive(Debug)]
pub(crate) struct ScanBudget {
    left: usize,
    step: usize,
    scanned: usize,
    ends_at: Instant,
}

const MAX_STEP: usize = 4_096;
/// A page that has scanned [`MIN_SCANNED`] rows and is not full ends after this time.
const MAX_TIME: Duration = Duration::from_millis(50);
const MIN_SCANNED: usize = 4_096;
/// When the page is full, the scan goes at most this far to find out whether there is another page.
const FOR_ANOTHER_PAGE: usize = 1_000;

impl ScanBudget {
    /// Creates a budget for a page of `page` rows.
    pub fn new(max: usize, page: usize) -> Self {
        let ends_at = Instant::now() + MAX_TIME;
        Self { left: max.max(1), step: page + 1, scanned: 0, ends_at }
    }

    /// Returns how many rows the next step may scan; `None` if the budget is spent.
    pub fn next(&mut self) -> Option<i64> {
        if self.scanned >= MIN_SCANNED && Instant::now() >= self.ends_at {
            return None;
        }
        let step = self.step.min(self.left).min(MAX_STEP);
        self.left -= step;
        self.scanned += step;
        self.step = step * 2;
        (step > 0).then_some(step as i64)
    }

    fn only_for_another_page(&mut self) {
        self.left = self.left.min(FOR_ANOTHER_PAGE);
    }
}

/// Returns a page, and the position where the next one begins.
pub(crate) async fn page<T: RowScan>(
    row_scan: &T,
    max: usize,
    mut budget: ScanBudget,
    mut below: T::Place,
) -> Result<(Vec<T::Row>, Option<T::Place>)> {
    let mut rows: Vec<(T::Row, T::Place)> = Vec::new();
    loop {
        let Some(rows_to_look_at) = budget.next() else {
            return Ok((without_places(rows), Some(below)));
        };
        let Step { found, reached } = row_scan.step(below, rows_to_look_at).await?;
        rows.extend(found);
        if rows.len() > max {
            rows.truncate(max);
            let last = rows.last().map(|(_, place)| *place);
            return Ok((without_places(rows), last));
        }
        if rows.len() == max {
            budget.only_for_another_page();
        }
        match reached {
            Some(reached) => below = reached,
            None => return Ok((without_places(rows), None)),
        }
    }
}

fn without_places<R, P>(rows: Vec<(R, P)>) -> Vec<R> {
    rows.into_iter().map(|(row, _)| row).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// A scan without matches, in which each row takes 20 µs.
    struct Slow;

    impl RowScan for Slow {
        type Row = i64;
        type Place = i64;

        async fn step(&self, below: i64, budget: i64) -> Result<Step<i64, i64>> {
            tokio::time::sleep(Duration::from_micros(20) * budget as u32).await;
            Ok(Step { found: Vec::new(), reached: Some(below - budget) })
        }
    }

    /// faults.md 3: a filter that finds nothing takes no longer on a slow server.
    #[tokio::test(start_paused = true)]
    async fn a_search_ends_after_some_time_and_says_where_to_continue() {
        let mut below = 1_000_000;
        for _ in 0..3 {
            let began = Instant::now();
            let budget = ScanBudget::new(100_000, 50);
            let (found, next) = page(&Slow, 50, budget, below).await.unwrap();
            assert_eq!(found, [0; 0]);
            let scanned = below - next.unwrap();
            assert!(scanned >= MIN_SCANNED as i64, "however slow, a page gets on");
            assert!((MAX_TIME..4 * MAX_TIME).contains(&began.elapsed()), "{:?}", began.elapsed());
            below -= scanned;
        }
    }

    /// A scan of the numbers below a thousand, of which the multiples of seven match.
    struct Sevens;

    impl RowScan for Sevens {
        type Row = i64;
        type Place = i64;

        async fn step(&self, below: i64, budget: i64) -> Result<Step<i64, i64>> {
            let looked: Vec<i64> = (0..below).rev().take(budget as usize).collect();
            let found = looked.iter().filter(|number| *number % 7 == 0).map(|one| (*one, *one));
            let reached = looked.last().copied().filter(|_| looked.len() == budget as usize);
            Ok(Step { found: found.collect(), reached })
        }
    }

    #[tokio::test]
    async fn pages_have_no_gaps_and_no_repeats_however_little_is_looked_at() {
        let expected: Vec<i64> = (0..1_000).rev().filter(|number| number % 7 == 0).collect();
        for max in [1, 3, 50, 500] {
            for max_scanned in [1, 2, 10, 100, 10_000] {
                let (mut rows, mut below) = (Vec::new(), 1_000);
                loop {
                    let (found, next) =
                        page(&Sevens, max, ScanBudget::new(max_scanned, max), below).await.unwrap();
                    assert!(found.len() <= max);
                    rows.extend(found);
                    let Some(next) = next else { break };
                    assert!(next < below, "the pages go on");
                    below = next;
                }
                assert_eq!(rows, expected, "pages of {max}, {max_scanned} budget");
            }
        }
    }
}
