//! What came from a source: what was kept, what was turned away, and a test event.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::{path, show};
use crate::{
    admin_token,
    commands::{
        given::{self, Draft},
        running::{Running, filtered, rows},
        table::{self, Facts, text},
    },
    paint::{DIM, GREEN, RED},
    remote::Remote,
};

#[derive(Debug, Args)]
pub struct Receipts {
    /// The partner's name.
    partner: String,
    /// Only those that are received, dispatched, failed or dlq.
    #[arg(long)]
    status: Option<String>,
    /// Only of the partner's event of this id.
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// How many at most.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
pub struct Rejections {
    /// The partner's name. Left out: those that named no partner whom the gateway knows.
    partner: Option<String>,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
pub struct Simulate {
    /// The partner's name.
    partner: String,
    /// A file with the body to send, which must be JSON; - is standard input. Left out: one is made.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    #[command(flatten)]
    running: Running,
}

impl Receipts {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.running.gateway().await?;
        let filters = [("status", &self.status), ("event_id", &self.event_id)];
        let at = filtered(&format!("{}/receipts", path(&self.partner)), &filters);
        let found = rows(&remote, &at, self.limit).await?;
        if self.running.json {
            return table::json(&found.json());
        }
        if found.rows.is_empty() {
            return table::say(&format!(
                "Nothing of the kind was received from {0}. `gancho sources rejections {0}` shows what was turned away.",
                self.partner
            ));
        }
        show::receipts(&found.rows).print()?;
        if found.has_more {
            table::say(&format!("{DIM}… and older ones: --limit says how many are shown{DIM:#}"))?;
        }
        Ok(())
    }
}

impl Rejections {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.running.gateway().await?;
        let at = match &self.partner {
            Some(partner) => format!("{}/rejections", path(partner)),
            None => "/v1/rejections".to_owned(),
        };
        let found = remote.get(&at).await?;
        if self.running.json {
            return table::json(&found);
        }
        match found["data"].as_array().map(Vec::as_slice) {
            None | Some([]) => table::say("Nothing was turned away."),
            Some(rows) => show::rejections(rows).print(),
        }
    }
}

impl Simulate {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = Draft::default();
        draft.put("partner", &self.partner)?;
        let body = self.body.as_deref().map(given::json).transpose()?;
        draft.maybe("body", body.as_ref())?;
        let settings = self.running.settings()?;
        let token = admin_token::find(&settings)?;
        let remote = match token {
            Some(token) => Remote::at(settings.ingest_listen, token),
            None => Remote::open_to_all(settings.ingest_listen),
        };
        let done = match remote.post("/webhooks/_simulate", &draft).await {
            Err(fault) if fault.is_unreachable() => bail!(
                "no gateway receives on {} (ingest_listen). hint: start one here with `gancho serve`",
                remote.address()
            ),
            other => other?,
        };
        if self.running.json {
            table::json(&done)?;
        } else {
            // What was given is shown as it was given.
            let made = || text(&done["sent"]["body"]);
            tell(&done, &body.map_or_else(made, |body| body.get().to_owned()))?;
        }
        let answer = &done["answer"];
        if answer["code"].is_string() {
            bail!(
                "it was turned away: {} ({}, {})",
                text(&answer["detail"]),
                text(&answer["status"]),
                text(&answer["reason"])
            );
        }
        Ok(())
    }
}

fn tell(done: &Value, body: &str) -> anyhow::Result<()> {
    table::say("Sent as the partner would:")?;
    let headers = done["sent"]["headers"].as_object();
    for (name, value) in headers.into_iter().flatten() {
        let (name, value) = (table::clean(name), table::clean(&text(value)));
        table::say(&format!("  {DIM}{name}:{DIM:#} {value}"))?;
    }
    table::say(&format!("  {}", table::clean(body)))?;
    let answer = &done["answer"];
    if answer["code"].is_string() {
        return table::say(&format!("Answered {RED}{}{RED:#}.", text(&answer["status"])));
    }
    let kept = if answer["is_repeat"] == true { "known already" } else { "kept" };
    table::say(&format!("Answered {GREEN}{}{GREEN:#}, {kept}:", text(&answer["status"])))?;
    Facts::default()
        .add("receipt", text(&answer["receipt"]))
        .add("clashes with", text(&answer["clashes_with"]))
        .add("policy sign", text(&answer["policy_sign"]))
        .print()
}
