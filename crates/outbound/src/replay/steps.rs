//! The pages that are being sent, and the replays that are not due.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, pending},
    stream::FuturesUnordered,
};
use gancho_domain::ReplayId;
use tokio::time::Instant;

use super::run::POLL_INTERVAL;

#[derive(Default)]
pub(super) struct Steps<'a> {
    running: FuturesUnordered<BoxFuture<'a, (ReplayId, bool)>>,
    replays: HashSet<ReplayId>,
    /// Replays that have ended, failed, or belong to another node, with the time of the next check.
    rests: HashMap<ReplayId, Instant>,
}

impl<'a> Steps<'a> {
    pub fn contains(&self, replay: ReplayId) -> bool {
        self.replays.contains(&replay)
    }

    /// Starts a page. The future returns whether another page follows.
    pub fn start(&mut self, replay: ReplayId, page: impl Future<Output = bool> + Send + 'a) {
        self.replays.insert(replay);
        self.running.push(page.map(move |goes_on| (replay, goes_on)).boxed());
    }

    pub fn rests_for(&self, replay: ReplayId) -> Duration {
        let until = self.rests.get(&replay).copied();
        until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// Waits until a page has been sent; forever, if there is none.
    pub async fn next_end(&mut self) {
        let Some((replay, goes_on)) = self.running.next().await else { return pending().await };
        self.replays.remove(&replay);
        let now = Instant::now();
        self.rests.retain(|_, until| *until > now);
        if !goes_on {
            self.rests.insert(replay, now + POLL_INTERVAL);
        }
    }

    pub async fn end_all(&mut self) {
        while !self.running.is_empty() {
            self.next_end().await;
        }
    }
}
