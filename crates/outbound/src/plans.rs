//! Plans: a tenant's maximum number of endpoints and of events per month.

use std::collections::BTreeMap;

use gancho_domain::{Tenant, Time};
use jiff::{Timestamp, ToSpan, civil, tz::TimeZone};

/// A quota that is not set is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    pub endpoints: Option<u32>,
    /// Per calendar month, UTC.
    pub events: Option<u64>,
}

impl Plan {
    const fn of(endpoints: u32, events: u64) -> Self {
        Self { endpoints: Some(endpoints), events: Some(events) }
    }
}

/// Plans by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plans(BTreeMap<String, Plan>);

/// A limit that was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    pub plan: String,
    /// `endpoints` or `events`.
    pub what: &'static str,
    pub limit: u64,
    pub used: u64,
    pub resets_at: Option<Time>,
}

impl std::fmt::Display for PlanLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { plan, what, limit, used, resets_at } = self;
        write!(f, "the plan `{plan}` allows {limit} {what}")?;
        match resets_at {
            Some(at) => write!(f, " per month, and {used} are used; the next month starts at {at}"),
            None => write!(f, ", and {used} exist; delete one, or change the plan"),
        }
    }
}

impl Plans {
    /// The built-in plans.
    pub fn built_in() -> Self {
        let plans = [
            ("free", Plan::of(0, 0)),
            ("starter", Plan::of(0, 0)),
            ("pro", Plan::of(5, 10_000)),
            ("enterprise", Plan::of(20, 100_000)),
            (Tenant::UNLIMITED, Plan::default()),
        ];
        Self(plans.into_iter().map(|(name, plan)| (name.to_owned(), plan)).collect())
    }

    /// Adds or replaces a plan.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, plan: Plan) -> Self {
        self.0.insert(name.into(), plan);
        self
    }

    pub fn get(&self, name: &str) -> Option<Plan> {
        self.0.get(name).copied()
    }

    /// Returns the plan of a tenant. A tenant with an unknown plan is not limited, because a mistake in the
    /// settings must not stop its events.
    pub fn of(&self, tenant: &Tenant) -> Plan {
        self.get(&tenant.plan).unwrap_or_default()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl From<BTreeMap<String, Plan>> for Plans {
    fn from(plans: BTreeMap<String, Plan>) -> Self {
        Self(plans)
    }
}

impl Default for Plans {
    fn default() -> Self {
        Self::built_in()
    }
}

/// Returns the month of a time as a key of the usage: `2026-11`.
pub fn period(now: Time) -> String {
    let date = date_of(now);
    format!("{:04}-{:02}", date.year(), date.month())
}

/// Returns the end of the month.
pub fn resets_at(now: Time) -> Time {
    let next = date_of(now).first_of_month().saturating_add(1.month());
    match next.to_zoned(TimeZone::UTC) {
        Ok(start) => Time::from_secs(start.timestamp().as_second()),
        Err(_) => Time::MAX,
    }
}

fn date_of(now: Time) -> civil::Date {
    let timestamp = Timestamp::from_millisecond(now.millis()).unwrap_or(Timestamp::MAX);
    timestamp.to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        Time::from_millis(text.parse::<Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn months_begin_and_end_by_utc() {
        for (now, month, resets) in [
            ("2026-11-15T06:37:00Z", "2026-11", "2026-12-01T00:00:00Z"),
            ("2026-12-31T23:59:59.999Z", "2026-12", "2027-01-01T00:00:00Z"),
            ("2027-01-01T00:00:00Z", "2027-01", "2027-02-01T00:00:00Z"),
            ("2028-02-29T12:00:00Z", "2028-02", "2028-03-01T00:00:00Z"),
        ] {
            assert_eq!(period(at(now)), month);
            assert_eq!(resets_at(at(now)), at(resets));
        }
        let _ = (period(Time::MAX), resets_at(Time::MAX));
    }

    #[test]
    fn the_price_list() {
        let plans = Plans::built_in();
        assert_eq!(plans.get("pro"), Some(Plan::of(5, 10_000)));
        assert_eq!(plans.get("enterprise"), Some(Plan::of(20, 100_000)));
        assert_eq!(plans.get("free"), Some(Plan::of(0, 0)));
        assert_eq!(plans.get("unlimited"), Some(Plan::default()));
        let plans = plans.with("pro", Plan { endpoints: Some(7), events: None });
        assert_eq!(plans.get("pro").unwrap().endpoints, Some(7));
        assert_eq!(plans.get("gold"), None);
    }

    #[test]
    fn a_limit_says_what_and_until_when() {
        let limit = PlanLimit {
            plan: "pro".into(),
            what: "events",
            limit: 10_000,
            used: 10_000,
            resets_at: Some(at("2026-12-01T00:00:00Z")),
        };
        assert_eq!(
            limit.to_string(),
            "the plan `pro` allows 10000 events per month, and 10000 are used; the next month starts at 2026-12-01T00:00:00.000Z"
        );
    }
}
