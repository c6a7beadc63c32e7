//! Counts dead letters by code and tenant.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::Deserialize;

use super::PATH;
use crate::{
    display_time::DisplayTime, escape::Text, params::Link, problem::Problem, visit::Visit,
};

/// Maximum tenants with their own column; the others are counted together.
const MAX_COLUMNS: usize = 5;
const MAX_ROWS: usize = 12;

#[derive(Default)]
pub struct Matrix {
    pub columns: Vec<Text>,
    pub rows: Vec<Row>,
    pub has_others: bool,
    pub total: u64,
    pub oldest: Option<DisplayTime>,
}

pub struct Row {
    pub code: Text,
    pub cells: Vec<Cell>,
    pub others: u64,
    pub total: u64,
    pub link: Link,
}

pub struct Cell {
    pub count: u64,
    /// How dark it is drawn, from `h1` to `h4`.
    pub class: &'static str,
    pub link: Link,
}

#[derive(Deserialize)]
struct Stats {
    total: u64,
    by_code: BTreeMap<Text, u64>,
    by_tenant: BTreeMap<String, u64>,
    oldest: Option<DisplayTime>,
}

impl Matrix {
    pub async fn read(visit: &Visit) -> Result<Self, Problem> {
        let all: Stats = visit.get(Link::new("/v1/dlq/stats")).await?;
        let mut tenants: Vec<_> = all.by_tenant.iter().collect();
        tenants.sort_by_key(|(_, count)| Reverse(**count));
        let mut columns = Vec::new();
        // The portal has one tenant, so the sums are enough.
        let max_columns = if visit.is_portal() { 0 } else { MAX_COLUMNS };
        for (id, _) in tenants.iter().take(max_columns) {
            let known = visit.dashboard.backend.tenant(id).await.ok().flatten();
            let slug = known.map_or_else(|| (*id).clone(), |tenant| tenant.slug.clone());
            let link = Link::new("/v1/dlq/stats").with("tenant", id);
            columns.push((slug, visit.get::<Stats>(link).await?.by_code));
        }
        let mut codes: Vec<_> = all.by_code.into_iter().collect();
        codes.sort_by_key(|(_, count)| Reverse(*count));
        codes.truncate(MAX_ROWS);
        let max = codes.first().map_or(1, |(_, count)| *count);
        let row = |(code, total): (Text, u64)| {
            let cells: Vec<_> = columns
                .iter()
                .map(|(slug, counts)| {
                    let count = counts.get(&code).copied().unwrap_or(0);
                    let link = visit.link(PATH).with("tenant", slug).with("code", &code);
                    Cell { count, class: shade(count, max), link }
                })
                .collect();
            let counted: u64 = cells.iter().map(|cell| cell.count).sum();
            let link = visit.link(PATH).with("code", &code);
            Row { others: total.saturating_sub(counted), code, cells, total, link }
        };
        let rows: Vec<_> = codes.into_iter().map(row).collect();
        Ok(Self {
            has_others: !visit.is_portal() && rows.iter().any(|row| row.others > 0),
            columns: columns.iter().map(|(slug, _)| slug.as_str().into()).collect(),
            rows,
            total: all.total,
            oldest: all.oldest,
        })
    }
}

fn shade(count: u64, max: u64) -> &'static str {
    match count.saturating_mul(8) / max.max(1) {
        _ if count == 0 => "",
        0..=1 => "h1",
        2..=3 => "h2",
        4..=5 => "h3",
        _ => "h4",
    }
}
