//! The newest checkpoint in the store, of any node.
//!
//! Documents are listed from the first on, and there may be one per minute of several years, so the last one
//! is found by a search from the end of the ledger.

use gancho_ledger::Checkpoint;
use gancho_store::{Document, Result, Store};

use super::{COLLECTION, name};
use crate::SigningKeys;

/// Returns the newest checkpoint. `None` if there is none, or if this gateway has not signed the newest.
pub(super) async fn in_store(
    store: &dyn Store,
    keys: &SigningKeys,
    ledger_size: u64,
) -> Result<Option<Checkpoint>> {
    let Some(document) = last(store, ledger_size).await? else { return Ok(None) };
    let note = String::from_utf8_lossy(&document.body);
    let opened = keys.verifiers().iter().find_map(|verifier| verifier.open(&note).ok());
    if opened.is_none() {
        tracing::warn!(
            size = document.key,
            "checkpoint in the store is not signed by this gateway"
        );
    }
    Ok(opened)
}

async fn last(store: &dyn Store, ledger_size: u64) -> Result<Option<Document>> {
    let mut step = 1;
    let mut end = ledger_size;
    let mut found = loop {
        let begin = ledger_size.saturating_sub(step);
        match after(store, begin).await? {
            Some(document) => break document,
            None if begin == 0 => return Ok(None),
            None => end = begin,
        }
        step = step.saturating_mul(2);
    };
    // Invariant: there is none after `end`, and one at `begin`.
    let mut begin = size(&found);
    while begin < end {
        let middle = begin + (end - begin) / 2;
        match after(store, middle).await? {
            Some(document) => {
                begin = size(&document).max(middle + 1);
                found = document;
            }
            None => end = middle,
        }
    }
    Ok(Some(found))
}

/// Returns the first checkpoint of more than this many lines.
pub(super) async fn after(store: &dyn Store, lines: u64) -> Result<Option<Document>> {
    Ok(store.documents(COLLECTION, Some(&name(lines)), 1).await?.pop())
}

fn size(document: &Document) -> u64 {
    document.key.parse().unwrap_or(0)
}
