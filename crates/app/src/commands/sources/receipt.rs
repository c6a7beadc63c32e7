//! Shows one receipt with all its details, and sends receipts again.

use clap::Args;
use serde_json::Value;

use super::{path, show};
use crate::{
    commands::{
        Failure,
        client::ClientArgs,
        input::Draft,
        table::{self, text},
    },
    remote::part,
};

#[derive(Debug, Args)]
pub struct Receipt {
    /// Name of the partner.
    partner: String,
    /// Id of the receipt: rcp_…
    #[arg(value_name = "RECEIPT")]
    id: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
pub struct Retry {
    /// Name of the partner.
    partner: String,
    /// Id of the receipt: rcp_… Default: all receipts that match the filters.
    #[arg(conflicts_with_all = ["status", "event_id", "since", "until", "all", "rate", "dry_run"])]
    receipt: Option<String>,
    /// Only receipts with this status: received, dispatched, failed or dlq.
    #[arg(long)]
    status: Option<String>,
    /// Only receipts of the partner's event with this id.
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// Only receipts received at or after this time, e.g. 2026-12-01T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only receipts received before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// All receipts of the source.
    #[arg(long)]
    all: bool,
    /// Maximum dispatches per second. Default: 100.
    #[arg(long, value_name = "COUNT")]
    rate: Option<u32>,
    /// Only count the matching deliveries; dispatch nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    client: ClientArgs,
}

impl Receipt {
    pub async fn run(self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let at = format!("{}/receipts/{}", path(&self.partner), part(&self.id));
        let receipt = remote.get(&at).await?;
        if self.client.json {
            return table::json(&receipt);
        }
        show::receipt(&receipt)
    }
}

impl Retry {
    pub async fn run(self) -> anyhow::Result<()> {
        match &self.receipt {
            Some(receipt) => self.one(receipt).await,
            None => self.many().await,
        }
    }

    async fn one(&self, receipt: &str) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let at = format!("{}/receipts/{}/retry", path(&self.partner), part(receipt));
        let done = remote.post(&at, &Draft::default()).await?;
        if self.client.json {
            return table::json(&done);
        }
        let targets = done["deliveries"].as_array().map(Vec::as_slice).unwrap_or_default();
        let urls = targets.iter().map(|one| text(&one["target_url"]));
        let urls = urls.filter(|url| !url.is_empty()).collect::<Vec<_>>().join(", ");
        table::say(&format!("Dispatching {receipt} again, to {urls}."))
    }

    async fn many(&self) -> anyhow::Result<()> {
        let mut draft = Draft::default();
        for (name, value) in [
            ("status", &self.status),
            ("event_id", &self.event_id),
            ("since", &self.since),
            ("until", &self.until),
        ] {
            draft.maybe(name, value.as_ref())?;
        }
        if draft.is_empty() && !self.all {
            return Err(Failure::usage(
                "a receipt id or a filter is required. hint: filter with --status, --event-id, --since or --until, or pass --all",
            ));
        }
        if self.all {
            draft.put("all", true)?;
        }
        draft.maybe("rate", self.rate)?;
        if self.dry_run {
            draft.put("dry_run", true)?;
        }
        let remote = self.client.gateway().await?;
        let job = remote.post(&format!("{}/receipts/retry", path(&self.partner)), &draft).await?;
        if self.client.json {
            return table::json(&job);
        }
        table::say(&summary(&job, self.dry_run))
    }
}

fn summary(job: &Value, is_dry_run: bool) -> String {
    if is_dry_run {
        let prefix = if job["is_total_exact"] == false { "At least " } else { "" };
        return format!("{prefix}{} deliveries would be dispatched again.", text(&job["total"]));
    }
    format!("Started replay {} at {} deliveries per second.", text(&job["id"]), text(&job["rate"]))
}
