//! Reports measurements, the guaranteed limits, and the verdicts.

use serde_json::json;

use crate::{
    commands::{
        Failure,
        table::{self, Table, cell, painted},
    },
    paint::{GREEN, RED},
};

/// The guarantee: the minimum share of its throughput that a healthy endpoint keeps.
pub const MIN_SHARE: f64 = 0.8;
/// The maximum growth of its 99th percentile.
pub const MAX_DELAY_MS: f64 = 50.0;

#[derive(Debug, Clone, Copy)]
pub enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// The value is shown without a verdict.
    None,
}

#[derive(Debug)]
pub struct Check {
    pub what: String,
    /// The value without the load, if there is one.
    pub quiet: Option<f64>,
    pub measured: f64,
    pub limit: Limit,
}

impl Check {
    pub fn new(what: impl Into<String>, measured: f64, limit: Limit) -> Self {
        Self { what: what.into(), quiet: None, measured, limit }
    }

    /// A value that is shown next to the one without the load, without a verdict.
    pub fn informational(what: impl Into<String>, quiet: f64, measured: f64) -> Self {
        Self { quiet: Some(quiet), ..Self::new(what, measured, Limit::None) }
    }

    /// A throughput, compared with the one without the load.
    pub fn throughput(what: impl Into<String>, quiet: f64, measured: f64) -> Self {
        let limit = Limit::AtLeast(quiet * MIN_SHARE);
        Self { what: what.into(), quiet: Some(quiet), measured, limit }
    }

    /// A 99th percentile in milliseconds, compared with the one without the load.
    pub fn p99(what: impl Into<String>, quiet: f64, measured: f64) -> Self {
        let limit = Limit::AtMost(quiet + MAX_DELAY_MS);
        Self { what: what.into(), quiet: Some(quiet), measured, limit }
    }

    /// A value of at most three times the one without the load, or 10 ms.
    pub fn at_most_triple(what: impl Into<String>, quiet: f64, measured: f64) -> Self {
        let limit = Limit::AtMost((3.0 * quiet).max(10.0));
        Self { what: what.into(), quiet: Some(quiet), measured, limit }
    }

    /// Whether the limit was kept; `None` without a limit.
    fn is_kept(&self) -> Option<bool> {
        match self.limit {
            Limit::AtMost(max) => Some(self.measured <= max),
            Limit::AtLeast(min) => Some(self.measured >= min),
            Limit::None => None,
        }
    }
}

/// Prints tables, or a line of JSON for each row, and counts the verdicts.
pub struct Report {
    json: bool,
    judged: usize,
    broken: usize,
}

impl Report {
    pub fn new(json: bool) -> Self {
        Self { json, judged: 0, broken: 0 }
    }

    pub fn checks(&mut self, scenario: &str, title: &str, checks: &[Check]) -> anyhow::Result<()> {
        let mut table = Table::new(&["", "quiet", "measured", "limit", "verdict"]);
        for check in checks {
            let verdict = check.is_kept();
            self.count(verdict);
            let (bound, limit) = match check.limit {
                Limit::AtMost(max) => (Some(max), format!("<= {}", figure(max))),
                Limit::AtLeast(min) => (Some(min), format!(">= {}", figure(min))),
                Limit::None => (None, String::new()),
            };
            self.line(&json!({
                "scenario": scenario, "what": check.what, "quiet": check.quiet,
                "measured": check.measured, "limit": bound, "verdict": word(verdict),
            }))?;
            let quiet = check.quiet.map(figure).unwrap_or_default();
            let style = style(verdict);
            table.row([
                cell(&check.what),
                cell(quiet),
                cell(figure(check.measured)),
                cell(limit),
                painted(word(verdict).unwrap_or_default(), style),
            ]);
        }
        self.table(title, &table)
    }

    /// Prints a scenario's table, whose verdicts `count` counts.
    pub fn table(&self, title: &str, table: &Table) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        table::say(&format!("\n{title}"))?;
        table.print()
    }

    pub fn line(&self, row: &serde_json::Value) -> anyhow::Result<()> {
        if self.json { table::say(&row.to_string()) } else { Ok(()) }
    }

    pub fn count(&mut self, verdict: Option<bool>) {
        self.judged += usize::from(verdict.is_some());
        self.broken += usize::from(verdict == Some(false));
    }

    /// Prints the overall verdict. Fails if the guarantee was violated, so that the exit code shows it.
    pub fn finish(&self) -> anyhow::Result<()> {
        let Self { judged, broken, .. } = *self;
        self.line(&json!({
            "scenario": "all", "checks": judged, "broken": broken, "verdict": word(Some(broken == 0)),
        }))?;
        if broken > 0 {
            return Err(Failure::does_not_hold(format!(
                "the isolation guarantee is broken in {broken} of {judged} checks"
            )));
        }
        if !self.json {
            table::say(&format!("\nThe isolation guarantee is kept in all {judged} checks."))?;
        }
        Ok(())
    }
}

/// Prints progress for people who watch a long run.
pub fn progress(text: &str) {
    anstream::eprintln!("{text}");
}

pub fn word(verdict: Option<bool>) -> Option<&'static str> {
    verdict.map(|is_kept| if is_kept { "kept" } else { "broken" })
}

pub fn style(verdict: Option<bool>) -> anstyle::Style {
    verdict.map_or_else(Default::default, |is_kept| if is_kept { GREEN } else { RED })
}

/// Formats a number with a suitable number of decimals.
pub fn figure(number: f64) -> String {
    if number.abs() >= 1_000.0 {
        table::count(number.round() as u64)
    } else if number.fract().abs() < 1e-9 {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law_is_eighty_percent_and_fifty_milliseconds() {
        let judged = [
            Check::throughput("a", 1_000.0, 800.0),
            Check::throughput("a", 1_000.0, 799.0),
            Check::p99("a", 4.0, 54.0),
            Check::p99("a", 4.0, 54.1),
            Check::at_most_triple("a", 4.0, 12.0),
            Check::at_most_triple("a", 4.0, 12.1),
            Check::new("a", 1e9, Limit::None),
        ];
        let verdicts: Vec<_> = judged.iter().map(Check::is_kept).collect();
        assert_eq!(
            verdicts,
            [Some(true), Some(false), Some(true), Some(false), Some(true), Some(false), None]
        );
    }

    #[test]
    fn one_broken_check_fails_the_run() {
        let mut report = Report::new(true);
        report.count(Some(true));
        report.count(None);
        assert!(report.finish().is_ok());
        report.count(Some(false));
        let failure = report.finish().unwrap_err();
        assert!(failure.to_string().contains("1 of 2"), "{failure}");
    }
}
