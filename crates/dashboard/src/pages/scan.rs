//! Reads a list of the API completely, as far as is reasonable: for exact counts, and for searches that the
//! API does not have.

use serde::de::DeserializeOwned;

use super::list::List;
use crate::{
    params::Link,
    visit::{ApiResult, Visit},
};

/// Items of one call. The API allows no more.
const ROWS: usize = 500;
/// Maximum items that are read.
const MAX_SCANNED: usize = 2_000;

/// Returns the items, and whether there are more.
pub async fn scan<T: DeserializeOwned>(visit: &Visit, path: &str) -> ApiResult<(Vec<T>, bool)> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let link = Link::new(path).with("limit", ROWS).maybe("cursor", cursor.as_deref());
        let List { data, next_cursor } = visit.get::<List<T>>(link).await?;
        all.extend(data);
        cursor = next_cursor;
        if cursor.is_none() || all.len() >= MAX_SCANNED {
            return Ok((all, cursor.is_some()));
        }
    }
}

/// Whether one of the texts contains all words of a search, case-insensitively.
pub fn matches<'a>(query: &str, texts: impl IntoIterator<Item = &'a str>) -> bool {
    let all = texts.into_iter().collect::<Vec<_>>().join("\n").to_lowercase();
    query.to_lowercase().split_whitespace().all(|word| all.contains(word))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn every_word_is_found_anywhere() {
        let texts = ["Billing sync", "https://shop.example/hook"];
        for query in ["", "bill", "SYNC shop", "hook billing"] {
            assert!(matches(query, texts), "{query}");
        }
        for query in ["crm", "billing crm", "synchttps"] {
            assert!(!matches(query, texts), "{query}");
        }
    }
}
