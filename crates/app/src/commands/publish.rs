//! `gancho publish`: one event, or a file of them.
//!
//! `lines` reads the file, `batches` sends it, `counters` counts what was accepted.

mod batches;
mod counters;
mod lines;

use std::{io::IsTerminal, path::PathBuf};

use clap::Args;
use serde_json::{Value, value::RawValue};

use super::{
    Failure,
    client::TenantArgs,
    input::{self, Draft},
    table::{self, many, text},
};
use crate::remote::Remote;

/// Publish an event, or with --file many.
///
/// Prints the id once the event is stored and fsynced; from then on it is delivered.
#[derive(Debug, Args)]
pub struct Publish {
    /// Event type, e.g. invoice.paid. With --file, the type of every line, which is then the data alone.
    event_type: Option<String>,
    /// Data (JSON). Default: read from standard input.
    #[arg(conflicts_with = "file")]
    data: Option<String>,
    /// Read the data from this file, or from standard input if it is `-`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "file"])]
    data_file: Option<PathBuf>,
    /// What the event is about, e.g. an order id.
    #[arg(long, conflicts_with = "file")]
    subject: Option<String>,
    /// Your own id for the event.
    #[arg(long, value_name = "ID", conflicts_with = "file")]
    external_id: Option<String>,
    /// The same key within 24 hours publishes one event.
    #[arg(long, value_name = "KEY", conflicts_with = "file")]
    idempotency_key: Option<String>,
    /// Earliest delivery: a time, or a duration from now such as 10m.
    #[arg(long, value_name = "TIME", conflicts_with = "file")]
    deliver_at: Option<String>,
    #[command(flatten)]
    many: batches::ManyArgs,
    #[command(flatten)]
    acting: TenantArgs,
}

impl Publish {
    pub async fn run(self) -> anyhow::Result<()> {
        let as_json = self.acting.client.json;
        if let Some(path) = &self.many.file {
            let lines = lines::Lines::open(path, self.event_type.clone(), &self.many.run)?;
            let remote = self.acting.gateway().await?;
            return batches::publish(&remote, lines, &self.many, as_json).await;
        }
        let Some(event_type) = &self.event_type else {
            return Err(Failure::usage(
                "no event type is given. hint: gancho publish invoice.paid '{\"id\": \"inv_1\"}', or --file events.ndjson",
            ));
        };
        let mut draft = Draft::default();
        draft.put("type", event_type)?;
        draft.put("data", self.data()?)?;
        draft.maybe("subject", self.subject.as_ref())?;
        draft.maybe("external_id", self.external_id.as_ref())?;
        draft.maybe("idempotency_key", self.idempotency_key.as_ref())?;
        draft.maybe("deliver_at", self.deliver_at.as_deref().map(input::time))?;
        let remote = self.acting.gateway().await?;
        report(&send(&remote, &draft).await?, as_json)
    }

    fn data(&self) -> anyhow::Result<Box<RawValue>> {
        let given = match (&self.data, &self.data_file) {
            (Some(data), _) => data.clone(),
            (None, Some(path)) => input::text(path)?,
            (None, None) if std::io::stdin().is_terminal() => {
                return Err(Failure::usage(
                    "no data is given. hint: gancho publish invoice.paid '{\"id\": \"inv_1\"}'",
                ));
            }
            (None, None) => input::text("-".as_ref())?,
        };
        RawValue::from_string(given.trim().to_owned())
            .map_err(|error| Failure::usage(format!("the data is not JSON: {error}")))
    }
}

pub async fn send(remote: &Remote, event: &Draft) -> anyhow::Result<Value> {
    Ok(remote.post("/v1/events", event).await?)
}

/// Prints the id to standard output, for scripts; the rest to standard error, for people.
pub fn report(event: &Value, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        return table::json(event);
    }
    table::say(&text(&event["id"]))?;
    let to = match event["deliveries"].as_u64() {
        Some(0) | None => "it matched no endpoint".to_owned(),
        Some(count) => format!("to {}", many(count as usize, "endpoint")),
    };
    anstream::eprintln!("Published {}: {to}.", table::clean(&text(&event["type"])));
    Ok(())
}
