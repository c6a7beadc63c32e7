//! `gancho cells drain --move`: moves all tenants of a cell to others. The server moves them; this begins the moves, a few at a
//! time, and waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::path;
use crate::{
    commands::{
        client::all_rows,
        failure::Failure,
        progress::{self, Progress},
        table::{self, count, text},
    },
    remote::{Remote, part},
};

/// Tenants that move at a time. Each node copies two at a time; the others wait for their turn, or for what follows copying.
const AT_A_TIME: usize = 16;
/// Tenants that are looked at: the first of those that are left.
const PAGE: usize = 500;
/// With more tenants that cannot be moved, something else is wrong.
const MAX_REFUSED: usize = 100;
const POLL_INTERVAL: Duration = Duration::from_millis(500);

struct Evacuation<'a> {
    remote: &'a Remote,
    name: &'a str,
    to: Option<&'a str>,
    /// Tenants whose move was begun here and is not over: they may have left, and be in removal.
    begun: BTreeSet<String>,
    moved: u64,
    /// Tenants that stay, and why.
    refused: BTreeMap<String, String>,
}

/// Moves tenants until none is left that can be moved.
pub async fn run(
    remote: &Remote,
    name: &str,
    to: Option<&str>,
    as_json: bool,
) -> anyhow::Result<()> {
    let (begun, refused) = (BTreeSet::new(), BTreeMap::new());
    let mut work = Evacuation { remote, name, to, begun, moved: 0, refused };
    let outcome = work.run().await;
    let Evacuation { moved, refused, .. } = work;
    if as_json {
        table::json(&json!({ "moved": moved, "not_moved": refused }))?;
    } else {
        let tenants = if moved == 1 { "tenant" } else { "tenants" };
        table::say(&format!("Moved {} {tenants} from {name}.", count(moved)))?;
    }
    outcome?;
    if refused.is_empty() {
        if as_json {
            return Ok(());
        }
        return table::say(&format!("It is empty. To remove it: gancho cells remove {name}"));
    }
    for (slug, why) in &refused {
        anstream::eprintln!("{slug} stays in {name}: {why}");
    }
    Err(Failure::failed(format!(
        "not all tenants could be moved from {name}. hint: run the same command again when the reasons above are gone"
    )))
}

impl Evacuation<'_> {
    async fn run(&mut self) -> anyhow::Result<()> {
        let mut progress = Progress::new("Moving", 0);
        loop {
            let cells = all_rows(self.remote, "/v1/cells").await?.rows;
            let living = self.living().await?;
            self.note(&living).await?;
            progress.of(self.moved, self.moved + tenants_of(&cells, self.name));
            let is_left = |(slug, state): &(&String, &String)| {
                !self.refused.contains_key(*slug) || *state != "active"
            };
            let is_over = self.begun.is_empty() && !living.iter().any(|one| is_left(&one));
            if is_over || self.refused.len() >= MAX_REFUSED {
                return Ok(());
            }
            let moving = living.values().filter(|state| *state == "moving").count();
            let waiting =
                living.iter().filter(|(_, state)| *state == "active").map(|(slug, _)| slug);
            let waiting: Vec<&String> =
                waiting.filter(|slug| !self.refused.contains_key(*slug)).collect();
            let under_way = moving.max(self.begun.len());
            for slug in waiting.into_iter().take(AT_A_TIME.saturating_sub(under_way)) {
                self.begin(slug, &cells).await?;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The first tenants of the cell by slug, with their states.
    async fn living(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let page = self.remote.get(&format!("{}/tenants?limit={PAGE}", path(self.name))).await?;
        let rows = page["data"].as_array().into_iter().flatten();
        Ok(rows.map(|row| (text(&row["slug"]), text(&row["state"]))).collect())
    }

    /// A move is over when nothing of the tenant is left in the cell.
    async fn note(&mut self, living: &BTreeMap<String, String>) -> anyhow::Result<()> {
        for slug in std::mem::take(&mut self.begun) {
            let state = match living.get(&slug) {
                Some(state) => state.clone(),
                None => match self.remote.get(&format!("/v1/tenants/{}/move", part(&slug))).await {
                    Ok(of) => text(&of["state"]),
                    // It was deleted when it had left.
                    Err(error) if error.code() == "not_found" => "done".to_owned(),
                    Err(error) => return Err(error.into()),
                },
            };
            match state.as_str() {
                "done" => self.moved += 1,
                "active" | "taken_back" => {
                    self.refused.insert(slug, "its move was taken back".to_owned());
                }
                _ => _ = self.begun.insert(slug),
            }
        }
        Ok(())
    }

    async fn begin(&mut self, slug: &str, cells: &[Value]) -> anyhow::Result<()> {
        let to = match self.to {
            Some(to) => to.to_owned(),
            None => emptiest(cells, self.name)?,
        };
        let path = format!("/v1/tenants/{}/move", part(slug));
        match self.remote.post(&path, &json!({ "cell": to })).await {
            Ok(_) => _ = self.begun.insert(slug.to_owned()),
            // It was deleted.
            Err(error) if error.code() == "not_found" => {}
            Err(error) if error.code() == "conflict" => {
                progress::clear_line();
                self.refused.insert(slug.to_owned(), error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn tenants_of(cells: &[Value], name: &str) -> u64 {
    let cell = cells.iter().find(|cell| cell["name"] == name);
    cell.and_then(|cell| cell["tenants"].as_u64()).unwrap_or(0)
}

/// Of the cells that get tenants, the one with the fewest.
fn emptiest(cells: &[Value], besides: &str) -> anyhow::Result<String> {
    let gets_tenants = |cell: &&Value| {
        cell["is_available"] == true && cell["is_draining"] == false && cell["name"] != besides
    };
    let found = cells.iter().filter(gets_tenants);
    let emptiest = found.min_by_key(|cell| cell["tenants"].as_u64().unwrap_or(0));
    emptiest.map(|cell| text(&cell["name"])).ok_or_else(|| {
        Failure::failed("no other cell gets tenants. hint: add one, or see `gancho cells list`")
    })
}
