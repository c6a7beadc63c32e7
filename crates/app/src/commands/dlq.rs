//! `gancho dlq`: dead letters, the deliveries that failed permanently.
//!
//! `replay` sends them again, `export` writes them to a file, `import` restores them.

mod export;
mod import;
mod replay;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Failure,
    client::{AnyTenantArgs, Window, filtered, rows, show_list},
    input::confirmed,
    table::{self, Facts, Table, age, cell, count, flexible, painted, text, when},
};
use crate::{
    paint::RED,
    remote::{Remote, part},
};

/// Manage dead letters: deliveries that failed permanently.
#[derive(Debug, Args)]
pub struct Dlq {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List dead letters, newest first.
    List(List),
    /// Count dead letters by lane, tenant, partner and failure code.
    Stats(FilterArgs),
    /// Show a dead letter with its data.
    Show(DeadLetterArgs),
    /// Send dead letters again: one, or all that match a filter, oldest first.
    Replay(replay::Replay),
    /// Write dead letters with their data as JSON lines.
    Export(export::Export),
    /// Bring archived or exported dead letters back, so that they can be replayed.
    ///
    /// They keep their ids, times and attempts, and expire `dead_letter_ttl` after the import. What is in the store
    /// already is not written again, so that the same command can be repeated. Objects of an archive in S3 are read
    /// with its own tools: `aws s3 cp s3://BUCKET/KEY - | gancho dlq import -`.
    Import(import::Import),
    /// Delete dead letters: one, or all that match a filter. They stay in the delivery log as failed.
    Purge(Purge),
}

/// Which dead letters.
#[derive(Debug, Args)]
struct Filter {
    /// Only this lane: webhook, dispatch or email.
    #[arg(long)]
    lane: Option<String>,
    /// Only dead letters of this partner.
    #[arg(long)]
    partner: Option<String>,
    /// Only dead letters with this failure code, e.g. HTTP_503.
    #[arg(long)]
    code: Option<String>,
    #[command(flatten)]
    window: Window,
}

impl Filter {
    fn path(&self, path: &str) -> String {
        let filters = [
            ("lane", &self.lane),
            ("partner", &self.partner),
            ("code", &self.code),
            ("since", &self.window.since()),
            ("until", &self.window.until()),
        ];
        filtered(path, &filters)
    }

