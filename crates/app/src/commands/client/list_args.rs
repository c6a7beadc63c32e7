//! Flags that lists share, and how a list is shown.

use clap::Args;
use gancho_domain::{Clock, SystemClock, span};
use serde_json::Value;

use super::{ClientArgs, Rows};
use crate::{
    commands::table::{self, Table},
    paint::DIM,
};

/// How far back.
#[derive(Debug, Args)]
pub struct Window {
    /// Only those at or after this time, or this long ago: 2026-11-15T10:00:00Z, 30m, 2d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only those before this time, or this long ago.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl Window {
    pub fn since(&self) -> Option<String> {
        self.since.as_deref().map(ago)
    }

    pub fn until(&self) -> Option<String> {
        self.until.as_deref().map(ago)
    }
}

/// Converts a duration to the time that long ago. A time stays unchanged.
pub fn ago(text: &str) -> String {
    match span::parse(text) {
        Ok(span) => (SystemClock.now() - span).to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Prints the rows, as JSON or as a table. Prints `none` if there are none.
pub fn show_list(
    client: &ClientArgs,
    found: &Rows,
    none: &str,
    table: impl FnOnce(&[Value]) -> Table,
) -> anyhow::Result<()> {
    if client.json {
        return table::json(&found.json());
    }
    if found.rows.is_empty() {
        return table::say(none);
    }
    table(&found.rows).print()?;
    if found.has_more {
        table::say(&format!("{DIM}There are more; see --limit.{DIM:#}"))?;
    }
    Ok(())
}
