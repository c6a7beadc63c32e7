//! Replays: a tenant's in its cell, the operator's in the home cell.

use async_trait::async_trait;
use gancho_domain::{ReplayId, TenantScope, Time};
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
    /// The limit of all owners is looked at before: two that are opened at once in two cells may pass it by one.
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome> {
        if !self.is_alone() {
            let max = usize::try_from(limits.max_open_in_all).unwrap_or(usize::MAX);
            let all = self.open_replays(max).await?;
            if all.len() >= max {
                let owner = owner.map(TenantScope::tenant);
                let open = all.iter().filter(|job| job.tenant == owner).count() as u64;
                return Ok(OpenReplayOutcome::TooMany { open });
            }
        }
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
        let found = self.each(|store, _| async move { store.open_replays(max).await }).await?;
        let mut found = self.living(found, |job| job.tenant);
        found.sort_by_key(|job| std::cmp::Reverse(job.id));
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
