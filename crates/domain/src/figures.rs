//! What happened to deliveries in a period: the counts of statistics.

use std::time::Duration;

use crate::LatencyHistogram;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Deliveries created.
    pub accepted: u64,
    pub attempts: u64,
    pub failed_attempts: u64,
    pub delivered: u64,
    /// How many of them were delivered at their first attempt.
    pub delivered_first: u64,
    pub dead_letters: u64,
    /// Durations of attempts.
    pub response_time: LatencyHistogram,
    /// Times from acceptance to the end of the attempt that delivered. Manual retries and replays are not
    /// counted, because they were accepted long before.
    pub delivery_time: LatencyHistogram,
}

/// One attempt, as statistics count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptFigures {
    pub number: u32,
    pub latency: Duration,
    pub has_failed: bool,
}

/// How a delivery ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryEnd {
    Delivered {
        /// The time since acceptance, if it is counted.
        after: Option<Duration>,
    },
    Dead,
}

impl Figures {
    /// Counts a result: the attempt, if one was made, and the end of the delivery, if it ended.
    pub fn add_result(&mut self, attempt: Option<AttemptFigures>, end: Option<DeliveryEnd>) {
        if let Some(attempt) = attempt {
            self.attempts += 1;
            self.failed_attempts += u64::from(attempt.has_failed);
            self.response_time.add(attempt.latency);
        }
        match end {
            Some(DeliveryEnd::Delivered { after }) => {
                self.delivered += 1;
                self.delivered_first += u64::from(attempt.is_some_and(|one| one.number == 1));
                if let Some(after) = after {
                    self.delivery_time.add(after);
                }
            }
            Some(DeliveryEnd::Dead) => self.dead_letters += 1,
            None => {}
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (count, more) in [
            (&mut self.accepted, other.accepted),
            (&mut self.attempts, other.attempts),
            (&mut self.failed_attempts, other.failed_attempts),
            (&mut self.delivered, other.delivered),
            (&mut self.delivered_first, other.delivered_first),
            (&mut self.dead_letters, other.dead_letters),
        ] {
            *count = count.saturating_add(more);
        }
        self.response_time.merge(&other.response_time);
        self.delivery_time.merge(&other.delivery_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, has_failed: bool) -> AttemptFigures {
        AttemptFigures { number, latency: Duration::from_millis(3), has_failed }
    }

    #[test]
    fn results_are_counted_by_their_kind() {
        let mut figures = Figures::default();
        let after = Some(Duration::from_secs(1));
        figures.add_result(Some(attempt(1, false)), Some(DeliveryEnd::Delivered { after }));
        figures.add_result(Some(attempt(1, true)), None);
        figures.add_result(Some(attempt(2, false)), Some(DeliveryEnd::Delivered { after: None }));
        figures.add_result(Some(attempt(3, true)), Some(DeliveryEnd::Dead));
        figures.add_result(None, Some(DeliveryEnd::Dead));
        assert_eq!((figures.attempts, figures.failed_attempts), (4, 2));
        assert_eq!((figures.delivered, figures.delivered_first, figures.dead_letters), (2, 1, 2));
        assert_eq!((figures.response_time.total(), figures.delivery_time.total()), (4, 1));
        let mut twice = figures;
        twice.merge(&figures);
        assert_eq!((twice.attempts, twice.delivered, twice.response_time.total()), (8, 4, 8));
    }
}
