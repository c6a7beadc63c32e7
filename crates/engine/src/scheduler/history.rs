//! Classifies a target by its response times and failures.

use std::time::Duration;

use gancho_domain::pace::SLOW;

use super::pool::{MODERATE, PROMPT, Pool, QUICK};

/// An attempt takes some of the machine, however soon it is answered.
const MIN_COST: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseHistory {
    /// How long deliveries that succeeded took, smoothed. Nothing before the first.
    typical: Option<Duration>,
    /// How long an attempt has been out since the last success.
    late: Option<Age>,
    /// Since the last success an attempt failed, or has been out for too long.
    is_troubled: bool,
    /// Since the last success an attempt failed.
    has_failed: bool,
}

/// How long an attempt has been out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// Longer than [`QUICK`].
    NotQuick,
    /// Longer than [`PROMPT`].
    Late,
    /// Longer than [`MODERATE`].
    Slow,
    /// Longer than [`gancho_domain::pace::SLOW`].
    TooLate,
}

impl ResponseHistory {
    pub fn pool(&self) -> Pool {
        match self.typical {
            _ if self.is_troubled => Pool::Troubled,
            None => Pool::Untried,
            Some(typical) if self.late >= Some(Age::Slow) || typical > MODERATE => Pool::Slow,
            Some(typical) if self.late >= Some(Age::Late) || typical > PROMPT => Pool::Moderate,
            Some(typical) if self.late.is_some() || typical > QUICK => Pool::Prompt,
            Some(_) => Pool::Quick,
        }
    }

    /// How long an attempt is likely to hold its slot.
    pub fn cost(&self) -> Duration {
        match self.typical {
            Some(typical) if !self.is_troubled => typical.clamp(MIN_COST, SLOW),
            _ => SLOW,
        }
    }

    pub fn has_answered(&self) -> bool {
        self.typical.is_some()
    }

    pub fn succeeded(&mut self, latency: Duration) {
        let typical = self.typical.map_or(latency, |typical| (3 * typical + latency) / 4);
        *self = Self { typical: Some(typical), late: None, is_troubled: false, has_failed: false };
    }

    pub fn failed(&mut self) {
        self.is_troubled = true;
        self.has_failed = true;
    }

    /// An attempt failed, and held its slot for no longer than one that is accepted may.
    pub fn refused(&mut self) {
        self.has_failed = true;
    }

    /// An attempt ended in a way that is not its fault, and showed that it cannot take more.
    pub fn burdened(&mut self) {
        self.is_troubled = true;
        self.has_failed = false;
    }

    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// An attempt is still out. A target that has never answered has no credit to be slow on.
    pub fn overdue(&mut self, age: Age) {
        self.late = self.late.max(Some(age));
        let is_too_late = match self.typical {
            Some(_) => age == Age::TooLate,
            None => age >= Age::Late,
        };
        self.is_troubled |= is_too_late;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_restores_it_and_silence_costs_it() {
        let mut target = ResponseHistory::default();
        assert_eq!(target.pool(), Pool::Untried);
        target.overdue(Age::NotQuick);
        assert_eq!(target.pool(), Pool::Untried, "it need not be quick");
        target.overdue(Age::Late);
        assert_eq!(target.pool(), Pool::Troubled, "it never answered");
        target.succeeded(Duration::from_millis(5));
        assert_eq!(target.pool(), Pool::Quick);
        target.overdue(Age::NotQuick);
        assert_eq!(target.pool(), Pool::Prompt);
        target.overdue(Age::Late);
        assert_eq!(target.pool(), Pool::Moderate, "it may still answer");
        target.overdue(Age::Slow);
        assert_eq!(target.pool(), Pool::Slow);
        target.overdue(Age::TooLate);
        assert_eq!(target.pool(), Pool::Troubled);
        assert!(!target.has_failed(), "it takes its time, and nothing has failed");
        target.succeeded(Duration::from_secs(2));
        assert_eq!(target.pool(), Pool::Slow, "it answers, but takes its time");
        for _ in 0..20 {
            target.succeeded(Duration::from_millis(5));
        }
        assert_eq!(target.pool(), Pool::Quick);
        target.failed();
        assert_eq!(target.pool(), Pool::Troubled);
        assert!(target.has_failed());
        target.burdened();
        assert_eq!(target.pool(), Pool::Troubled);
        assert!(!target.has_failed(), "it answered, however late");
        target.succeeded(Duration::from_millis(5));
        target.refused();
        assert!(target.has_failed() && target.pool() != Pool::Troubled, "it took no time");
    }
}
