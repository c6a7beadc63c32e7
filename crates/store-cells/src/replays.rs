//! Replays: a tenant's in its cell, the operator's in the home cell.

use std::collections::HashMap;

use async_trait::async_trait;
use gancho_domain::{ReplayId, TenantId, TenantScope, Time};
use gancho_store::{
    LeasedReplay, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayEnd, ReplayJob, ReplayJobs,
    ReplayLease, ReplayLimits, ReplayTotal, Result,
};

use crate::{CellStore, at_home, in_cell};

macro_rules! of_owner {
    ($self:ident, $owner:ident, |$store:ident| $call:expr) => {
        match $owner {
            Some(scope) => in_cell!($self, scope.tenant(), |$store| $call),
            None => at_home!($self, |$store| $call),
        }
    };
}

#[async_trait]
impl ReplayJobs for CellStore {
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome> {
        of_owner!(self, owner, |store| store.open_replay(owner, new, limits))
    }

    async fn replay(&self, owner: Option<TenantScope>, id: ReplayId) -> Result<Option<ReplayJob>> {
        of_owner!(self, owner, |store| store.replay(owner, id))
    }

    async fn replays(
        &self,
        owner: Option<TenantScope>,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>> {
        of_owner!(self, owner, |store| store.replays(owner, before, max))
    }

    async fn open_replays(&self, max: usize) -> Result<Vec<ReplayJob>> {
        let found =
            self.each_in_time(|store, _| async move { store.open_replays(max).await }).await?;
        let mut found = in_turn(self.living(found, |job| job.tenant));
        found.truncate(max);
        Ok(found)
    }

    async fn lease_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        total: ReplayTotal,
        now: Time,
    ) -> Result<Option<LeasedReplay>> {
        let found = self
            .first(|store| {
                let lease = lease.clone();
                async move { store.lease_replay(id, lease, total, now).await }
            })
            .await?;
        Ok(found.map(|(_, leased)| leased))
    }

    async fn advance_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        page: ReplayCounts,
        cursor: String,
    ) -> Result<bool> {
        // Only the cell that has it says yes. None of the others writes anything.
        let advanced = self
            .first(|store| {
                let (lease, cursor) = (lease.clone(), cursor.clone());
                async move {
                    let goes_on = store.advance_replay(id, lease, page, cursor).await?;
                    Ok(goes_on.then_some(()))
                }
            })
            .await?;
        Ok(advanced.is_some())
    }

    async fn end_replay(
        &self,
        id: ReplayId,
        runner: &str,
        page: ReplayCounts,
        end: ReplayEnd,
        now: Time,
    ) -> Result<bool> {
        let ended = self
            .first(|store| {
                let end = end.clone();
                async move {
                    let has_ended = store.end_replay(id, runner, page, end, now).await?;
                    Ok(has_ended.then_some(()))
                }
            })
            .await?;
        Ok(ended.is_some())
    }

    async fn cancel_replay(
        &self,
        owner: Option<TenantScope>,
        id: ReplayId,
        now: Time,
    ) -> Result<Option<ReplayJob>> {
        of_owner!(self, owner, |store| store.cancel_replay(owner, id, now))
    }
}

/// The oldest of each owner first, then the second of each, and so on.
fn in_turn(mut open: Vec<ReplayJob>) -> Vec<ReplayJob> {
    open.sort_by_key(|job| job.id);
    let mut turns: HashMap<Option<TenantId>, usize> = HashMap::new();
    let mut numbered: Vec<(usize, ReplayJob)> = Vec::with_capacity(open.len());
    for job in open {
        let turn = turns.entry(job.tenant).or_default();
        *turn += 1;
        numbered.push((*turn, job));
    }
    // Stable: within a turn, the order is that of the ids.
    numbered.sort_by_key(|(turn, _)| *turn);
    numbered.into_iter().map(|(_, job)| job).collect()
}
