//! Decides how an attempt changes an endpoint's health. A pure function, so that five days of failures can be
//! tested without waiting.

use std::time::Duration;

use crate::{DisableReason, Health, Time};

/// What an attempt says about an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptSignal {
    Worked,
    Failed,
    /// It responded with 410: it wants no more requests.
    Gone,
}

/// The notice that follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthNotice {
    /// It has been failing for half the time after which it is disabled.
    Failing,
    Disabled(DisableReason),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub health: Health,
    pub tell: Option<HealthNotice>,
}

impl Health {
    /// Returns the health after an attempt; `None` if it does not change, as after most attempts.
    ///
    /// Failures count at the earliest from `trusted_since`, the end of the last doubt about the clock: a
    /// clock that jumps ahead by days must not disable an endpoint. While the clock is doubted (`None`), no
    /// endpoint is disabled for failing or warned about.
    pub fn after(
        &self,
        seen: AttemptSignal,
        now: Time,
        failing_for: Duration,
        trusted_since: Option<Time>,
    ) -> Option<Change> {
        let quiet = |health| Some(Change { health, tell: None });
        match (seen, self.failing_since) {
            (AttemptSignal::Worked, None) => None,
            (AttemptSignal::Worked, Some(_)) => quiet(Self::default()),
            (AttemptSignal::Gone, _) => Some(self.switched_off(DisableReason::Gone)),
            (AttemptSignal::Failed, None) => {
                quiet(Self { failing_since: Some(now), ..self.clone() })
            }
            (AttemptSignal::Failed, Some(since)) => {
                let failing = now.since(since.max(trusted_since?));
                if failing >= failing_for {
                    return Some(self.switched_off(DisableReason::Failing));
                }
                (failing >= failing_for / 2 && self.warned_at.is_none()).then(|| Change {
                    health: Self { warned_at: Some(now), ..self.clone() },
                    tell: Some(HealthNotice::Failing),
                })
            }
        }
    }

    fn switched_off(&self, why: DisableReason) -> Change {
        Change {
            health: Self { disabled: Some(why), ..self.clone() },
            tell: Some(HealthNotice::Disabled(why)),
        }
    }
}

impl DisableReason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Failing => "failing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);
    const FOR: Duration = Duration::from_hours(120);
    const START: Time = Time::from_secs(1_000_000);

    fn after(health: &Health, seen: AttemptSignal, now: Time) -> Option<Change> {
        health.after(seen, now, FOR, Some(Time::ZERO))
    }

    #[test]
    fn five_days_of_failures() {
        let mut health = Health::default();
        assert_eq!(
            after(&health, AttemptSignal::Worked, START),
            None,
            "the hot path changes nothing"
        );
        let mut told = Vec::new();
        for hours in 0..=130_u32 {
            let now = START + Duration::from_hours(hours.into());
            if let Some(change) = after(&health, AttemptSignal::Failed, now) {
                health = change.health;
                told.extend(change.tell.map(|tell| (hours, tell)));
            }
            if health.disabled.is_some() {
                break;
            }
        }
        assert_eq!(
            told,
            [(60, HealthNotice::Failing), (120, HealthNotice::Disabled(DisableReason::Failing))]
        );
        assert_eq!(health.failing_since, Some(START));
    }

    #[test]
    fn a_success_forgets_all_of_it() {
        let failing = after(&Health::default(), AttemptSignal::Failed, START).unwrap().health;
        let warned = after(&failing, AttemptSignal::Failed, START + 3 * DAY).unwrap().health;
        assert!(warned.warned_at.is_some());
        assert_eq!(after(&warned, AttemptSignal::Failed, START + 4 * DAY), None, "one warning");
        let change = after(&warned, AttemptSignal::Worked, START + 4 * DAY).unwrap();
        assert_eq!(change, Change { health: Health::default(), tell: None });
    }

    #[test]
    fn gone_is_at_once_and_a_clock_that_goes_back_does_no_harm() {
        let change = after(&Health::default(), AttemptSignal::Gone, START).unwrap();
        assert_eq!(change.tell, Some(HealthNotice::Disabled(DisableReason::Gone)));
        let failing = after(&Health::default(), AttemptSignal::Failed, START).unwrap().health;
        assert_eq!(after(&failing, AttemptSignal::Failed, Time::ZERO), None);
    }

    #[test]
    fn a_clock_that_jumps_ahead_neither_disables_nor_warns() {
        let failing = after(&Health::default(), AttemptSignal::Failed, START).unwrap().health;
        let jumped = START + 6 * DAY;
        let failed = |now, trusted_since| {
            failing.after(AttemptSignal::Failed, now, FOR, trusted_since).map(|change| change.tell)
        };
        assert_eq!(failed(jumped, None), None, "the clock is doubted");
        assert_eq!(failed(jumped + DAY, Some(jumped)), None, "only one day is certain");
        let half = failed(jumped + 3 * DAY, Some(jumped));
        assert_eq!(half, Some(Some(HealthNotice::Failing)));
        let whole = failed(jumped + 5 * DAY, Some(jumped));
        assert_eq!(whole, Some(Some(HealthNotice::Disabled(DisableReason::Failing))));
        let gone = failing.after(AttemptSignal::Gone, jumped, FOR, None);
        assert!(gone.is_some(), "a 410 needs no clock");
    }
}
