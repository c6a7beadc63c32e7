//! Access to a gateway, shared by the commands that call one: `ClientArgs` selects it, `chosen_server` finds
//! it, and [`rows`] reads its lists.

mod chosen_server;
pub mod list_args;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

pub use chosen_server::{ServerArgs, find, key_of_environment, trust};
pub use list_args::{Window, show_list};

use crate::{
    commands::{Failure, table::text},
    remote::{Remote, part},
};

/// Flags of commands that call a gateway.
#[derive(Debug, Args)]
pub struct ClientArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Flag of commands that pause something.
#[derive(Debug, Args)]
pub struct ReasonArgs {
    /// Why, for others to read in the audit log. At most 200 characters.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl ReasonArgs {
    /// Returns the body of the request that pauses.
    pub fn body(&self) -> Value {
        self.reason.as_ref().map_or_else(|| json!({}), |reason| json!({ "reason": reason }))
    }
}

/// Flags of commands that work on one tenant.
#[derive(Debug, Args)]
pub struct TenantArgs {
    /// Slug or id of the tenant. Not needed with an API key, or if there is only one tenant.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Flags of commands that list what one tenant has, or all tenants.
#[derive(Debug, Args)]
pub struct AnyTenantArgs {
    /// Slug or id of a tenant. Default: all tenants, or the one of the API key.
    #[arg(long, env = "GANCHO_TENANT", value_name = "TENANT")]
    pub tenant: Option<String>,
    #[command(flatten)]
    pub client: ClientArgs,
}

/// Rows per request.
const PAGE: usize = 100;
/// Maximum tenants that a message names.
const NAMED_TENANTS: usize = 20;

impl ClientArgs {
    /// Returns a client of the gateway that the user has chosen.
    pub async fn gateway(&self) -> anyhow::Result<Remote> {
        Ok(self.server.choose().await?.remote)
    }

    /// As [`Self::gateway`], acting for a tenant if one is named here or in the profile.
    pub async fn gateway_for(&self, tenant: Option<&str>) -> anyhow::Result<Remote> {
        let chosen = self.server.choose().await?;
        match tenant.or(chosen.tenant.as_deref()) {
            Some(tenant) => chosen.remote.acting_for(tenant),
            None => Ok(chosen.remote),
        }
    }
}

impl AnyTenantArgs {
    pub async fn gateway(&self) -> anyhow::Result<Remote> {
        self.client.gateway_for(self.tenant.as_deref()).await
    }
}

impl TenantArgs {
    /// Returns a client that uses the tenant's API key, or acts for the tenant as the operator.
    pub async fn gateway(&self) -> anyhow::Result<Remote> {
        let chosen = self.client.server.choose().await?;
        let tenant = match self.tenant.clone().or(chosen.tenant) {
            Some(tenant) => tenant,
            None if chosen.remote.has_api_key() => return Ok(chosen.remote),
            None => only_tenant(&chosen.remote).await?,
        };
        chosen.remote.acting_for(&tenant)
    }
}

/// Returns the only tenant, which is meant if none is named.
pub async fn only_tenant(remote: &Remote) -> anyhow::Result<String> {
    let tenants = rows(remote, "/v1/tenants", NAMED_TENANTS).await?;
    let slugs: Vec<String> = tenants.rows.iter().map(|tenant| text(&tenant["slug"])).collect();
    match &slugs[..] {
        [] => {
            bail!("there are no tenants yet. hint: create one with `gancho tenants create <SLUG>`")
        }
        [one] => Ok(one.clone()),
        many => {
            let more = if tenants.has_more { ", …" } else { "" };
            Err(Failure::usage(format!(
                "there are several tenants. hint: choose one with --tenant: {}{more}",
                many.join(", ")
            )))
        }
    }
}

/// Rows of a list, and whether there are more.
pub struct Rows {
    pub rows: Vec<Value>,
    pub has_more: bool,
}

impl Rows {
    pub fn json(&self) -> Value {
        json!({ "data": self.rows, "has_more": self.has_more })
    }
}

/// Appends the filters that are set to a path.
pub fn filtered(path: &str, filters: &[(&str, &Option<String>)]) -> String {
    let mut all = path.to_owned();
    for (name, value) in filters {
        if let Some(value) = value {
            let before = if all.contains('?') { '&' } else { '?' };
            all.push(before);
            all.extend([name, "=", &part(value)]);
        }
    }
    all
}

/// Returns all rows of a list that has no pages.
pub async fn all_rows(remote: &Remote, path: &str) -> anyhow::Result<Rows> {
    let list = remote.get(path).await?;
    let rows = list["data"].as_array().context("unexpected response from the gateway")?;
    Ok(Rows { has_more: false, rows: rows.clone() })
}

/// Reads up to `max` rows of a list, page by page.
pub async fn rows(remote: &Remote, path: &str, max: usize) -> anyhow::Result<Rows> {
    let mut rows: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    loop {
        let limit = PAGE.min(max.saturating_sub(rows.len()).max(1));
        let before = if path.contains('?') { '&' } else { '?' };
        let page = remote.get(&format!("{path}{before}limit={limit}{cursor}")).await?;
        let data = page["data"].as_array().context("unexpected response from the gateway")?;
        rows.extend(data.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) if rows.len() < max => cursor = format!("&cursor={}", part(next)),
            next => return Ok(Rows { has_more: next.is_some(), rows }),
        }
    }
}
