//! A wall clock that advances with virtual time, and jumps on request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use gancho_domain::{Clock, Time};
use tokio::time::Instant;

#[derive(Clone)]
pub struct SimClock {
    born: Instant,
    ahead_micros: Arc<AtomicI64>,
}

const START: Time = Time::from_secs(1_800_000_000);

impl SimClock {
    pub fn new() -> Self {
        Self { born: Instant::now(), ahead_micros: Arc::default() }
    }

    /// Returns the clock of a machine, which differs from this one.
    pub fn of_machine(&self, ahead_secs: i64) -> Self {
        let machine = Self { born: self.born, ahead_micros: Arc::default() };
        machine.jump(ahead_secs);
        machine
    }

    pub fn jump(&self, secs: i64) {
        self.ahead_micros.fetch_add(secs * 1_000_000, Ordering::Relaxed);
    }

    /// Returns the time that has really passed, whatever the wall clock says.
    pub fn elapsed(&self) -> Duration {
        self.born.elapsed()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Time {
        let even = START + self.born.elapsed();
        Time::from_micros(even.micros() + self.ahead_micros.load(Ordering::Relaxed))
    }

    fn uptime(&self) -> Duration {
        self.elapsed()
    }
}
