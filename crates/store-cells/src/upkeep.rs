//! Pruning, expiring and counting, in every cell that answers.

use std::sync::Arc;

use async_trait::async_trait;
use gancho_domain::{Lane, Time};
use gancho_store::{
    CellFigures, EndedDelivery, LaneDepth, MoveCounts, PruneStep, Result, Space, Upkeep,
};

use gancho_store_postgres::PostgresStore;

use crate::{CellStore, at_home, cell::Cell};

#[async_trait]
impl Upkeep for CellStore {
    /// A step of this size in every cell: it delays other calls no more than in one.
    async fn prune(&self, before: Time, max: usize, now: Time) -> Result<PruneStep> {
        let steps =
            self.each(|store, _| async move { store.prune(before, max, now).await }).await?;
        let mut total = PruneStep::default();
        for (_, step) in steps {
            total.parcels += step.parcels;
            total.more |= step.more;
        }
        Ok(total)
    }

    async fn expire(
        &self,
        lane: Lane,
        before: Time,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        let expired =
            self.each(|store, _| async move { store.expire(lane, before, max, now).await }).await?;
        Ok(expired.into_iter().flat_map(|(_, ended)| ended).collect())
    }

    async fn depths(&self) -> Result<Vec<LaneDepth>> {
        let found = self.each(|store, _| async move { store.depths().await }).await?;
        let mut sums: Vec<LaneDepth> = Vec::new();
        for depth in found.into_iter().flat_map(|(_, depths)| depths) {
            match sums.iter_mut().find(|sum| sum.lane == depth.lane) {
                None => sums.push(depth),
                Some(sum) => {
                    sum.pending += depth.pending;
                    sum.leased += depth.leased;
                    sum.waiting += depth.waiting;
                    let oldest = [sum.oldest_due, depth.oldest_due];
                    sum.oldest_due = oldest.into_iter().flatten().min();
                }
            }
        }
        Ok(sums)
    }

    /// Cells that are schemas of one database each count the whole of it.
    async fn space(&self) -> Result<Space> {
        let found = self.each(|store, _| async move { store.space().await }).await?;
        let used = found.into_iter().map(|(_, space)| space.used).sum();
        Ok(Space { used, limit: None })
    }

    async fn cell_figures(&self) -> Result<Vec<CellFigures>> {
        if self.is_alone() {
            return Ok(Vec::new());
        }
        let read = |store: Arc<PostgresStore>, _| async move {
            Ok((store.depths().await?, store.space().await?.used))
        };
        let (answers, _) = self.ask(read).await;
        let counted = async { self.home.bounded(self.home.store()?.moves_per_cell()).await };
        let moves = counted.await.ok();
        let of_cell = |cell: &Arc<Cell>| {
            let answer = answers.iter().find(|(other, _)| other.number == cell.number);
            let (depths, used_bytes) = answer.map(|(_, figures)| figures.clone()).unzip();
            let moves = moves.as_ref().map(|all| {
                let found = all.iter().find(|(number, _)| *number == cell.number);
                found.map_or_else(MoveCounts::default, |(_, counts)| *counts)
            });
            CellFigures { name: cell.name.clone(), depths, used_bytes, moves }
        };
        Ok(self.cells().iter().map(of_cell).collect())
    }

    /// Also tells whether the store answers: one cell that does is enough.
    async fn last_written(&self) -> Result<Option<Time>> {
        let found = self.soonest(|store| async move { store.last_written().await }).await?;
        Ok(found.into_iter().flatten().max())
    }

    async fn server_time(&self) -> Result<Option<Time>> {
        at_home!(self, |store| store.server_time())
    }

    async fn highest_lead(&self) -> Result<i64> {
        let found = self.each(|store, _| async move { store.highest_lead().await }).await?;
        Ok(found.into_iter().map(|(_, lead)| lead).max().unwrap_or(0))
    }
}
