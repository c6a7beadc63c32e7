//! The tables that move with a tenant.

use crate::states::{LEASED, PENDING};

/// A table whose rows of a tenant move with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedTable {
    pub name: &'static str,
    /// The columns of its key besides the tenant.
    pub(crate) key: &'static [&'static str],
    /// Rows in one transaction. Rows of parcels may be large.
    pub(crate) batch: usize,
}

const fn table(name: &'static str, key: &'static [&'static str], batch: usize) -> MovedTable {
    MovedTable { name, key, batch }
}

/// In the order of copying: endpoints before their pauses, which are lifted if there is no endpoint. They are
/// removed in the opposite order.
pub const MOVED_TABLES: [MovedTable; 16] = [
    table("endpoints", &["id"], 1000),
    table("pauses", &["kind", "lane", "target_id"], 1000),
    table("records", &["kind", "key"], 1000),
    table("subjects", &["subject"], 5000),
    table("once_keys", &["key"], 5000),
    table("usage", &["period"], 1000),
    table("suppressions", &["address"], 5000),
    table("email_reports", &["email_id"], 2000),
    table("replays", &["id"], 1000),
    table("parcels", &["id"], 500),
    table("deliveries", &["id"], 5000),
    table("attempts", &["delivery_id", "number"], 1000),
    table("dead_letters", &["delivery_id"], 2000),
    table("spans", &["target_id", "from_id", "lane"], 5000),
    table("statistics", &["level", "chunk", "target_id", "lane", "at", "node", "part"], 5000),
    table("tenants", &[], 1),
];

/// Tables with a tenant that do not move, and why.
#[cfg(test)]
const NOT_MOVED: [(&str, &str); 9] = [
    (
        "intake",
        "follows by itself: applications hold its rows in transactions of their own (late_intake.rs)",
    ),
    ("dead_counts", "counted by a trigger as dead letters are copied and removed"),
    (
        "endpoint_versions",
        "counted by a trigger, and raised above that of the old cell when the tenant moves",
    ),
    (
        "collection_versions",
        "random numbers, written by a trigger as records are copied and removed",
    ),
    ("deleted_tenants", "a tenant that was deleted is not moved"),
    ("audit_log", "in the home cell, for all tenants"),
    ("cell_tenants", "the directory"),
    ("moves", "the moves themselves"),
    ("moving_tenants", "the guard of each cell"),
];

impl MovedTable {
    /// Returns the columns before the tenant in its primary key. They have few values for many tenants, so
    /// each value is searched by itself, which skips the rows of other tenants.
    pub(crate) fn lead(&self) -> &'static [&'static str] {
        match self.name {
            "statistics" => &self.key[..2],
            "records" => &self.key[..1],
            _ => &[],
        }
    }

    /// Returns the columns by which it is copied in parts: those that are the same in both cells.
    pub(crate) fn place(&self) -> &'static [&'static str] {
        if self.lead().is_empty() { self.key } else { self.lead() }
    }

    /// Returns a query for the values of those columns, in their order, with the name `leads`, for `with
    /// recursive`.
    pub(crate) fn leads(&self, after: Option<&str>) -> String {
        let (table, lead) = (self.name, self.lead().join(", "));
        let after = after.map_or_else(String::new, |after| format!("where ({lead}) > ({after})"));
        let of = |name: &str| {
            self.lead()
                .iter()
                .map(|column| format!("{name}.{column}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (next, last) = (of("t"), of("l"));
        format!(
            "leads as (
                (select {lead} from {table} {after} order by {lead} limit 1)
                union all
                select n.* from leads l, lateral (
                    select {next} from {table} t where ({next}) > ({last}) order by {next} limit 1) n)"
        )
    }

    /// Returns the condition that a row `t` has the values of a row `l` of that query.
    pub(crate) fn has_lead(&self) -> String {
        let same = self.lead().iter().map(|column| format!("t.{column} = l.{column}"));
        same.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the SQL that reads a column. A delivery that a node still holds in the old cell is pending in
    /// the new one, where no node has the same number. For the same reason, rows of statistics get numbers
    /// that no node has.
    pub(crate) fn source_of(&self, column: &str, cell: u32) -> String {
        match (self.name, column) {
            ("deliveries", "state") => {
                format!("case t.state when {LEASED} then {PENDING} else t.state end::int2")
            }
            ("deliveries", "owner") => "0::int8".into(),
            ("statistics", "node") => format!("{}::int8", node_number("t.node", cell)),
            _ => format!("t.{column}"),
        }
    }

    /// Returns the SQL of a key's column in the new cell.
    pub(crate) fn target_key(&self, column: &str, cell: u32) -> String {
        match (self.name, column) {
            ("statistics", "node") => node_number("k.node", cell),
            _ => format!("k.{column}"),
        }
    }
}

/// Returns the SQL of a node's number. Numbers below zero belong to nodes of other cells. A row that has come
/// back from another cell has such a number already.
fn node_number(node: &str, cell: u32) -> String {
    let offset = (i64::from(cell) + 1) << 40;
    format!("(case when {node} > 0 then -({node} + {offset}) else {node} end)")
}

pub(crate) fn node_offset(cell: u32) -> i64 {
    (i64::from(cell) + 1) << 40
}

#[cfg(test)]
mod tests;
