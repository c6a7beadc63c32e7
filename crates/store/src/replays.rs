//! Replays: jobs that send past deliveries or events again, page by page.
//!
//! A replay belongs to a tenant or, without one, to the operator. One runner at a time works on it, under a
//! lease. A runner that has lost the lease writes nothing more, except how much it had sent when the replay
//! was canceled.

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{ReplayId, TenantId, TenantScope, Time};

use crate::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayState {
    Pending,
    Running,
    Done,
    Canceled,
    Failed,
}

impl ReplayState {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Running, Self::Done, Self::Canceled, Self::Failed];

    /// Returns its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Canceled => "canceled",
            Self::Failed => "failed",
        }
    }

    /// Returns its name in the stores. Never change it.
    pub const fn stored_name(self) -> &'static str {
        match self {
            Self::Canceled => "cancelled",
            other => other.name(),
        }
    }

    pub fn from_stored(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.stored_name() == name)
    }

    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Canceled | Self::Failed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReplayJob {
    pub id: ReplayId,
    /// The request, opaque to the store.
    pub request: Bytes,
    pub created_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayJob {
    pub id: ReplayId,
    /// The tenant; `None` if it is the operator's.
    pub tenant: Option<TenantId>,
    pub state: ReplayState,
    pub request: Bytes,
    pub total: ReplayTotal,
    pub sent: ReplayCounts,
    /// Why it failed as a whole.
    pub error: Option<String>,
    /// Where the next page begins, opaque to the store. Empty at the beginning.
    pub cursor: String,
    pub lease: Option<ReplayLease>,
    pub created_at: Time,
    pub started_at: Option<Time>,
    pub finished_at: Option<Time>,
}

/// How many items a replay must send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayTotal {
    pub count: u64,
    /// Whether `count` is exact. Counting stops at a maximum, and there may be more then.
    pub is_exact: bool,
}

/// The outcomes of the deliveries that a replay has processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayCounts {
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
}

/// The lease of a runner on a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayLease {
    /// The unique name of the runner.
    pub runner: String,
    /// After this time another runner may take the replay over.
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedReplay {
    pub job: ReplayJob,
    pub take: ReplayLeaseOrigin,
}

/// How a runner got a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayLeaseOrigin {
    /// The replay is new.
    Started,
    /// Another runner had it, which may have sent a page without recording it.
    TakenOver,
    /// The runner already had it.
    Renewed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayLimits {
    /// Maximum open replays of one owner. There is no limit over all owners, because a few owners could use
    /// it up.
    pub max_open: u64,
    /// Maximum stored replays of one owner. The oldest that have ended are removed first.
    pub max_kept: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenReplayOutcome {
    Opened,
    /// The owner has this many open replays. Nothing was written.
    TooMany {
        open: u64,
    },
}

/// How a replay ends unless it is canceled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayEnd {
    Done,
    /// It failed for this reason.
    Failed(String),
}

/// `owner` is a tenant, or `None` for the operator.
#[async_trait]
pub trait ReplayJobs: Send + Sync + 'static {
    /// Stores a replay to be run, if the limits allow another.
    async fn open_replay(
        &self,
        owner: Option<TenantScope>,
        new: NewReplayJob,
        limits: ReplayLimits,
    ) -> Result<OpenReplayOutcome>;

    async fn replay(&self, owner: Option<TenantScope>, id: ReplayId) -> Result<Option<ReplayJob>>;

    /// Returns a page of replays, newest first, created before `before`.
    async fn replays(
        &self,
        owner: Option<TenantScope>,
        before: Option<ReplayId>,
        max: usize,
    ) -> Result<Vec<ReplayJob>>;

    /// Returns replays that have not ended: the oldest of each owner first, then the second of each, and so
    /// on.
    async fn open_replays(&self, max: usize) -> Result<Vec<ReplayJob>>;

    /// Takes a replay that has no runner or whose lease has expired, or renews the lease, and returns the
    /// updated replay. A replay that this starts has the `total` that was counted before. Returns `None` if
    /// the replay has ended or another runner has it.
    async fn lease_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        total: ReplayTotal,
        now: Time,
    ) -> Result<Option<LeasedReplay>>;

    /// Adds a page that `lease.runner` has sent, moves to `cursor` and renews the lease. Returns whether the
    /// runner continues. If the replay was canceled meanwhile, only the counts are added. If another runner
    /// has it, nothing is written: that runner checks the page again.
    async fn advance_replay(
        &self,
        id: ReplayId,
        lease: ReplayLease,
        page: ReplayCounts,
        cursor: String,
    ) -> Result<bool>;

    /// As [`Self::advance_replay`], for the last page. Returns whether this ended the replay.
    async fn end_replay(
        &self,
        id: ReplayId,
        runner: &str,
        page: ReplayCounts,
        end: ReplayEnd,
        now: Time,
    ) -> Result<bool>;

    /// Cancels a replay that has not ended, and returns the updated replay. One that has ended stays
    /// unchanged.
    async fn cancel_replay(
        &self,
        owner: Option<TenantScope>,
        id: ReplayId,
        now: Time,
    ) -> Result<Option<ReplayJob>>;
}
