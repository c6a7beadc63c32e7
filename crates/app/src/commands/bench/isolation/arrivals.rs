//! Records when each event was published and when it arrived, by the number in the event.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use crate::commands::bench::report::LatencyDistribution;

pub struct Arrivals {
    started: Instant,
    next: AtomicUsize,
    /// The times by number, in nanoseconds since the start; zero before it happens.
    sent: Vec<AtomicU64>,
    arrived: Vec<AtomicU64>,
}

/// The figures of deliveries to healthy endpoints.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Arrivals while the load was running.
    pub per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// Events that were accepted but had not arrived when waiting ended. Their latency counts as their age at
    /// that time.
    pub missing: usize,
}

const POLL: Duration = Duration::from_millis(20);

impl Arrivals {
    /// Creates room for this many events.
    pub fn new(capacity: usize) -> Self {
        let empty = || (0..capacity).map(|_| AtomicU64::new(0)).collect();
        Self { started: Instant::now(), next: AtomicUsize::new(0), sent: empty(), arrived: empty() }
    }

    /// Returns the number of an event that is published now, or was due at that time. `None` if there is no
    /// room.
    pub fn publish(&self, at: Instant) -> Option<usize> {
        let number = self.next.fetch_add(1, Relaxed);
        self.sent.get(number)?.store(self.nanos(at), Relaxed);
        Some(number)
    }

    /// Removes an event that the gateway did not accept, so that it will not arrive.
    pub fn withdraw(&self, number: usize) {
        if let Some(sent) = self.sent.get(number) {
            sent.store(0, Relaxed);
        }
    }

    /// Records an arrival. Only the first one counts.
    pub fn arrive(&self, number: usize) {
        if let Some(at) = self.arrived.get(number) {
            let _ = at.compare_exchange(0, self.nanos(Instant::now()), Relaxed, Relaxed);
        }
    }

    /// Returns the number of the next event.
    pub fn position(&self) -> usize {
        self.next.load(Relaxed).min(self.sent.len())
    }

    /// Returns when all of these have arrived, or after that time.
    pub async fn wait(&self, numbers: Range<usize>, patience: Duration) {
        let until = Instant::now() + patience;
        while self.missing(numbers.clone()) > 0 && Instant::now() < until {
            tokio::time::sleep(POLL).await;
        }
    }

    fn missing(&self, numbers: Range<usize>) -> usize {
        self.times(numbers).filter(|(_, arrived)| arrived.is_none()).count()
    }

    /// Returns the figures of these events, which were published between `from` and `to`.
    pub fn figures(&self, numbers: Range<usize>, from: Instant, to: Instant) -> Figures {
        let (start, end, now) = (self.nanos(from), self.nanos(to), self.nanos(Instant::now()));
        // Events that were published before the window and arrive inside it balance those that are published
        // inside and arrive after it.
        let in_window = |at: &AtomicU64| (start..end).contains(&at.load(Relaxed));
        let arrived = self.arrived.iter().take(self.position()).filter(|at| in_window(at)).count();
        let latencies = self.times(numbers.clone()).map(|(sent, arrived)| {
            Duration::from_nanos(arrived.unwrap_or(now).saturating_sub(sent))
        });
        let spread = LatencyDistribution::of(latencies.collect());
        Figures {
            per_second: arrived as f64 / (to - from).as_secs_f64(),
            p50_ms: spread.at(500),
            p99_ms: spread.at(990),
            max_ms: spread.at(1_000),
            missing: self.missing(numbers),
        }
    }

    /// Returns when each was sent, and when it arrived.
    fn times(&self, numbers: Range<usize>) -> impl Iterator<Item = (u64, Option<u64>)> {
        let times = self.sent[numbers.clone()].iter().zip(&self.arrived[numbers]);
        times.map(|(sent, arrived)| (sent.load(Relaxed), arrived.load(Relaxed))).filter_map(
            |(sent, arrived)| (sent > 0).then_some((sent, (arrived > 0).then_some(arrived))),
        )
    }

    fn nanos(&self, at: Instant) -> u64 {
        // Never zero, which means that it did not happen.
        at.saturating_duration_since(self.started).as_nanos().max(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_arrived_counts_with_its_age() {
        let arrivals = Arrivals::new(4);
        let from = Instant::now();
        let numbers: Vec<_> = (0..5).map(|_| arrivals.publish(from)).collect();
        assert_eq!(numbers, [Some(0), Some(1), Some(2), Some(3), None]);
        arrivals.arrive(0);
        arrivals.arrive(0);
        arrivals.arrive(1);
        arrivals.withdraw(2);
        let to = from + Duration::from_secs(2);
        let figures = arrivals.figures(0..arrivals.position(), from, to);
        assert_eq!(figures.missing, 1);
        assert!((figures.per_second - 1.0).abs() < 1e-9, "{figures:?}");
        assert!(figures.max_ms >= figures.p50_ms);
    }
}
