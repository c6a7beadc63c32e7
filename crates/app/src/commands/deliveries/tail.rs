//! `gancho deliveries tail`: a line for each change of a delivery, as it happens.

use std::{
    io::{ErrorKind, Write},
    time::Duration,
};

use anstyle::Style;
use clap::Args;
use serde_json::Value;

use crate::{
    commands::{
        client::{ClientArgs, filtered},
        table::{clean, text},
    },
    paint::{DIM, GREEN, RED, YELLOW},
    remote::{Remote, RemoteError},
};

#[derive(Debug, Args)]
pub struct Tail {
    /// Slug or id of a tenant. Default: all tenants.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    tenant: Option<String>,
    /// Only deliveries to this endpoint: wh_…
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only events of this type, or of all types with a prefix: invoice.paid, 'invoice.*'.
    #[arg(long = "type", value_name = "PATTERN")]
    event_type: Option<String>,
    /// Only changes after which a delivery has this status: pending, retrying, delivered or failed.
    #[arg(long)]
    status: Option<String>,
    /// Lane: webhook, dispatch or email. Default: webhook.
    #[arg(long)]
    lane: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

/// Time between two attempts to reconnect.
const RECONNECT: Duration = Duration::from_secs(2);

/// Why the printing ended without an error.
enum End {
    /// Nobody reads the output any more.
    Closed,
    Lost,
}

impl Tail {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway_for(self.tenant.as_deref()).await?;
        let path = filtered(
            "/v1/deliveries/tail",
            &[
                ("webhook_id", &self.endpoint),
                ("event_type", &self.event_type),
                ("status", &self.status),
                ("lane", &self.lane),
            ],
        );
        let mut is_lost = false;
        loop {
            match follow(&remote, &path, self.client.json).await {
                Ok(End::Closed) => return Ok(()),
                Ok(End::Lost) => {}
                // A gateway that restarts is unavailable for a moment.
                Err(error) if is_lost && error.is_passing() => {}
                Err(error) => return Err(error.into()),
            }
            if !is_lost {
                anstream::eprintln!("connection lost; reconnecting");
            }
            is_lost = true;
            tokio::time::sleep(RECONNECT).await;
        }
    }
}

async fn follow(remote: &Remote, path: &str, as_json: bool) -> Result<End, RemoteError> {
    let mut events = remote.events(path).await?;
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Ok(None) | Err(RemoteError::Interrupted(_)) => return Ok(End::Lost),
            Err(error) => return Err(error),
        };
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let line = match event.name.as_str() {
            "delivery" if as_json => event.data,
            "delivery" => line(&data),
            "missed" => {
                anstream::eprintln!("{} changes were too fast to show", data["count"]);
                continue;
            }
            "end" => return Ok(End::Lost),
            _ => continue,
        };
        let mut out = anstream::stdout();
        match writeln!(out, "{line}").and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(End::Closed),
            Err(error) => return Err(RemoteError::Interrupted(error.to_string())),
        }
    }
}

/// Returns a line such as `14:32:47.120  delivered       #1  200    184 ms   invoice.paid  acme  wh_…  dlv_…`
fn line(event: &Value) -> String {
    let at = text(&event["at"]);
    let time = at.split_once('T').map_or(at.as_str(), |(_, time)| time.trim_end_matches('Z'));
    let change = text(&event["change"]);
    let style = style(&change);
    let attempt = match event["latency_ms"].as_f64() {
        Some(millis) => {
            let status = event["response_status"].as_u64().map(|status| status.to_string());
            let code = status.unwrap_or_else(|| text(&event["last_error_code"]));
            let number = text(&event["attempts"]);
            format!("#{number:<2} {code:<4} {millis:>5.0} ms")
        }
        None => String::new(),
    };
    let what = ["event_type", "partner", "outbox_id"].map(|name| text(&event[name]));
    let what = what.into_iter().find(|what| !what.is_empty()).unwrap_or_default();
    let mut line = format!(
        "{DIM}{}{DIM:#}  {style}{change:<14}{style:#}  {attempt:<18}  {}",
        clean(time),
        clean(&what)
    );
    for name in ["tenant", "webhook_id", "id"] {
        if let Some(value) = event[name].as_str() {
            line.extend(["  ", &clean(value)]);
        }
    }
    match (event["next_retry_at"].as_str(), event["last_error"].as_str()) {
        (Some(next), _) => line.extend(["  next attempt at ", &clean(next)]),
        (None, Some(why)) if change == "failed" => line.extend(["  ", &clean(why)]),
        _ => {}
    }
    line
}

fn style(change: &str) -> Style {
    match change {
        "delivered" => GREEN,
        "attempt_failed" => YELLOW,
        "failed" => RED,
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(event: &Value) -> String {
        anstream::adapter::strip_str(&line(event)).to_string()
    }

    #[test]
    fn a_line_says_what_happened() {
        let event = json!({
            "at": "2026-11-15T14:32:47.120Z", "change": "delivered", "latency_ms": 184.2, "attempts": 1,
            "response_status": 200, "event_type": "invoice.paid", "tenant": "acme",
            "webhook_id": "wh_1", "id": "dlv_1",
        });
        let expected =
            "14:32:47.120  delivered       #1  200    184 ms   invoice.paid  acme  wh_1  dlv_1";
        assert_eq!(plain(&event), expected);
    }

    #[test]
    fn a_failure_says_why_and_what_follows() {
        let event = json!({
            "at": "2026-11-15T14:32:47.120Z", "change": "failed", "latency_ms": 12.0, "attempts": 3,
            "last_error_code": "TIMEOUT", "last_error": "no answer\nwithin 10 s", "event_type": "a.b",
            "id": "dlv_1", "next_retry_at": null,
        });
        let shown = plain(&event);
        assert!(shown.contains("#3  TIMEOUT"), "{shown}");
        assert!(shown.ends_with("a.b  dlv_1  no answer·within 10 s"), "{shown}");
        let event = json!({
            "at": "2026-11-15T14:32:47.120Z", "change": "attempt_failed", "latency_ms": 12.0,
            "attempts": 1, "response_status": 503, "event_type": "a.b", "id": "dlv_1",
            "next_retry_at": "2026-11-15T14:33:00.000Z",
        });
        let shown = plain(&event);
        assert!(shown.ends_with("dlv_1  next attempt at 2026-11-15T14:33:00.000Z"), "{shown}");
    }
}
