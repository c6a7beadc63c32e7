//! Counters of one lane, for the metrics. They never decrease, except the two gauges of what is in memory.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub $name: Counter,)*
        }

        /// What happened in a lane since the engine started.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct LaneCounters {
            $($(#[$doc])* pub $name: u64,)*
            /// Deliveries that wait in memory now.
            pub queued: u64,
            /// Deliveries in flight now.
            pub in_flight: u64,
        }

        impl Counters {
            pub fn snapshot(&self, queued: u64, in_flight: u64) -> LaneCounters {
                LaneCounters { $($name: self.$name.get(),)* queued, in_flight }
            }
        }
    };
}

counters! {
    /// Deliveries that came directly from a publisher.
    offered,
    /// Deliveries that were claimed from the store.
    claimed,
    /// Deliveries that were returned to the store without an attempt.
    released,
    /// Attempts made.
    carried,
    /// Deliveries deferred because this node lacks a resource; retried soon.
    deferred,
    delivered,
    retried,
    dead,
    /// Results refused because another node holds the delivery.
    lease_lost,
    /// Writes of results that were retried because the store did not answer.
    settle_retries,
    /// Results that the store rejected, and that were then written in part.
    unstorable,
    panics,
    /// Times that the circuit breaker of a target opened.
    breaker_openings,
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
