//! What a store does by itself as long as it is open: it looks at the directory, opens cells that were closed, carries
//! out moves, and asks cells that hang whether they answer again.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    CellStore,
    cell::{Cell, NEW},
};

/// How often the directory is looked at.
const REFRESH: Duration = Duration::from_secs(1);
/// How long after a tenant was found to have moved.
const REFRESH_AT_ONCE: Duration = Duration::from_millis(20);
/// How often a cell that hangs is asked again.
const PROBE: Duration = Duration::from_millis(500);
/// How long after a failure a cell is tried again.
const REOPEN: Duration = Duration::from_secs(5);

pub(crate) fn start(store: &Arc<CellStore>, tenant_moves: Arc<Notify>) {
    let (weak, stop) = (Arc::downgrade(store), store.stopping.clone());
    store.tasks.spawn(async move { watch(weak, tenant_moves, stop).await });
    let (weak, stop) = (Arc::downgrade(store), store.stopping.clone());
    store.tasks.spawn(async move { probe(weak, stop).await });
}

/// Looks at the directory, tries again to open what is closed, and carries out moves that nobody does.
async fn watch(store: Weak<CellStore>, tenant_moves: Arc<Notify>, stop: CancellationToken) {
    let (mut looked_at, mut reopened_at) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(REFRESH.saturating_sub(looked_at.elapsed())) => {}
            () = tenant_moves.notified() => tokio::time::sleep(REFRESH_AT_ONCE).await,
        }
        let Some(store) = store.upgrade() else { return };
        looked_at = Instant::now();
        match store.refresh_once().await {
            Ok(closed) => {
                let is_time = reopened_at.elapsed() >= REOPEN;
                let is_new = |cell: &Arc<Cell>| cell.trouble().as_deref() == Some(NEW);
                let closed = closed.into_iter().filter(|cell| is_time || is_new(cell));
                if is_time {
                    reopened_at = Instant::now();
                }
                let closed: Vec<_> = closed.collect();
                join_all(closed.iter().map(|cell| store.open_cell(cell))).await;
                store.release_late();
                store.resume_moves().await;
            }
            Err(error) => {
                tracing::debug!(%error, "could not read the directory of cells; will retry");
            }
        }
    }
}

/// Asks cells that hang whether they answer again: what is called of them meanwhile is refused, so that nothing else
/// finds out.
async fn probe(store: Weak<CellStore>, stop: CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(PROBE)).await.is_some() {
        let Some(store) = store.upgrade() else { return };
        let cells = store.cells();
        let hanging = cells.iter().filter(|cell| cell.is_hanging());
        join_all(hanging.map(|cell| store.probe(cell))).await;
    }
}
