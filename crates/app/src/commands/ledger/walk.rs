//! Reads the lines in order, and processes some while the next are being read.

use std::sync::Arc;

use gancho_ledger::{AuditError, Line};
use gancho_store::{Store, StoreError};

use crate::commands::progress::Progress;

/// Lines per read: large enough to amortize the query, small enough to bound memory.
const PAGE: usize = 16_384;

/// Where and why the walk ended early.
#[derive(Debug)]
pub enum WalkError {
    /// The line at which the error was found.
    AuditError(AuditError, Line),
    /// The row after this many valid lines cannot be decoded.
    Unreadable { after: u64, why: String },
}

/// Passes every line to `look`, up to line `until` if it is set.
pub async fn walk<S: Send + 'static>(
    store: &Arc<dyn Store>,
    until: Option<u64>,
    mut seer: S,
    look: fn(&mut S, &Line) -> Result<(), AuditError>,
) -> anyhow::Result<Result<S, WalkError>> {
    let total = store.ledger_size().await?;
    let mut progress = Progress::new("checking", until.unwrap_or(total));
    let mut page = store.ledger_lines(0, PAGE).await;
    let mut sound = 0;
    loop {
        let mut lines = match page {
            Err(StoreError::Corrupt(why)) => {
                return Ok(Err(WalkError::Unreadable { after: sound, why }));
            }
            other => other?,
        };
        let is_last = lines.len() < PAGE;
        if let Some(until) = until {
            lines.retain(|line| line.number <= until);
        }
        let Some(last) = lines.last().map(|line| line.number) else { return Ok(Ok(seer)) };
        let walked = tokio::task::spawn_blocking(move || {
            let bad = lines.into_iter().find_map(|line| {
                let error = look(&mut seer, &line).err()?;
                Some(WalkError::AuditError(error, line))
            });
            (seer, bad)
        });
        let is_over = is_last || until.is_some_and(|until| last >= until);
        let next =
            async { if is_over { Ok(Vec::new()) } else { store.ledger_lines(last, PAGE).await } };
        let (walked, next) = tokio::join!(walked, next);
        let (back, bad) = walked?;
        if let Some(bad) = bad {
            return Ok(Err(bad));
        }
        if is_over {
            return Ok(Ok(back));
        }
        (seer, page, sound) = (back, next, last);
        progress.at(last);
    }
}
