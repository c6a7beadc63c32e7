//! How many deliveries one target may have in flight: it shrinks its own share when it is slow or
//! overwhelmed, and earns it back one by one (additive increase, multiplicative decrease).

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    limit: f32,
    most: f32,
    /// Below this, each answer earns one more: a target that has not been overwhelmed yet is soon
    /// up to what it takes.
    fast_until: f32,
}

/// What an attempt says about how busy the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    Light,
    /// Too slow, throttled or failing: send less.
    Heavy,
}

/// An answer that takes longer counts as heavy.
pub const SLOW: Duration = Duration::from_secs(2);

/// What a target that nobody knows may have at once.
const UNEARNED: f32 = 4.0;

impl Pace {
    pub fn up_to(most: u32) -> Self {
        let most = most.max(1) as f32;
        Self { limit: most, most, fast_until: most }
    }

    /// Begins with few, and doubles with every round of answers until one is heavy.
    pub fn earned(most: u32) -> Self {
        Self { limit: UNEARNED.min(most.max(1) as f32), ..Self::up_to(most) }
    }

    pub fn limit(&self) -> u32 {
        self.limit as u32
    }

    /// The most may change while deliveries are out, when an endpoint is edited.
    pub fn set_most(&mut self, most: u32) {
        self.most = most.max(1) as f32;
        self.limit = self.limit.min(self.most);
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
        self.limit = self.limit.min(self.most);
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
        pace.set_most(0);
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
