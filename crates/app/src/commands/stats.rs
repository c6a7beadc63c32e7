//! `gancho stats`: statistics of deliveries over time, as a table with a bar for each step, from a running
//! gateway.

use clap::Args;
use serde_json::Value;

use super::{
    client::{ClientArgs, filtered},
    table::{self, Cell, Facts, Table, cell, count, millis, painted, when},
};
use crate::{
    paint::{DIM, RED},
    remote::part,
};

/// Show statistics of deliveries: accepted, delivered, failed, and how long they took.
#[derive(Debug, Args)]
pub struct Stats {
    /// How far back: 15m, 1h, 6h, 24h, 7d or 30d.
    #[arg(long, default_value = "24h")]
    range: String,
    /// Length of a row: 1m, 5m, 15m, 30m, 1h, 2h, 6h, 8h, 12h or 1d. Default: about 24 rows.
    #[arg(long)]
    step: Option<String>,
    /// Slug or id of a tenant. Default: the whole gateway.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    tenant: Option<String>,
    /// Id of one of the tenant's endpoints: wh_…
    #[arg(long, value_name = "ID", requires = "tenant")]
    endpoint: Option<String>,
    /// Only this lane: webhook, dispatch or email.
    #[arg(long, conflicts_with = "endpoint")]
    lane: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Characters of the longest bar.
const BAR: u64 = 16;

impl Stats {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway_for(self.tenant.as_deref()).await?;
        let step = self.step.clone().or_else(|| default_step(&self.range).map(str::to_owned));
        let path = match &self.endpoint {
            Some(id) => format!("/v1/webhooks/{}/stats", part(id)),
            None => "/v1/stats".to_owned(),
        };
        let filters = [("range", &Some(self.range)), ("step", &step), ("lane", &self.lane)];
        let stats = remote.get(&filtered(&path, &filters)).await?;
        if self.client.json { table::json(&stats) } else { show(&stats) }
    }
}

/// Returns the default step. The gateway refuses unknown ranges.
fn default_step(range: &str) -> Option<&'static str> {
    match range {
        "15m" => Some("1m"),
        "1h" => Some("5m"),
        "6h" => Some("15m"),
        "24h" => Some("1h"),
        "7d" => Some("6h"),
        "30d" => Some("1d"),
        _ => None,
    }
}

fn show(stats: &Value) -> anyhow::Result<()> {
    let bins = stats["bins"].as_array().map(Vec::as_slice).unwrap_or_default();
    let max = bins.iter().map(attempts).max().unwrap_or(0);
    let heads = &["from (UTC)", "accepted", "delivered", "failed", "dead", "p95", "attempts"];
    let mut shown = Table::new(heads);
    for bin in bins {
        shown.row([
            cell(minute(&bin["at"])),
            number(&bin["accepted"]),
            number(&bin["delivered"]),
            alarming(&bin["failed_attempts"]),
            alarming(&bin["dead_letters"]),
            cell(millis(&bin["response_time"]["p95_ms"])),
            cell(bar(bin, max)),
        ]);
    }
    shown.print()?;
    table::say("")?;
    facts(&stats["totals"]).print()
}

fn facts(totals: &Value) -> Facts {
    let share = totals["success_share"].as_f64();
    let times = |of: &Value| match of {
        Value::Null => String::new(),
        of => format!(
            "p50 {}, p95 {}, p99 {}",
            millis(&of["p50_ms"]),
            millis(&of["p95_ms"]),
            millis(&of["p99_ms"])
        ),
    };
    let of = |name: &str| count(totals[name].as_u64().unwrap_or(0));
    let mut facts = Facts::default();
    facts
        .add("accepted", of("accepted"))
        .add(
            "delivered",
            format!(
                "{}, {} at the first attempt",
                of("delivered"),
                of("delivered_at_first_attempt")
            ),
        )
        .add("dead letters", of("dead_letters"))
        .add("attempts", format!("{}, {} failed", of("attempts"), of("failed_attempts")))
        .add("success", share.map(|share| format!("{:.2} %", share * 100.0)).unwrap_or_default())
        .add("response time", times(&totals["response_time"]))
        .add("delivery time", times(&totals["delivery_time"]));
    facts
}

/// Returns a time without its seconds.
fn minute(value: &Value) -> String {
    let time = when(value);
    time.strip_suffix(":00").map_or(time.clone(), ToOwned::to_owned)
}

fn attempts(bin: &Value) -> u64 {
    bin["attempts"].as_u64().unwrap_or(0)
}

/// Returns a bar: attempts that succeeded, then those that failed. Values above zero are always visible.
fn bar(bin: &Value, max: u64) -> String {
    let failed = bin["failed_attempts"].as_u64().unwrap_or(0);
    let length = |count: u64| (count * BAR).div_ceil(max.max(1)) as usize;
    let succeeded = attempts(bin).saturating_sub(failed);
    "█".repeat(length(succeeded)) + &"░".repeat(length(failed))
}

fn number(value: &Value) -> Cell {
    match value.as_u64() {
        None | Some(0) => painted("·", DIM),
        Some(number) => cell(count(number)),
    }
}

fn alarming(value: &Value) -> Cell {
    match value.as_u64() {
        None | Some(0) => painted("·", DIM),
        Some(number) => painted(count(number), RED),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bars_show_what_failed_and_every_attempt() {
        let of = |attempts: u64, failed: u64| {
            bar(&json!({"attempts": attempts, "failed_attempts": failed}), 1_000)
        };
        assert_eq!(of(0, 0), "");
        assert_eq!(of(1_000, 0), "█".repeat(16));
        assert_eq!(of(500, 1), "█".repeat(8) + "░");
        assert_eq!(of(1, 1), "░");
    }

    #[test]
    fn durations_are_short() {
        let shown = [json!(0.4), json!(35.0), json!(1_500), json!(600_000), Value::Null]
            .map(|one| millis(&one));
        assert_eq!(shown, ["0 ms", "35 ms", "1.5 s", "10 min", ""]);
    }
}
