//! Creates and changes endpoints.

use clap::Args;
use serde_json::{Value, json};

use super::{gateway_of, path, show};
use crate::commands::{
    client::{AnyTenantArgs, TenantArgs},
    input::{self, Draft, SecretFrom},
    table::{self, text},
};

#[derive(Debug, Args)]
pub struct Create {
    /// URL to deliver to.
    url: String,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    secret: SecretFrom,
    #[command(flatten)]
    acting: TenantArgs,
}

#[derive(Debug, Args)]
pub struct Update {
    /// Id of the endpoint: wh_…
    id: String,
    /// URL to deliver to.
    #[arg(long)]
    url: Option<String>,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Properties {
    /// Event types to deliver, e.g. invoice.paid, 'invoice.*' or '*'. Can be repeated. Default for a new
    /// endpoint: all.
    #[arg(long = "event", value_name = "TYPE", value_delimiter = ',')]
    events: Vec<String>,
    /// Display name.
    #[arg(long)]
    name: Option<String>,
    /// Wire format: standard, email-gateway, auracore, saas, or one of the settings.
    #[arg(long, value_name = "NAME")]
    wire_profile: Option<String>,
    /// Header to send with every delivery. Can be repeated.
    #[arg(long = "header", value_name = "NAME=VALUE")]
    headers: Vec<String>,
    /// `per_subject` delivers the events of a subject in order; `best_effort` does not wait.
    #[arg(long, value_name = "ORDERING")]
    ordering: Option<String>,
    /// Maximum rate of deliveries, e.g. 100/s, or `none`.
    #[arg(long, value_name = "RATE")]
    rate_limit: Option<String>,
    /// Maximum number of concurrent deliveries.
    #[arg(long, value_name = "COUNT")]
    max_in_flight: Option<u32>,
    /// Delays between attempts, e.g. 30s,5m,1h. Default: those of the wire format.
    #[arg(long, value_name = "DELAYS", value_delimiter = ',')]
    retry_schedule: Vec<String>,
    /// Time for one attempt, e.g. 10s.
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
}

impl Properties {
    fn draft(&self) -> anyhow::Result<Draft> {
        let mut draft = Draft::default();
        if !self.events.is_empty() {
            draft.put("events", &self.events)?;
        }
        draft.maybe("name", self.name.as_ref())?;
        draft.maybe("profile", self.wire_profile.as_ref())?;
        if !self.headers.is_empty() {
            draft.put("headers", self.headers()?)?;
        }
        draft.maybe("ordering", self.ordering.as_ref())?;
        draft.maybe("rate_limit", self.rate_limit.as_deref().map(input::rate).transpose()?)?;
        draft.maybe("max_in_flight", self.max_in_flight)?;
        if !self.retry_schedule.is_empty() {
            draft.put("retry", json!({ "schedule": self.retry_schedule }))?;
        }
        draft.maybe("timeout", self.timeout.as_ref())?;
        Ok(draft)
    }

    fn headers(&self) -> anyhow::Result<Value> {
        let pairs = self.headers.iter().map(|header| {
            let (name, value) = input::pair(header, "--header X-Team=billing")?;
            Ok((name.to_owned(), Value::from(value)))
        });
        Ok(Value::Object(pairs.collect::<anyhow::Result<_>>()?))
    }
}

impl Create {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = self.properties.draft()?;
        draft.put("url", &self.url)?;
        if self.properties.events.is_empty() {
            draft.put("events", ["*"])?;
        }
        draft.maybe("secret", self.secret.read()?)?;
        let made = self.acting.gateway().await?.post("/v1/webhooks", &draft).await?;
        if self.acting.client.json {
            return table::json(&made);
        }
        let id = text(&made["id"]);
        table::say(&format!("Created {id}."))?;
        show::endpoint(&made)
            .add("secret", text(&made["secret"]))
            .add("public key", text(&made["public_key"]))
            .print()?;
        table::say("The receiver verifies deliveries with the secret.")?;
        table::say(&format!("Next: `gancho endpoints test {id}`"))
    }
}

impl Update {
    pub async fn run(self) -> anyhow::Result<()> {
        let mut draft = self.properties.draft()?;
        draft.maybe("url", self.url.as_ref())?;
        draft.require("--event")?;
        let remote = gateway_of(&self.acting, &self.id).await?;
        let changed = remote.patch(&path(&self.id), &draft).await?;
        if self.acting.client.json {
            return table::json(&changed);
        }
        table::say(&format!("Changed {}.", self.id))?;
        show::endpoint(&changed).print()
    }
}
