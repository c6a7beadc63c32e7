//! The rules, and the thresholds that an operator can change.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    StoreUnavailable,
    WritesRefused,
    StorageCritical,
    StorageHigh,
    LedgerCheckFailed,
    NodeLost,
    ClockOff,
    DeadLettersHigh,
    DeadLetterRateHigh,
    TenantDeadLettersHigh,
    EndpointFailing,
    QueueDelayed,
    SourceKeyExpiring,
    ApiKeyExpiring,
    ArchiveFailing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Critical,
    Warning,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

impl Rule {
    /// Most urgent first.
    pub const ALL: [Self; 15] = [
        Self::StoreUnavailable,
        Self::WritesRefused,
        Self::StorageCritical,
        Self::StorageHigh,
        Self::LedgerCheckFailed,
        Self::NodeLost,
        Self::ClockOff,
        Self::DeadLettersHigh,
        Self::DeadLetterRateHigh,
        Self::TenantDeadLettersHigh,
        Self::EndpointFailing,
        Self::QueueDelayed,
        Self::SourceKeyExpiring,
        Self::ApiKeyExpiring,
        Self::ArchiveFailing,
    ];
    pub const NAMES: &'static [&'static str] = &[
        "store_unavailable",
        "writes_refused",
        "storage_critical",
        "storage_high",
        "ledger_check_failed",
        "node_lost",
        "clock_off",
        "dead_letters_high",
        "dead_letter_rate_high",
        "tenant_dead_letters_high",
        "endpoint_failing",
        "queue_delayed",
        "source_key_expiring",
        "api_key_expiring",
        "archive_failing",
    ];

    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub const fn severity(self) -> Severity {
        match self {
            Self::StoreUnavailable
            | Self::WritesRefused
            | Self::StorageCritical
            | Self::LedgerCheckFailed => Severity::Critical,
            Self::StorageHigh
            | Self::NodeLost
            | Self::ClockOff
            | Self::DeadLettersHigh
            | Self::DeadLetterRateHigh
            | Self::TenantDeadLettersHigh
            | Self::EndpointFailing
            | Self::QueueDelayed
            | Self::SourceKeyExpiring
            | Self::ApiKeyExpiring
            | Self::ArchiveFailing => Severity::Warning,
        }
    }

    /// Returns what the rule means, in a sentence without figures.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::StoreUnavailable => "The database does not respond",
            Self::WritesRefused => "Events, webhooks or e-mails are being refused",
            Self::StorageCritical => "The storage is almost full",
            Self::StorageHigh => "The storage is filling up",
            Self::LedgerCheckFailed => "The ledger is no longer signed",
            Self::NodeLost => "A node stopped without leaving",
            Self::ClockOff => "The clock of a node is wrong",
            Self::DeadLettersHigh => "Many dead letters",
            Self::DeadLetterRateHigh => "Many deliveries become dead letters",
            Self::TenantDeadLettersHigh => "Many dead letters of one tenant",
            Self::EndpointFailing => "An endpoint fails every attempt",
            Self::QueueDelayed => "Deliveries are late",
            Self::SourceKeyExpiring => "A source has no valid key, or soon will have none",
            Self::ApiKeyExpiring => "An API key is about to expire",
            Self::ArchiveFailing => "Dead letters cannot be archived",
        }
    }

    /// Whether the alert fires at once, because the condition is something that has happened and need not
    /// last.
    pub(crate) const fn is_immediate(self) -> bool {
        matches!(
            self,
            Self::WritesRefused
                | Self::StorageCritical
                | Self::NodeLost
                | Self::LedgerCheckFailed
                | Self::ApiKeyExpiring
        )
    }

    /// Whether it is about tenants' data, which is in cells: nothing is known about cells that do not
    /// respond.
    pub(crate) const fn is_in_cells(self) -> bool {
        matches!(
            self,
            Self::DeadLettersHigh
                | Self::DeadLetterRateHigh
                | Self::TenantDeadLettersHigh
                | Self::EndpointFailing
                | Self::QueueDelayed
                | Self::ApiKeyExpiring
        )
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|rule| rule.name() == name);
        found.ok_or_else(|| format!("unknown alert rule `{name}`"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    pub dead_letters: u64,
    /// The share of ended deliveries that become dead letters, from 0 to 1.
    pub dead_letter_rate: f64,
    pub tenant_dead_letters: u64,
    pub queue_age: Duration,
    pub storage_high: f64,
    pub storage_critical: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            dead_letters: 100,
            dead_letter_rate: 0.02,
            tenant_dead_letters: 50,
            queue_age: Duration::from_mins(5),
            storage_high: 0.8,
            storage_critical: 0.9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_are_stored() {
        for (rule, name) in Rule::ALL.into_iter().zip(Rule::NAMES) {
            assert_eq!(rule.name(), *name);
            assert_eq!(name.parse(), Ok(rule));
            assert_eq!(serde_json::to_value(rule).unwrap(), *name);
        }
    }
}
