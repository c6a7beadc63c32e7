//! Retry plans: the delay after each attempt (a schedule, or exponential backoff, with jitter), and the number of
//! attempts.

use std::time::Duration;

use crate::Random;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryPlan {
    /// One delay after each failed attempt; one more attempt than delays.
    Schedule(Vec<Duration>),
    /// `min(max, base · 2^(attempt − 1))`.
    Exponential { base: Duration, max: Duration, attempts: u32 },
}

/// Jitter: the maximum relative deviation from the planned delay, so that a recovered target does not get
/// all its deliveries at once.
const SCHEDULE_JITTER: f64 = 0.10;
const EXPONENTIAL_JITTER: f64 = 0.25;

impl RetryPlan {
    /// E-mail: 1 s to 60 s, 5 attempts.
    pub const EMAIL: Self = Self::Exponential {
        base: Duration::from_secs(1),
        max: Duration::from_secs(60),
        attempts: 5,
    };
    /// Dispatch: 2 s to 32 s, 10 attempts.
    pub const DISPATCH: Self = Self::Exponential {
        base: Duration::from_secs(2),
        max: Duration::from_secs(32),
        attempts: 10,
    };

    pub fn max_attempts(&self) -> u32 {
        match self {
            Self::Schedule(delays) => delays.len() as u32 + 1,
            Self::Exponential { attempts, .. } => *attempts,
        }
    }

    /// The planned delay after attempt number `attempt`; `None` if it was the last.
    pub fn delay_after(&self, attempt: u32) -> Option<Duration> {
        if attempt == 0 || attempt >= self.max_attempts() {
            return None;
        }
        match self {
            Self::Schedule(delays) => delays.get(attempt as usize - 1).copied(),
            Self::Exponential { base, max, .. } => {
                let doublings = (attempt - 1).min(40);
                Some(base.saturating_mul(2_u32.saturating_pow(doublings)).min(*max))
            }
        }
    }

    /// Returns the delay with jitter.
    pub fn jittered(&self, delay: Duration, random: &dyn Random) -> Duration {
        let share = match self {
            Self::Schedule(_) => SCHEDULE_JITTER,
            Self::Exponential { .. } => EXPONENTIAL_JITTER,
        };
        // `unit` is below 1, so the factor stays within 1 ± share.
        delay.mul_f64(1.0 + share * (2.0 * random.unit() - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SeededRandom;

    fn delays(plan: &RetryPlan) -> Vec<u64> {
        (1..20).map_while(|n| plan.delay_after(n)).map(|delay| delay.as_secs()).collect()
    }

    #[test]
    fn exponential_as_specified() {
        assert_eq!(delays(&RetryPlan::EMAIL), [1, 2, 4, 8]);
        assert_eq!(delays(&RetryPlan::DISPATCH), [2, 4, 8, 16, 32, 32, 32, 32, 32]);
    }

    #[test]
    fn a_schedule_has_one_more_attempt_than_delays() {
        let plan = RetryPlan::Schedule([60, 300].map(Duration::from_secs).to_vec());
        assert_eq!(plan.max_attempts(), 3);
        assert_eq!(delays(&plan), [60, 300]);
        assert_eq!(RetryPlan::Schedule(vec![]).delay_after(1), None);
    }

    #[test]
    fn huge_plans_do_not_overflow() {
        let plan =
            RetryPlan::Exponential { base: Duration::MAX, max: Duration::MAX, attempts: u32::MAX };
        assert_eq!(plan.delay_after(u32::MAX - 1), Some(Duration::MAX));
        assert_eq!(plan.delay_after(0), None);
    }

    #[test]
    fn jitter_stays_within_its_share_and_spreads() {
        let random = SeededRandom::new(1);
        for (plan, share) in [
            (RetryPlan::Schedule(vec![Duration::from_secs(100)]), 10.0),
            (
                RetryPlan::Exponential {
                    base: Duration::from_secs(100),
                    max: Duration::from_secs(100),
                    attempts: 2,
                },
                25.0,
            ),
        ] {
            let delay = plan.delay_after(1).unwrap();
            let seen: Vec<f64> =
                (0..10_000).map(|_| plan.jittered(delay, &random).as_secs_f64()).collect();
            let min = seen.iter().copied().fold(f64::MAX, f64::min);
            let max = seen.iter().copied().fold(f64::MIN, f64::max);
            assert!(min >= 100.0 - share && max <= 100.0 + share, "{min} {max}");
            assert!(min < 100.0 - 0.9 * share && max > 100.0 + 0.9 * share, "{min} {max}");
        }
    }
}
