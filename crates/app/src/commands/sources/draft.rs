//! Making a source and changing one.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::{path, show};
use crate::{
    commands::{
        Failure,
        given::{self, Draft},
        running::Running,
        table,
    },
    paint::YELLOW,
};

#[derive(Debug, Args)]
pub struct Create {
    /// The name in the path: lower-case letters, digits and -. It never changes.
    partner: String,
    #[command(flatten)]
    about: About,
    /// Take nothing from it yet.
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    running: Running,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Change {
    /// The partner's name.
    partner: String,
    #[command(flatten)]
    about: About,
    /// Take nothing from it until it is activated again.
    #[arg(long, conflicts_with = "activate")]
    pause: bool,
    /// Take what it posts.
    #[arg(long)]
    activate: bool,
    /// Take bodies of any form.
    #[arg(long, conflicts_with = "schema")]
    no_schema: bool,
    /// Take them as fast as they come.
    #[arg(long, conflicts_with = "rate")]
    no_rate: bool,
    /// Find the event's id where the preset has it.
    #[arg(long, conflicts_with = "event_id")]
    no_event_id: bool,
    #[command(flatten)]
    running: Running,
}

/// What may be said of a source.
#[derive(Debug, Args)]
struct About {
    /// How it signs: partner, standard, stripe, github, slack, shopify, meta, microsoft, or JSON such
    /// as {"token": {"header": "X-Token"}} or {"generic": {…}}.
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Where receipts go; several are given one by one. Left out: the core on this machine,
    /// http://127.0.0.1:9458/core/hooks/ingest.
    #[arg(long, value_name = "URL")]
    target: Vec<String>,
    /// A file with a JSON Schema that bodies must fit.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// How many each key may bring in which time, such as 100/1s or 1000/1m.
    #[arg(long, value_name = "COUNT/SPAN")]
    rate: Option<String>,
    /// A JSON pointer to the event's id in the body, by which an event is kept once, such as /event_id.
    #[arg(long, value_name = "POINTER")]
    event_id: Option<String>,
    /// A file with the secret that signs what is dispatched; - is standard input. Left out: one is made.
    #[arg(long, value_name = "FILE")]
    dispatch_secret_file: Option<PathBuf>,
    /// A file with the token with which Meta greets; - is standard input.
    #[arg(long, value_name = "FILE")]
    verify_token_file: Option<PathBuf>,
}

impl About {
    fn draft(&self) -> anyhow::Result<Draft> {
        let mut draft = Draft::default();
        draft.maybe("preset", self.preset.as_deref().map(given::json_or_word).transpose()?)?;
        if !self.target.is_empty() {
            draft.put("targets", &self.target)?;
        }
        draft.maybe("schema", self.schema.as_deref().map(given::json).transpose()?)?;
        draft.maybe("rate_limit", self.rate.as_deref().map(rate).transpose()?)?;
        draft.maybe("event_id_pointer", self.event_id.as_ref())?;
        let secret = self.dispatch_secret_file.as_deref().map(given::secret).transpose()?;
        draft.maybe("dispatch_secret", secret)?;
        let token = self.verify_token_file.as_deref().map(given::secret).transpose()?;
        draft.maybe("verify_token", token)?;
        Ok(draft)
    }
}

/// `100/1s`, as settings have it, as the API has it. A bare unit is one of it.
fn rate(text: &str) -> anyhow::Result<Value> {
    let malformed = || Failure::usage(format!("`{text}` is not a rate: write 100/1s or 1000/1m"));
    let (count, per) = text.split_once('/').ok_or_else(malformed)?;
    let count: u32 = count.trim().parse().map_err(|_| malformed())?;
    let per = per.trim();
    let is_unit = per.starts_with(|first: char| first.is_ascii_alphabetic());
    Ok(json!({ "count": count, "per": if is_unit { format!("1{per}") } else { per.to_owned() } }))
}

impl Create {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = self.about.draft()?;
        draft.put("partner", &self.partner)?;
        if self.paused {
            draft.put("is_active", false)?;
        }
        let remote = self.running.gateway().await?;
        let made = remote.post("/v1/sources", &draft).await?;
        if self.running.json {
            return table::json(&made);
        }
        table::say(&format!("{} posts to /webhooks/{0} on the ingest listener.", self.partner))?;
        let mut facts = show::source(&made);
        let is_made = self.about.dispatch_secret_file.is_none();
        if is_made {
            let secret = made["dispatch_secret"].as_str().context("no secret was answered")?;
            facts.add("dispatch secret", secret);
        }
        facts.print()?;
        if is_made {
            table::say(&format!(
                "{YELLOW}The secret is shown only now.{YELLOW:#} The core verifies with it what is dispatched to it."
            ))?;
        }
        table::say(&format!("Next: `gancho sources keys add {} <KEY ID>`", self.partner))
    }
}

impl Change {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = self.about.draft()?;
        if self.pause || self.activate {
            draft.put("is_active", self.activate)?;
        }
        for (name, is_asked) in [
            ("schema", self.no_schema),
            ("rate_limit", self.no_rate),
            ("event_id_pointer", self.no_event_id),
        ] {
            if is_asked {
                draft.put(name, ())?;
            }
        }
        if draft.is_empty() {
            return Err(Failure::usage(
                "nothing was said to change. hint: `gancho sources change --help` lists what can be",
            ));
        }
        let remote = self.running.gateway().await?;
        let source = remote.patch(&path(&self.partner), &draft).await?;
        if self.running.json {
            return table::json(&source);
        }
        table::say(&format!("{} is now:", self.partner))?;
        show::source(&source).print()
    }
}
