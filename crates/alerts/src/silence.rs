//! Silences: alerts that are not sent for a while.

use gancho_domain::{Id, Time, id::IdKind};
use serde::{Deserialize, Serialize};

use crate::{Alert, Rule};

pub enum SilenceIdKind {}

impl IdKind for SilenceIdKind {
    const PREFIX: &'static str = "sil";
}

pub type SilenceId = Id<SilenceIdKind>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSilence {
    /// The silenced rule. `None`: every rule.
    pub rule: Option<Rule>,
    /// The silenced subject. `None`: every subject.
    pub subject: Option<String>,
    pub until: Time,
    pub comment: String,
    /// Who created it.
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    pub id: SilenceId,
    pub rule: Option<Rule>,
    pub subject: Option<String>,
    pub until: Time,
    pub comment: String,
    pub by: String,
}

impl Silence {
    pub fn covers(&self, alert: &Alert, now: Time) -> bool {
        now < self.until
            && self.rule.is_none_or(|rule| rule == alert.rule)
            && self.subject.as_ref().is_none_or(|subject| *subject == alert.subject)
    }
}

/// The stored form, under its id.
#[derive(Serialize, Deserialize)]
pub(crate) struct SilenceRecord {
    rule: Option<Rule>,
    subject: Option<String>,
    until_us: i64,
    comment: String,
    by: String,
}

impl SilenceRecord {
    pub fn of(silence: &Silence) -> Self {
        Self {
            rule: silence.rule,
            subject: silence.subject.clone(),
            until_us: silence.until.micros(),
            comment: silence.comment.clone(),
            by: silence.by.clone(),
        }
    }

    pub fn silence(self, id: SilenceId) -> Silence {
        Silence {
            id,
            rule: self.rule,
            subject: self.subject,
            until: Time::from_micros(self.until_us),
            comment: self.comment,
            by: self.by,
        }
    }
}
