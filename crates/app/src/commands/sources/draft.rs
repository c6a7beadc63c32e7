//! Creates and changes sources.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::{path, show};
use crate::{
    commands::{
        Failure,
        client::ClientArgs,
        input::{self, Draft},
        table,
    },
    paint::YELLOW,
};

#[derive(Debug, Args)]
pub struct Create {
    /// Name of the partner in the URL path: lower-case letters, digits and `-`. It cannot be changed later.
    partner: String,
    #[command(flatten)]
    about: SourceProperties,
    /// Create the source paused: until it is activated, the partner gets 503 and has to send again.
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Update {
    /// Name of the partner.
    partner: String,
    #[command(flatten)]
    about: SourceProperties,
    /// Pause the source: it accepts no requests until it is activated again.
    #[arg(long, conflicts_with = "activate")]
    pause: bool,
    /// Activate the source.
    #[arg(long)]
    activate: bool,
    /// Remove the JSON Schema: accept any JSON body.
    #[arg(long, conflicts_with = "schema")]
    no_schema: bool,
    /// Remove the rate limit.
    #[arg(long, conflicts_with = "rate")]
    no_rate: bool,
    /// Remove the event-id pointer: use the location that the preset defines.
    #[arg(long, conflicts_with = "event_id")]
    no_event_id: bool,
    #[command(flatten)]
    client: ClientArgs,
}

/// The properties of a source.
#[derive(Debug, Args)]
struct SourceProperties {
    /// Signature scheme: partner, standard, stripe, github, slack, shopify, meta, microsoft, or JSON, e.g.
    /// {"sns": {"topics": ["arn:aws:sns:…"]}}, {"token": {"header": "X-Token"}} or {"generic": {…}}. A new source
    /// without one has partner.
    #[expect(clippy::doc_link_with_quotes, reason = "JSON in a text of the command line")]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// URL that receipts are dispatched to. Can be repeated. A new source without one has that of the setting
    /// dispatch_url.
    #[arg(long, value_name = "URL")]
    target: Vec<String>,
    /// File with a JSON Schema that request bodies must match.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Maximum number of requests per key and window, e.g. 100/1s or 1000/1m.
    #[arg(long, value_name = "COUNT/WINDOW")]
    rate: Option<String>,
    /// JSON pointer to the event id in the body, used for deduplication, e.g. /event_id.
    #[arg(long, value_name = "POINTER")]
    event_id: Option<String>,
    /// File with the secret that signs dispatched requests, or `-` for standard input. For a new source without one,
    /// a secret is generated.
    #[arg(long, value_name = "FILE")]
    dispatch_secret_file: Option<PathBuf>,
    /// File with the verify token of Meta's subscription handshake, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    verify_token_file: Option<PathBuf>,
}

impl SourceProperties {
    fn draft(&self) -> anyhow::Result<Draft> {
        let mut draft = Draft::default();
        draft.maybe("preset", self.preset.as_deref().map(input::json_or_word).transpose()?)?;
        if !self.target.is_empty() {
            draft.put("targets", &self.target)?;
        }
        draft.maybe("schema", self.schema.as_deref().map(input::json).transpose()?)?;
        draft.maybe("rate_limit", self.rate.as_deref().map(rate).transpose()?)?;
        draft.maybe("event_id_pointer", self.event_id.as_ref())?;
        let secret = self.dispatch_secret_file.as_deref().map(input::secret).transpose()?;
        draft.maybe("dispatch_secret", secret)?;
        let token = self.verify_token_file.as_deref().map(input::secret).transpose()?;
        draft.maybe("verify_token", token)?;
        Ok(draft)
    }
}

/// Converts `100/1s` to the API's rate. A unit without a number means one of it.
fn rate(text: &str) -> anyhow::Result<Value> {
    let malformed =
        || Failure::usage(format!("`{text}` is not a rate. hint: for example, 100/1s or 1000/1m"));
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
        let remote = self.client.gateway().await?;
        let made = remote.post("/v1/sources", &draft).await?;
        if self.client.json {
            return table::json(&made);
        }
        table::say(&format!(
            "Created {}. It posts to /webhooks/{0} on the ingest listener.",
            self.partner
        ))?;
        let mut facts = show::source(&made);
        let is_made = self.about.dispatch_secret_file.is_none();
        if is_made {
            let secret =
                made["dispatch_secret"].as_str().context("the response contains no secret")?;
            facts.add("dispatch secret", secret);
        }
        facts.print()?;
        if is_made {
            table::say(&format!(
                "{YELLOW}The secret is shown only once.{YELLOW:#} The target verifies dispatched requests with it."
            ))?;
        }
        table::say(&format!("Next: `gancho sources keys add {} <KEY_ID>`", self.partner))
    }
}

impl Update {
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
                "nothing to change. hint: `gancho sources update --help` lists the properties",
            ));
        }
        let remote = self.client.gateway().await?;
        let source = remote.patch(&path(&self.partner), &draft).await?;
        if self.client.json {
            return table::json(&source);
        }
        table::say(&format!("Changed {}:", self.partner))?;
        show::source(&source).print()
    }
}
