//! What commands share that ask a gateway that runs: finding it, and reading its lists.

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    admin_token, logs,
    remote::{Remote, part},
    settings::{self, Flags, Settings},
};

/// How the gateway is found, and how it is shown what it says.
#[derive(Debug, Args)]
pub struct Running {
    /// For programs: JSON on standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub flags: Flags,
}

/// Rows asked for at a time.
const PAGE: usize = 100;

impl Running {
    pub fn settings(&self) -> anyhow::Result<Settings> {
        let loaded = settings::load(&self.flags)?;
        logs::start(loaded.settings.log_format, logs::QUIET);
        Ok(loaded.settings)
    }

    /// The gateway that runs with these settings.
    pub async fn gateway(&self) -> anyhow::Result<Remote> {
        let settings = self.settings()?;
        if let Some(remote) = find(&settings).await? {
            return Ok(remote);
        }
        bail!(
            "no gateway answers on {} (api_listen). hint: start one with `gancho serve`, or name the data folder and the address of the one that runs with --data-dir and --api-listen",
            settings.api_listen
        )
    }
}

/// The gateway that runs with these settings, if one does. Only one that takes this data folder's token
/// is ours.
pub async fn find(settings: &Settings) -> anyhow::Result<Option<Remote>> {
    let Some(token) = admin_token::find(settings)? else { return Ok(None) };
    let remote = Remote::at(settings.api_listen, token);
    match remote.get("/v1/tenants?limit=1").await {
        Ok(_) => Ok(Some(remote)),
        Err(fault) if fault.is_unreachable() => Ok(None),
        Err(fault) => Err(fault).context(format!(
            "something answers on {} (api_listen) and is not a gateway with these settings",
            settings.api_listen
        )),
    }
}

/// A list's rows, and whether there are more.
pub struct Rows {
    pub rows: Vec<Value>,
    pub has_more: bool,
}

impl Rows {
    pub fn json(&self) -> Value {
        json!({ "data": self.rows, "has_more": self.has_more })
    }
}

/// A path with those of the filters that were given.
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

/// The first so many of a list, page by page.
pub async fn rows(remote: &Remote, path: &str, most: usize) -> anyhow::Result<Rows> {
    let mut rows: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    loop {
        let limit = PAGE.min(most.saturating_sub(rows.len()).max(1));
        let before = if path.contains('?') { '&' } else { '?' };
        let page = remote.get(&format!("{path}{before}limit={limit}{cursor}")).await?;
        let data = page["data"].as_array().context("the gateway's answer is not understood")?;
        rows.extend(data.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) if rows.len() < most => cursor = format!("&cursor={next}"),
            next => return Ok(Rows { has_more: next.is_some(), rows }),
        }
    }
}
