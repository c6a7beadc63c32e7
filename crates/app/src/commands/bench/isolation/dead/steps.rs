//! The steps of one kind as a table, with the verdict of each.

use clap::ValueEnum;
use serde_json::json;

use crate::commands::{
    bench::isolation::{
        arrivals::Figures,
        endpoint::FailureMode,
        report::{MAX_DELAY_MS, MIN_SHARE, Report, figure, progress, style, word},
    },
    table::{Table, cell, painted},
};

/// One measurement.
pub struct Step {
    pub dead: usize,
    /// Events per second for the dead endpoints, which are stored like any others.
    pub burden_rate: f64,
    pub figures: Figures,
    /// Publish calls for healthy endpoints that were not accepted.
    pub refused: usize,
    /// Requests that reached the dead endpoints.
    pub attempts: usize,
}

pub fn show(
    report: &mut Report,
    kind: FailureMode,
    is_same_tenant: bool,
    steps: &[Step],
) -> anyhow::Result<()> {
    let quiet = Baseline::of(steps);
    let mut table = Table::new(&[
        "dead",
        "dead/s",
        "healthy/s",
        "share",
        "p50 ms",
        "p99 ms",
        "limit",
        "max ms",
        "missing",
        "refused",
        "attempts",
        "verdict",
    ]);
    for step in steps {
        let Step { dead, burden_rate, figures, refused, attempts } = step;
        let share = quiet.share(step);
        let verdict = (*dead > 0).then(|| quiet.is_kept(step));
        report.count(verdict);
        report.line(&json!({
            "scenario": "dead", "kind": name(kind), "same_tenant": is_same_tenant,
            "dead": dead, "dead_events_per_second": burden_rate,
            "per_second": figures.per_second.round(), "share": share,
            "p50_ms": figures.p50_ms, "p99_ms": figures.p99_ms, "max_ms": figures.max_ms,
            "limit_ms": quiet.p99_ms + MAX_DELAY_MS, "missing": figures.missing,
            "refused": refused, "attempts": attempts, "verdict": word(verdict),
        }))?;
        table.row([
            cell(dead.to_string()),
            cell(figure(*burden_rate)),
            cell(figure(figures.per_second.round())),
            cell(format!("{:.0} %", share * 100.0)),
            cell(figure(figures.p50_ms)),
            cell(figure(figures.p99_ms)),
            cell(figure(quiet.p99_ms + MAX_DELAY_MS)),
            cell(figure(figures.max_ms)),
            cell(figure(figures.missing as f64)),
            cell(figure(*refused as f64)),
            cell(if attempts_are_seen(kind) { figure(*attempts as f64) } else { "-".into() }),
            painted(word(verdict).unwrap_or_default(), style(verdict)),
        ]);
    }
    let owner = if is_same_tenant { "one tenant" } else { "a tenant each" };
    let title = format!("Healthy endpoints beside dead ones: {} ({owner})", name(kind));
    report.table(&title, &table)?;
    if !quiet.is_steady {
        progress(
            "dead: the two steps without dead endpoints differ by more than a fifth: something else \
             uses this machine, so run it again",
        );
    }
    Ok(())
}

/// What the healthy endpoints get without dead ones: the mean of the throughputs and the higher of the
/// latencies, so that a machine that changes its speed during the run is not taken for a fault.
struct Baseline {
    per_second: f64,
    p99_ms: f64,
    /// Both throughputs are within the share that the law asks for.
    is_steady: bool,
}

impl Baseline {
    fn of(steps: &[Step]) -> Self {
        let quiet: Vec<&Figures> =
            steps.iter().filter(|step| step.dead == 0).map(|step| &step.figures).collect();
        let rates = || quiet.iter().map(|figures| figures.per_second);
        let (lowest, highest) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
        Self {
            per_second: rates().sum::<f64>() / quiet.len().max(1) as f64,
            is_steady: lowest >= highest * MIN_SHARE,
            p99_ms: quiet.iter().map(|figures| figures.p99_ms).fold(0.0, f64::max),
        }
    }

    /// Healthy deliveries, as a share of what the machine can do beside storing the events for the dead endpoints: these
    /// are work that somebody asked for, and take the same whether their endpoints are dead or not.
    fn share(&self, Step { figures, burden_rate, .. }: &Step) -> f64 {
        figures.per_second / (self.per_second - burden_rate).max(1.0)
    }

    fn is_kept(&self, step: &Step) -> bool {
        let Step { figures, refused, .. } = step;
        self.share(step) >= MIN_SHARE
            && figures.p99_ms <= self.p99_ms + MAX_DELAY_MS
            && figures.missing == 0
            && *refused == 0
    }
}

pub fn name(kind: FailureMode) -> String {
    kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Whether endpoints of this kind can count attempts, which those that accept no connection cannot.
fn attempts_are_seen(kind: FailureMode) -> bool {
    !matches!(kind, FailureMode::Refuse | FailureMode::Blackhole)
}
