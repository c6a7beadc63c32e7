//! The latest time that upkeep has passed: keys that end before it are expired. A clock that is ahead, and is
//! not trusted, expires nothing.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use gancho_domain::Time;

#[derive(Clone, Default)]
pub(crate) struct ExpiryTime(Arc<AtomicI64>);

impl ExpiryTime {
    pub fn set(&self, now: Time) {
        self.0.store(now.micros(), Ordering::Relaxed);
    }

    pub fn get(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::Relaxed))
    }
}
