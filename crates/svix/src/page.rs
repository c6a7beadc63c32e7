//! Converts between iterators of Svix and cursors of the gateway.

use serde::{Deserialize, Serialize};

use crate::query::Query;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 250;

/// A requested page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    pub limit: u32,
    pub iterator: Option<String>,
}

impl Paging {
    pub fn read(query: &mut Query) -> Self {
        let limit = query.number("limit").unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_LIMIT).contains(&limit) {
            query.error("limit", &format!("must be between 1 and {MAX_LIMIT}"));
        }
        let iterator = query.text("iterator");
        if iterator.as_ref().is_some_and(|iterator| iterator.len() > 1_024) {
            query.error("iterator", "too long");
        }
        Self { limit, iterator }
    }

    /// Returns the parameters for the same page of the API.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("limit", self.limit.to_string())];
        all.extend(self.iterator.clone().map(|cursor| ("cursor", cursor)));
        all
    }
}

/// A list of the API.
#[derive(Debug, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
    pub next_cursor: Option<String>,
}

/// A list of Svix. Lists go forward only, so there is no previous iterator.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListOut<T> {
    pub data: Vec<T>,
    pub iterator: Option<String>,
    pub prev_iterator: Option<String>,
    pub done: bool,
}

impl<T> ListOut<T> {
    pub fn new(data: Vec<T>, next: Option<String>) -> Self {
        Self { data, done: next.is_none(), iterator: next, prev_iterator: None }
    }
}
