//! How many deliveries one target may have in flight: it shrinks its own share when it is slow or
//! overwhelmed, and earns it back one by one (additive increase, multiplicative decrease).

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    limit: f32,
    most: f32,
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

impl Pace {
    pub fn up_to(most: u32) -> Self {
        let most = most.max(1) as f32;
        Self { limit: most, most }
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
        self.limit = match load {
            Load::Light => (self.limit + 1.0 / self.limit).min(self.most),
            Load::Heavy => (self.limit * 0.7).max(1.0),
        };
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
}
