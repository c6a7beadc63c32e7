//! `gancho erase`: erases the content of events, e-mails and receipts.

use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::AnyTenantArgs,
    input::confirmed,
    table::{self, Facts, text},
};
use crate::remote::Remote;

/// How long to wait for deliveries in flight.
const TIMEOUT: Duration = Duration::from_secs(60);
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Erase the content of events, e-mails or receipts.
///
/// Payloads, headers, addresses and texts are erased, also of attempts and dead letters, and in the archive. Waiting
/// deliveries are canceled. Ids, times, states and the ledger stay, so that the ledger still verifies. Backups are yours
/// to delete.
#[derive(Debug, Args)]
pub struct Erase {
    #[command(subcommand)]
    what: ErasureScope,
}

#[derive(Debug, Subcommand)]
enum ErasureScope {
    /// Erase the content of an event: evt_…
    Event(ErasureArgs),
    /// Erase the content of an e-mail: out_…
    Email(ErasureArgs),
    /// Erase the content of a received webhook: rcp_…
    Receipt(ErasureArgs),
    /// Erase all events of a subject of a tenant.
    Subject(ErasureArgs),
    /// Erase all e-mails of a tenant to an address.
    Address(ErasureArgs),
}

#[derive(Debug, Args)]
struct ErasureArgs {
    /// The id, the subject or the address.
    #[arg(value_name = "WHAT")]
    value: String,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Erase {
    pub async fn run(self) -> anyhow::Result<()> {
        let (field, noun, one) = match self.what {
            ErasureScope::Event(one) => ("event_id", "the content of the event", one),
            ErasureScope::Email(one) => ("outbox_id", "the content of the e-mail", one),
            ErasureScope::Receipt(one) => ("receipt_id", "the content of the receipt", one),
            ErasureScope::Subject(one) => {
                ("subject", "the content of all events of the subject", one)
            }
            ErasureScope::Address(one) => ("email_address", "the content of all e-mails to", one),
        };
        one.run(field, noun).await
    }
}

impl ErasureArgs {
    async fn run(self, field: &str, noun: &str) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        confirmed(&format!("Erase {noun} {}? This cannot be undone.", self.value), self.yes)?;
        let total = erase(&remote, field, &self.value).await?;
        if self.acting.client.json {
            return table::json(&total);
        }
        Facts::default()
            .add("erased", text(&total["erased"]))
            .add("erased before", text(&total["already_erased"]))
            .add("deliveries canceled", text(&total["canceled"]))
            .add("removed from the archive", text(&total["archived"]))
            .print()?;
        match total["in_flight"].as_u64() {
            None | Some(0) => Ok(()),
            Some(count) => anyhow::bail!(
                "{count} could not be erased because deliveries are in flight. hint: run the command again"
            ),
        }
    }
}

/// Erases all pages, and again while something is in flight.
async fn erase(remote: &Remote, field: &str, value: &str) -> anyhow::Result<Value> {
    let began = Instant::now();
    let mut total = json!({});
    loop {
        let in_flight = pass(remote, field, value, &mut total, began).await?;
        total["in_flight"] = in_flight.into();
        if in_flight == 0 || began.elapsed() > TIMEOUT {
            return Ok(total);
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Erases one page. Returns how many were in flight.
async fn pass(
    remote: &Remote,
    field: &str,
    value: &str,
    total: &mut Value,
    began: Instant,
) -> anyhow::Result<u64> {
    let (mut in_flight, mut body) = (0, json!({ field: value }));
    loop {
        let report = match remote.post("/v1/erasures", &body).await {
            // One event, whose delivery is in flight.
            Err(error) if error.to_string().contains("in flight") && began.elapsed() < TIMEOUT => {
                return Ok(1);
            }
            report => report?,
        };
        for name in ["erased", "already_erased", "canceled", "archived"] {
            let sum = total[name].as_u64().unwrap_or(0) + report[name].as_u64().unwrap_or(0);
            total[name] = sum.into();
        }
        in_flight += report["in_flight"].as_u64().unwrap_or(0);
        match &report["next_cursor"] {
            Value::Null => return Ok(in_flight),
            cursor => body["cursor"] = cursor.clone(),
        }
    }
}
