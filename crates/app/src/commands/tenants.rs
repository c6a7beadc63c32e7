//! `gancho tenants`: the owners of endpoints, events and e-mails.

mod moving;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{
    client::{ClientArgs, ReasonArgs, rows, show_list},
    input::{self, Draft, confirmed},
    table::{self, Facts, Table, age, cell, flexible, state, text, when},
};
use crate::remote::{Remote, part};

/// Manage tenants.
///
/// Takes the operator's token.
#[derive(Debug, Args)]
pub struct Tenants {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all tenants.
    List(List),
    /// Create a tenant.
    Create(Create),
    /// Show a tenant.
    Show(NamedTenantArgs),
    /// Change a tenant. Properties that are not given stay as they are.
    Update(Update),
    /// Hold back the deliveries of a tenant. Events are still accepted.
    Pause(Pause),
    /// Deliver again.
    Resume(NamedTenantArgs),
    /// Move a tenant to another database of a gateway that has several, while it is in use.
    Move(moving::Move),
    /// Delete a tenant with all of its data. This cannot be undone.
    Delete(Delete),
}

#[derive(Debug, Args)]
struct List {
    /// Maximum number of tenants.
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct NamedTenantArgs {
    /// Slug or id of the tenant.
    tenant: String,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Pause {
    #[command(flatten)]
    why: ReasonArgs,
    #[command(flatten)]
    one: NamedTenantArgs,
}

#[derive(Debug, Args)]
struct Delete {
    /// Slug or id of the tenant.
    tenant: String,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Create {
    /// Slug of the tenant, e.g. acme.
    slug: String,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Update {
    /// Slug or id of the tenant.
    tenant: String,
    #[command(flatten)]
    properties: Properties,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct Properties {
    /// Display name.
    #[arg(long)]
    name: Option<String>,
    /// Plan, which sets the quotas.
    #[arg(long)]
    plan: Option<String>,
    /// Wire format of new endpoints: standard, email-gateway, auracore, saas, or one of the settings.
    #[arg(long, value_name = "NAME")]
    default_profile: Option<String>,
    /// Maximum rate of events, e.g. 100/s, or `none` for the server's default.
    #[arg(long, value_name = "RATE")]
    publish_rate: Option<String>,
    /// Refuse events of types that are not in the catalog: true or false.
    #[arg(long, value_name = "BOOL")]
    strict_event_types: Option<bool>,
    /// How long events are stored after their deliveries have ended, e.g. 14d, or `none` for the server's default.
    #[arg(long, value_name = "DURATION")]
    retention_events: Option<String>,
    /// How long e-mails are stored, e.g. 7d, or `none` for the server's default.
    #[arg(long, value_name = "DURATION")]
    retention_emails: Option<String>,
    /// How long dead letters are stored before they are archived, e.g. 30d, or `none` for the server's default.
    #[arg(long, value_name = "DURATION")]
    retention_dead_letters: Option<String>,
}

impl Properties {
    fn draft(&self) -> anyhow::Result<Draft> {
        let mut draft = Draft::default();
        draft.maybe("name", self.name.as_ref())?;
        draft.maybe("plan", self.plan.as_ref())?;
        draft.maybe("default_profile", self.default_profile.as_ref())?;
        draft.maybe("publish_rate", self.publish_rate.as_deref().map(input::rate).transpose()?)?;
        draft.maybe("strict_event_types", self.strict_event_types)?;
        let retention: serde_json::Map<String, Value> = [
            ("events", &self.retention_events),
            ("emails", &self.retention_emails),
            ("dead_letters", &self.retention_dead_letters),
        ]
        .into_iter()
        .filter_map(|(name, given)| {
            let given = given.as_deref()?;
            let value = if given == "none" { Value::Null } else { Value::from(given) };
            Some((name.to_owned(), value))
        })
        .collect();
        draft.maybe("retention", Some(retention).filter(|retention| !retention.is_empty()))?;
        Ok(draft)
    }
}

impl Tenants {
    pub async fn run(self) -> anyhow::Result<()> {
        match self.what {
            Action::List(list) => {
                let remote = list.client.gateway().await?;
                let found = rows(&remote, "/v1/tenants", list.limit).await?;
                let none =
                    "There are no tenants yet. Create one with `gancho tenants create <SLUG>`.";
                let paused = if list.client.json { Vec::new() } else { paused(&remote).await? };
                show_list(&list.client, &found, none, |rows| tenants(rows, &paused))
            }
            Action::Create(create) => {
                let mut draft = create.properties.draft()?;
                draft.put("slug", &create.slug)?;
                let tenant = create.client.gateway().await?.post("/v1/tenants", &draft).await?;
                if create.client.json {
                    return table::json(&tenant);
                }
                let slug = text(&tenant["slug"]);
                table::say(&format!("Created {slug}."))?;
                facts(&tenant).print()?;
                table::say(&format!("Next: `gancho api-keys create --tenant {slug}`"))
            }
            Action::Show(one) => {
                let remote = one.client.gateway().await?;
                let tenant = remote.get(&path(&one.tenant)).await?;
                if one.client.json {
                    return table::json(&tenant);
                }
                let state = activity(&tenant, &paused(&remote).await?);
                facts(&tenant).add("state", state).print()
            }
            Action::Update(update) => {
                let draft = update.properties.draft()?;
                draft.require("--plan")?;
                let remote = update.client.gateway().await?;
                let tenant = remote.patch(&path(&update.tenant), &draft).await?;
                if update.client.json {
                    return table::json(&tenant);
                }
                table::say(&format!("Changed {}.", text(&tenant["slug"])))?;
                facts(&tenant).print()
            }
            Action::Pause(Pause { one, why }) => hold(&one, "pause", "Paused", why.body()).await,
            Action::Resume(one) => hold(&one, "resume", "Resumed", json!({})).await,
            Action::Move(to) => to.run().await,
            Action::Delete(delete) => delete.run().await,
        }
    }
}

impl Delete {
    async fn run(&self) -> anyhow::Result<()> {
        let remote = self.client.gateway().await?;
        let tenant = remote.get(&path(&self.tenant)).await?;
        let slug = text(&tenant["slug"]);
        let question = format!(
            "Delete the tenant {slug} ({}) with its endpoints, keys, events, deliveries and e-mails? This cannot be undone.",
            text(&tenant["name"])
        );
        confirmed(&question, self.yes)?;
        let deleted = remote.delete(&path(&text(&tenant["id"]))).await?;
        if self.client.json {
            return table::json(&deleted);
        }
        table::say(&format!("Deleted {slug}. What it sent is being removed in the background."))
    }
}

async fn hold(one: &NamedTenantArgs, verb: &str, done: &str, body: Value) -> anyhow::Result<()> {
    let remote = one.client.gateway().await?;
    let path = format!("{}/{verb}", path(&one.tenant));
    let answer = remote.post(&path, &body).await?;
    if one.client.json {
        return table::json(&answer);
    }
    table::say(&format!("{done} {}.", one.tenant))
}

fn path(tenant: &str) -> String {
    format!("/v1/tenants/{}", part(tenant))
}

/// Returns the ids of the paused tenants.
async fn paused(remote: &Remote) -> anyhow::Result<Vec<Value>> {
    let queues = remote.get("/v1/queues").await?;
    Ok(queues["paused_tenants"].as_array().cloned().unwrap_or_default())
}

fn tenants(rows: &[Value], paused: &[Value]) -> Table {
    let mut shown = Table::new(&["slug", "name", "plan", "profile", "state", "age"]);
    for row in rows {
        shown.row([
            cell(text(&row["slug"])),
            flexible(text(&row["name"])),
            cell(text(&row["plan"])),
            cell(text(&row["default_profile"])),
            state(activity(row, paused)),
            cell(age(&row["created_at"])),
        ]);
    }
    shown
}

fn activity(tenant: &Value, paused: &[Value]) -> &'static str {
    if paused.contains(&tenant["id"]) { "paused" } else { "active" }
}

fn facts(tenant: &Value) -> Facts {
    let mut facts = Facts::default();
    facts
        .add("slug", text(&tenant["slug"]))
        .add("id", text(&tenant["id"]))
        .add("name", text(&tenant["name"]))
        .add("plan", text(&tenant["plan"]))
        .add("profile", text(&tenant["default_profile"]))
        .add("publish rate", table::rate(&tenant["publish_rate"]))
        .add(
            "event types",
            if tenant["strict_event_types"] == true { "catalog only" } else { "any" },
        )
        .add("events kept", keep(&tenant["retention"]["events"]))
        .add("e-mails kept", keep(&tenant["retention"]["emails"]))
        .add("dead letters kept", keep(&tenant["retention"]["dead_letters"]))
        .add("created", when(&tenant["created_at"]));
    facts
}

fn keep(retention: &Value) -> String {
    retention.as_str().unwrap_or("default").to_owned()
}
