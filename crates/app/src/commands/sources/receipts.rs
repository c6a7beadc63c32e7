//! What a source sent: receipts, rejected requests, and a test event.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::{path, show};
use crate::{
    commands::{
        Failure,
        client::{ClientArgs, filtered, rows},
        input::{self, Draft},
        table::{self, Facts, text},
    },
    operator_token,
    paint::{DIM, GREEN, RED},
    remote::Remote,
    settings::{self, Flags},
};

#[derive(Debug, Args)]
pub struct Receipts {
    /// Name of the partner.
    partner: String,
    /// Only receipts with this status: received, dispatched, failed or dlq.
    #[arg(long)]
    status: Option<String>,
    /// Only receipts of the partner's event with this id.
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// Maximum number of receipts.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub struct Rejections {
    /// Name of the partner. Default: requests that named no known partner.
    partner: Option<String>,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub struct Simulate {
    /// Name of the partner.
    partner: String,
    /// File with the JSON body to send, or `-` for standard input. Default: a generated body.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    #[command(flatten)]
    client: ClientArgs,
}

impl Receipts {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let filters = [("status", &self.status), ("event_id", &self.event_id)];
        let at = filtered(&format!("{}/receipts", path(&self.partner)), &filters);
        let found = rows(&remote, &at, self.limit).await?;
        if self.client.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say(&format!(
                "No receipts found for {0}. `gancho sources rejections {0}` lists rejected requests.",
                self.partner
            ));
        }
        show::receipts(&found.rows).print()?;
        if found.has_more {
            table::say(&format!("{DIM}… more receipts exist; use --limit to show them{DIM:#}"))?;
        }
        Ok(())
    }
}

impl Rejections {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let at = match &self.partner {
            Some(partner) => format!("{}/rejections", path(partner)),
            None => "/v1/rejections".to_owned(),
        };
        let found = remote.get(&at).await?;
        if self.client.json {
            return table::json(&found);
        }
        match found["data"].as_array().map(Vec::as_slice) {
            None | Some([]) => table::say("No requests were rejected."),
            Some(rows) => show::rejections(rows).print(),
        }
    }
}

impl Simulate {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = Draft::default();
        draft.put("partner", &self.partner)?;
        let body = self.body.as_deref().map(input::json).transpose()?;
        draft.maybe("body", body.as_ref())?;
        if !self.client.server.is_this_machine()? {
            return Err(Failure::usage(
                "test events are sent to the gateway of this machine only. hint: run this on the machine of the gateway, without --server and --profile",
            ));
        }
        let settings = settings::load(&Flags::default())?.settings;
        let token = operator_token::find(&settings)?;
        let remote = match token {
            Some(token) => Remote::at(settings.ingest_listen, token),
            None => Remote::open_to_all(settings.ingest_listen),
        };
        let done = match remote.post("/webhooks/_simulate", &draft).await {
            Err(error) if error.is_unreachable() => {
                return Err(Failure::unreachable(format!(
                    "no gateway is running on {} (ingest_listen). hint: start one on this machine with `gancho serve`",
                    settings.ingest_listen
                )));
            }
            other => other?,
        };
        if self.client.json {
            table::json(&done)?;
        } else {
            // A body that the caller gave is shown unchanged.
            let made = || text(&done["sent"]["body"]);
            print_simulation(&done, &body.map_or_else(made, |body| body.get().to_owned()))?;
        }
        let answer = &done["answer"];
        if answer["code"].is_string() {
            bail!(
                "the request was rejected: {} ({}, {})",
                text(&answer["detail"]),
                text(&answer["status"]),
                text(&answer["reason"])
            );
        }
        Ok(())
    }
}

fn print_simulation(done: &Value, body: &str) -> anyhow::Result<()> {
    table::say("Request:")?;
    let headers = done["sent"]["headers"].as_object();
    for (name, value) in headers.into_iter().flatten() {
        let (name, value) = (table::clean(name), table::clean(&text(value)));
        table::say(&format!("  {DIM}{name}:{DIM:#} {value}"))?;
    }
    table::say(&format!("  {}", table::clean(body)))?;
    let answer = &done["answer"];
    if answer["code"].is_string() {
        return table::say(&format!(
            "Response: {RED}{}{RED:#}, rejected.",
            text(&answer["status"])
        ));
    }
    let outcome = if answer["is_repeat"] == true { "duplicate" } else { "accepted" };
    table::say(&format!("Response: {GREEN}{}{GREEN:#}, {outcome}.", text(&answer["status"])))?;
    Facts::default()
        .add("receipt", text(&answer["receipt"]))
        .add("conflicts with", text(&answer["clashes_with"]))
        .add("policy signature", text(&answer["policy_sign"]))
        .print()
}