    fn is_empty(&self) -> bool {
        self.path("").is_empty()
    }
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    filter: Filter,
    /// Maximum number of dead letters.
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct FilterArgs {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct DeadLetterArgs {
    /// Id of the delivery: dlv_…
    id: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Purge {
    /// Id of one delivery: dlv_… Default: all that match the filters.
    id: Option<String>,
    #[command(flatten)]
    filter: Filter,
    /// Delete all of them. Required if no filter is given.
    #[arg(long)]
    all: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Dlq {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.acting.gateway().await?;
                let found = rows(&remote, &list.filter.path("/v1/dlq"), list.limit).await?;
                show_list(&list.acting.client, &found, "There are no dead letters.", letters)
            }
            Action::Stats(of) => {
                let remote = of.acting.gateway().await?;
                let stats = remote.get(&of.filter.path("/v1/dlq/stats")).await?;
                if of.acting.client.json { table::json(&stats) } else { show_stats(&stats) }
            }
            Action::Show(one) => {
                let letter = one.acting.gateway().await?.get(&path(&one.id)).await?;
                if one.acting.client.json { table::json(&letter) } else { show(&letter) }
            }
            Action::Replay(replay) => replay.run().await,
            Action::Export(export) => export.run().await,
            Action::Import(import) => import.run().await,
            Action::Purge(purge) => purge.run().await,
        }
    }
}

fn path(id: &str) -> String {
    format!("/v1/dlq/{}", part(id))
}

/// Returns how many dead letters match.
async fn total(remote: &Remote, filter: &Filter) -> anyhow::Result<u64> {
    let stats = remote.get(&filter.path("/v1/dlq/stats")).await?;
    Ok(stats["total"].as_u64().unwrap_or(0))
}

impl Purge {
    async fn run(self) -> anyhow::Result<()> {
        let remote = self.acting.gateway().await?;
        let as_json = self.acting.client.json;
        if let Some(id) = &self.id {
            confirmed(&format!("Delete the dead letter {id}?"), self.yes)?;
            remote.delete(&path(id)).await?;
            return if as_json {
                table::json(&json!({ "purged": 1 }))
            } else {
                table::say(&format!("Deleted {id}."))
            };
        }
        if self.filter.is_empty() && !self.all {
            return Err(Failure::usage(
                "no filter is given. hint: give one, or --all to delete all dead letters",
            ));
        }
        let total = total(&remote, &self.filter).await?;
        let question = format!("Delete {}? They cannot be replayed afterwards.", letters_of(total));
        confirmed(&question, self.yes)?;
        let mut purged = 0;
        let path = filtered(
            &self.filter.path("/v1/dlq"),
            &[("all", &self.all.then(|| "true".to_owned()))],
        );
        loop {
            let done = remote.delete(&path).await.inspect_err(|_| {
                if purged > 0 {
                    anstream::eprintln!("{} were deleted before the error", letters_of(purged));
                }
            })?;
            purged += done["purged"].as_u64().unwrap_or(0);
            if done["has_more"] != true {
                break;
            }
        }
        if as_json {
            return table::json(&json!({ "purged": purged }));
        }
        table::say(&format!("Deleted {}.", letters_of(purged)))
    }
}

/// Returns text such as `1 dead letter` or `2,000 dead letters`.
fn letters_of(number: u64) -> String {
    table::many(number as usize, "dead letter")
}

fn letters(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["delivery", "lane", "code", "attempts", "age", "reason"]);
    for row in rows {
        shown.row([
            cell(text(&row["id"])),
            cell(text(&row["lane"])),
            painted(text(&row["last_failure_code"]), RED),
            cell(text(&row["failed_attempts"])),
            cell(age(&row["moved_to_dlq_at"])),
            flexible(text(&row["last_failure_reason"])),
        ]);
    }
    shown
}

fn show_stats(stats: &Value) -> anyhow::Result<()> {
    Facts::default()
        .add("dead letters", count(stats["total"].as_u64().unwrap_or(0)))
        .add("oldest", when(&stats["oldest"]))
        .print()?;
    for (title, name) in [
        ("lane", "by_lane"),
        ("failure code", "by_code"),
        ("tenant", "by_tenant"),
        ("partner", "by_partner"),
    ] {
        let Some(counts) = stats[name].as_object().filter(|counts| !counts.is_empty()) else {
            continue;
        };
        let mut counts: Vec<(&String, u64)> =
            counts.iter().map(|(name, number)| (name, number.as_u64().unwrap_or(0))).collect();
        counts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
        table::say("")?;
        let mut facts = Facts::default();
        for (name, number) in counts {
            facts.add_owned(name, count(number));
        }
        table::say(title)?;
        facts.print()?;
    }
    Ok(())
}

fn show(letter: &Value) -> anyhow::Result<()> {
    Facts::default()
        .add("delivery", text(&letter["id"]))
        .add("lane", text(&letter["lane"]))
        .add("of", text(&letter["subject_id"]))
        .add("tenant", text(&letter["tenant_id"]))
        .add("partner", text(&letter["partner"]))
        .add("endpoint", text(&letter["target_id"]))
        .add("target", text(&letter["target_url"]))
        .add("attempts", text(&letter["failed_attempts"]))
        .add("code", text(&letter["last_failure_code"]))
        .add("provider code", text(&letter["last_provider_code"]))
        .add("reason", text(&letter["last_failure_reason"]))
        .add("last attempt", when(&letter["last_failure_timestamp"]))
        .add("failed", when(&letter["moved_to_dlq_at"]))
        .add("expires", when(&letter["expires_at"]))
        .print()?;
    table::say(&format!("\n{}", table::clean_lines(&format!("{:#}", letter["original_data"]))))
}
