//! The concurrency limit of a target: lower when it is slow or overloaded, and raised again step by step
//! (additive increase, multiplicative decrease).

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    limit: f32,
    max: f32,
    /// Below this, each response raises the limit by one (slow start), until the target is overloaded.
    fast_until: f32,
}

/// What an attempt says about the load of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Light,
    /// Too slow, throttled or failing: send less.
    Heavy,
}

/// A response that takes longer counts as heavy.
pub const SLOW: Duration = Duration::from_secs(2);

/// The initial limit of a target without history.
const UNEARNED: f32 = 4.0;

impl Pace {
    pub fn up_to(max: u32) -> Self {
        let max = max.max(1) as f32;
        Self { limit: max, max, fast_until: max }
    }

    /// Starts at a low limit, which doubles with every round of responses until one is heavy.
    pub fn earned(max: u32) -> Self {
        Self { limit: UNEARNED.min(max.max(1) as f32), ..Self::up_to(max) }
    }

    pub fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// Returns the maximum of the limit.
    pub fn max(&self) -> u32 {
        self.max as u32
    }

    /// Changes the maximum. Deliveries may be in flight, as when an endpoint is edited.
    pub fn set_max(&mut self, max: u32) {
        self.max = max.max(1) as f32;
        self.limit = self.limit.min(self.max);
    }

    pub fn note(&mut self, load: Load) {
        match load {
            Load::Light if self.limit < self.fast_until => self.limit += 1.0,
            Load::Light => self.limit += 1.0 / self.limit,
            Load::Heavy => {
                self.limit = (self.limit * 0.7).max(1.0);
                self.fast_until = self.limit;
            }
        }
        self.limit = self.limit.min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shrinks_fast_and_grows_slowly() {
        let mut pace = Pace::up_to(64);
        assert_eq!(pace.limit(), 64);
        for _ in 0..20 {
            pace.note(Load::Heavy);
        }
        assert_eq!(pace.limit(), 1);
        for _ in 0..10_000 {
            pace.note(Load::Light);
        }
        assert_eq!(pace.limit(), 64);
        pace.set_max(0);
        assert_eq!(pace.limit(), 1, "one may always go");
    }

    #[test]
    fn earns_quickly_until_it_was_too_much_once() {
        let mut pace = Pace::earned(64);
        assert_eq!(pace.limit(), 4);
        for _ in 0..60 {
            pace.note(Load::Light);
        }
        assert_eq!(pace.limit(), 64, "one more for each answer");
        pace.note(Load::Heavy);
        let after = pace.limit();
        for _ in 0..10 {
            pace.note(Load::Light);
        }
        assert!(pace.limit() <= after + 1, "slowly from now on");
        assert_eq!(Pace::earned(2).limit(), 2);
    }
}
