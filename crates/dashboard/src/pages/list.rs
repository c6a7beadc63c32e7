//! A page of a list, as the API sends it.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
    #[serde(default)]
    pub next_cursor: Option<String>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { data: Vec::new(), next_cursor: None }
    }
}
