//! Decides what follows from a verdict. A pure function, so that tests can cover its whole table.

use std::time::Duration;

use crate::{EndReason, Failure, Random, RetryPlan, Time, Verdict};

/// The part of a delivery that the decision needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryContext {
    /// The number of attempts, including the current one.
    pub attempts: u32,
    /// The delivery is not tried again after this time.
    pub expires_at: Option<Time>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    Delivered,
    Retry {
        /// When the next attempt is due, with jitter.
        due_at: Time,
        /// When the next attempt is planned, before jitter.
        planned_at: Time,
    },
    Dead(Failure),
}

/// The delay of a delivery that this node could not attempt for lack of a resource, randomized by ±50 %.
pub const DEFERRAL: Duration = Duration::from_secs(2);

/// Maximum pause that a target may request.
pub const MAX_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

pub fn decide(
    standing: RetryContext,
    verdict: &Verdict,
    plan: &RetryPlan,
    now: Time,
    random: &dyn Random,
) -> NextStep {
    let (failure, not_before) = match verdict {
        Verdict::Delivered => return NextStep::Delivered,
        Verdict::Never { failure } => return NextStep::Dead(failure.clone()),
        Verdict::Retry { failure, not_before } => (failure, *not_before),
        Verdict::Deferred { failure } => return defer(standing, failure, now, random),
    };
    let Some(delay) = plan.delay_after(standing.attempts) else {
        return NextStep::Dead(failure.clone());
    };
    // A target can only lengthen the planned delay, so that a failing target is not flooded.
    let wish = not_before.unwrap_or(now).min(now + MAX_PAUSE);
    let planned_at = (now + delay).max(wish);
    let due_at = (now + plan.jittered(delay, random)).max(wish);
    match standing.expires_at {
        Some(expires_at) if planned_at >= expires_at => NextStep::Dead(expired(Some(failure))),
        _ => NextStep::Retry { due_at, planned_at },
    }
}

/// No attempt was made, so this uses up no attempt of the plan: only expiry ends it.
fn defer(standing: RetryContext, failure: &Failure, now: Time, random: &dyn Random) -> NextStep {
    let due_at = now + DEFERRAL.mul_f64(0.5 + random.unit());
    match standing.expires_at {
        Some(expires_at) if due_at >= expires_at => NextStep::Dead(expired(Some(failure))),
        _ => NextStep::Retry { due_at, planned_at: due_at },
    }
}

/// Returns the failure of an expired delivery.
pub fn expired(last: Option<&Failure>) -> Failure {
    EndReason::EXPIRED.failure(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, SeededRandom};

    const NOW: Time = Time::from_secs(1_000_000);

    fn retry(not_before: Option<Time>) -> Verdict {
        Verdict::Retry { failure: Failure::new(Code::TIMEOUT, "slow"), not_before }
    }

    fn never() -> Verdict {
        Verdict::Never { failure: Failure::new(Code::http(550), "no such mailbox") }
    }

    fn plans() -> [RetryPlan; 4] {
        [
            RetryPlan::EMAIL,
            RetryPlan::DISPATCH,
            RetryPlan::Schedule(vec![]),
            RetryPlan::Schedule([60, 300, 1_800].map(Duration::from_secs).to_vec()),
        ]
    }

    /// Checks every verdict, at every attempt, under every plan, with and without an expiry.
    #[test]
    fn the_whole_table() {
        let random = SeededRandom::new(3);
        for plan in plans() {
            for attempts in 1..=plan.max_attempts() + 2 {
                for expires_at in
                    [None, Some(NOW), Some(NOW + Duration::from_secs(9)), Some(Time::MAX)]
                {
                    let standing = RetryContext { attempts, expires_at };
                    let next = |verdict| decide(standing, &verdict, &plan, NOW, &random);

                    assert_eq!(next(Verdict::Delivered), NextStep::Delivered);
                    assert!(
                        matches!(next(never()), NextStep::Dead(why) if why.code().as_str() == "HTTP_550")
                    );

                    match (plan.delay_after(attempts), next(retry(None))) {
                        (None, NextStep::Dead(why)) => assert_eq!(*why.code(), Code::TIMEOUT),
                        (Some(delay), NextStep::Dead(why)) => {
                            assert_eq!(*why.code(), Code::EXPIRED);
                            assert!(expires_at.is_some_and(|end| NOW + delay >= end));
                        }
                        (Some(delay), NextStep::Retry { due_at, planned_at }) => {
                            assert_eq!(planned_at, NOW + delay);
                            assert!(expires_at.is_none_or(|end| planned_at < end));
                            assert!(due_at >= NOW + delay.mul_f64(0.75));
                            assert!(due_at <= NOW + delay.mul_f64(1.25));
                        }
                        (delay, next) => panic!("{plan:?} {standing:?} {delay:?} {next:?}"),
                    }
                }
            }
        }
    }

    // faults.md 10
    #[test]
    fn what_could_not_be_tried_uses_up_no_plan() {
        let random = SeededRandom::new(3);
        let lacking = Verdict::Deferred { failure: Failure::new(Code::CONNECT_FAILED, "no file") };
        for plan in plans() {
            for attempts in [1, 2, 100] {
                let standing = RetryContext { attempts, expires_at: None };
                match decide(standing, &lacking, &plan, NOW, &random) {
                    NextStep::Retry { due_at, planned_at } => {
                        assert_eq!(due_at, planned_at);
                        assert!(due_at >= NOW + DEFERRAL / 2 && due_at <= NOW + DEFERRAL * 3 / 2);
                    }
                    other => panic!("{plan:?} {other:?}"),
                }
                let standing = RetryContext { attempts, expires_at: Some(NOW) };
                let next = decide(standing, &lacking, &plan, NOW, &random);
                assert!(matches!(next, NextStep::Dead(why) if *why.code() == Code::EXPIRED));
            }
        }
    }

    #[test]
    fn a_target_may_lengthen_a_delay_but_not_shorten_it() {
        let random = SeededRandom::new(3);
        let plan = RetryPlan::Schedule(vec![Duration::from_secs(60)]);
        let standing = RetryContext { attempts: 1, expires_at: None };
        let due = |wish: Time| match decide(standing, &retry(Some(wish)), &plan, NOW, &random) {
            NextStep::Retry { due_at, planned_at } => (due_at, planned_at),
            other => panic!("{other:?}"),
        };
        let hour = NOW + Duration::from_secs(3_600);
        assert_eq!(due(hour), (hour, hour));
        for early in [Time::ZERO, Time::from_micros(i64::MIN), NOW] {
            assert_eq!(due(early).1, NOW + Duration::from_secs(60));
        }
        assert_eq!(due(Time::MAX).0, NOW + MAX_PAUSE);
    }
}
