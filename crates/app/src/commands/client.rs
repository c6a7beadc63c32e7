//! Access to a running gateway, shared by commands: finds it and reads its lists.

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    admin_token, logs,
    remote::{Remote, part},
    settings::{self, Flags, Settings},
};

/// Flags of commands that call a running gateway.
#[derive(Debug, Args)]
pub struct ClientArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub flags: Flags,
}

/// Rows per request.
const PAGE: usize = 100;

impl ClientArgs {
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let loaded = settings::load(&self.flags)?;
        logs::start(loaded.settings.log_format, logs::QUIET);
        Ok(loaded.settings)
    }

    /// Finds the gateway that is running with these settings.
    pub async fn gateway(&self) -> anyhow::Result<Remote> {
        let settings = self.settings()?;
        if let Some(remote) = find(&settings).await? {
            return Ok(remote);
        }
        bail!(
            "no gateway is running on {} (api_listen). hint: start one with `gancho serve`, or select a running one with --data-dir and --api-listen",
            settings.api_listen
        )
    }

    /// The same, acting for a tenant if one is named.
    pub async fn gateway_for(&self, tenant: Option<&str>) -> anyhow::Result<Remote> {
        let remote = self.gateway().await?;
        match tenant {
            Some(tenant) => remote.acting_for(tenant),
            None => Ok(remote),
        }
    }
}

/// Finds the gateway that is running with these settings: one that accepts the token of this data
/// directory.
pub async fn find(settings: &Settings) -> anyhow::Result<Option<Remote>> {
    let Some(token) = admin_token::find(settings)? else { return Ok(None) };
    let remote = Remote::at(settings.api_listen, token);
    match remote.get("/v1/tenants?limit=1").await {
        Ok(_) => Ok(Some(remote)),
        Err(fault) if fault.is_unreachable() => Ok(None),
        Err(fault) => Err(fault).context(format!(
            "the server on {} (api_listen) is not a gateway with these settings",
            settings.api_listen
        )),
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
            Some(next) if rows.len() < max => cursor = format!("&cursor={next}"),
            next => return Ok(Rows { has_more: next.is_some(), rows }),
        }
    }
}
