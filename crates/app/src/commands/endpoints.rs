//! `gancho endpoints`: the URLs that a tenant's events are delivered to.
//!
//! `draft` creates and changes them, `show` prints them.

mod draft;
mod show;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    Failure,
    client::{AnyTenantArgs, ReasonArgs, rows, show_list},
    input::{Draft, SecretFrom, confirmed},
    table::{self, Facts, text, when},
};
use crate::remote::{Remote, part};

/// Manage endpoints: the URLs that a tenant's events are delivered to.
///
/// The API calls them webhooks.
#[derive(Debug, Args)]
pub struct Endpoints {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List endpoints.
    List(List),
    /// Create an endpoint and print its signing secret.
    Create(Box<draft::Create>),
    /// Show an endpoint, its health and its backlog.
    Show(EndpointArgs),
    /// Change an endpoint. Properties that are not given stay as they are.
    Update(Box<draft::Update>),
    /// Delete an endpoint. Deliveries that wait for it become dead letters.
    Delete(Delete),
    /// Send a test event to an endpoint and show its response.
    Test(Test),
    /// Replace the signing secret. Deliveries are signed with both for a while.
    Rotate(Rotate),
    /// Print the signing secret.
    Secret(EndpointArgs),
    /// Hold back deliveries. Events are still accepted.
    Pause(Pause),
    /// Deliver again.
    Resume(EndpointArgs),
    /// Enable an endpoint that was disabled by hand or because it kept failing.
    Enable(EndpointArgs),
    /// Disable an endpoint. New events are not delivered to it.
    Disable(EndpointArgs),
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of endpoints.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct EndpointArgs {
    /// Id of the endpoint: wh_…
    id: String,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    one: EndpointArgs,
}

#[derive(Debug, Args)]
struct Delete {
    /// Id of the endpoint: wh_…
    id: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Test {
    /// Id of the endpoint: wh_…
    id: String,
    /// Event type, whose example is sent. Default: webhook.test.
    #[arg(long = "type", value_name = "TYPE")]
    event_type: Option<String>,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

#[derive(Debug, Args)]
struct Rotate {
    /// Id of the endpoint: wh_…
    id: String,
    /// How long deliveries are signed with the old secret as well, e.g. 24h. Default: that of the server.
    #[arg(long, value_name = "DURATION")]
    overlap: Option<String>,
    #[command(flatten)]
    secret: SecretFrom,
    #[command(flatten)]
    acting: AnyTenantArgs,
}

impl Endpoints {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.acting.gateway().await?;
                let found = rows(&remote, "/v1/webhooks", list.limit).await?;
                let none =
                    "There are no endpoints yet. Create one with `gancho endpoints create <URL>`.";
                show_list(&list.acting.client, &found, none, show::endpoints)
            }
            Action::Create(create) => create.run().await,
            Action::Show(one) => {
                let endpoint = one.gateway().await?.get(&path(&one.id)).await?;
                if one.acting.client.json {
                    table::json(&endpoint)
                } else {
                    show::endpoint(&endpoint).print()
                }
            }
            Action::Update(update) => update.run().await,
            Action::Delete(delete) => delete.run().await,
            Action::Test(test) => test.run().await,
            Action::Rotate(rotate) => rotate.run().await,
            Action::Secret(one) => one.secret().await,
            Action::Pause(Pause { one, why }) => one.hold("pause", "Paused", why.body()).await,
            Action::Resume(one) => one.hold("resume", "Resumed", json!({})).await,
            Action::Enable(one) => one.set_active(true, "Enabled").await,
            Action::Disable(one) => one.set_active(false, "Disabled").await,
        }
    }
}

/// Returns a client that acts for the tenant of an endpoint. The operator need not name it.
async fn gateway_of(acting: &AnyTenantArgs, id: &str) -> anyhow::Result<Remote> {
    let remote = acting.gateway().await?;
    if acting.tenant.is_some() || remote.has_api_key() || remote.is_acting() {
        return Ok(remote);
    }
    let endpoint = remote.get(&path(id)).await?;
    remote.acting_for(&text(&endpoint["tenant_id"]))
}

/// Returns the API path of an endpoint.
fn path(id: &str) -> String {
    format!("/v1/webhooks/{}", part(id))
}

impl EndpointArgs {
    async fn gateway(&self) -> anyhow::Result<Remote> {
        gateway_of(&self.acting, &self.id).await
    }

    async fn secret(self) -> anyhow::Result<()> {
        let secret = gateway_of(&self.acting, &self.id)
            .await?
            .get(&format!("{}/secret", path(&self.id)))
            .await?;
        if self.acting.client.json {
            return table::json(&secret);
        }
        table::say(&text(&secret["secret"]))
    }

    async fn hold(self, verb: &str, done: &str, body: Value) -> anyhow::Result<()> {
        let remote = gateway_of(&self.acting, &self.id).await?;
        let answer = remote.post(&format!("{}/{verb}", path(&self.id)), &body).await?;
        if self.acting.client.json {
            return table::json(&answer);
        }
        table::say(&format!("{done} {}.", self.id))
    }

    async fn set_active(self, is_active: bool, done: &str) -> anyhow::Result<()> {
        let remote = gateway_of(&self.acting, &self.id).await?;
        let endpoint = remote.patch(&path(&self.id), &json!({ "is_active": is_active })).await?;
        if self.acting.client.json {
            return table::json(&endpoint);
        }
        table::say(&format!("{done} {}.", self.id))
    }
}

impl Delete {
    async fn run(self) -> anyhow::Result<()> {
        let remote = gateway_of(&self.acting, &self.id).await?;
        let url = text(&remote.get(&path(&self.id)).await?["url"]);
        let question = format!(
            "Delete the endpoint {} ({url})? Deliveries that wait for it become dead letters.",
            self.id
        );
        confirmed(&question, self.yes)?;
        remote.delete(&path(&self.id)).await?;
        if self.acting.client.json {
            return table::json(&json!({ "deleted": self.id }));
        }
        table::say(&format!("Deleted {}.", self.id))
    }
}

impl Test {
    async fn run(self) -> anyhow::Result<()> {
        let remote = gateway_of(&self.acting, &self.id).await?;
        let mut draft = Draft::default();
        draft.maybe("event_type", self.event_type.as_ref())?;
        let outcome = remote.post(&format!("{}/test", path(&self.id)), &draft).await?;
        if self.acting.client.json {
            table::json(&outcome)?;
        } else {
            show::test(&outcome).print()?;
        }
        if outcome["success"] == true {
            return Ok(());
        }
        let why = match text(&outcome["error"]) {
            why if why.is_empty() => format!("the delivery is {}", text(&outcome["status"])),
            why => why,
        };
        Err(Failure::does_not_hold(format!("the endpoint did not accept the test event: {why}")))
    }
}

impl Rotate {
    async fn run(self) -> anyhow::Result<()> {
        let remote = gateway_of(&self.acting, &self.id).await?;
        let mut draft = Draft::default();
        draft.maybe("overlap", self.overlap.as_ref())?;
        draft.maybe("secret", self.secret.read()?)?;
        let rotated = remote.post(&format!("{}/rotate-secret", path(&self.id)), &draft).await?;
        if self.acting.client.json {
            return table::json(&rotated);
        }
        table::say(&format!("{} has a new secret.", self.id))?;
        Facts::default()
            .add("secret", text(&rotated["secret"]))
            .add("public key", text(&rotated["public_key"]))
            .add("old secret until", when(&rotated["old_secret_until"]))
            .print()
    }
}
