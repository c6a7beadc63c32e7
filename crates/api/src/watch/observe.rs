//! What only the store knows: how much waits, what was given up, how full it is.
//!
//! Counting costs the store something, so one look serves everyone for a few seconds, and a scrape
//! does not wait for a slow one: it shows the look before, and says how old that is.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use gancho_domain::{Lane, TenantId, Time};
use gancho_store::{DeadFilter, DeadStats, LaneDepth, Result, Space};
use parking_lot::RwLock;
use tokio::{sync::Mutex, time::Instant};

use super::Watch;

/// At most so many tenants, and so many codes, have a series of their own.
pub const MAX_NAMED: usize = 50;
/// What stands for all the others.
pub const OTHER: &str = "other";
const FRESH: Duration = Duration::from_secs(2);
/// A look that took long serves for longer: counting takes a twentieth of one reader's time at most,
/// however much there is to count.
const REST_FACTOR: u32 = 20;
/// A scrape waits so long for a new look.
const TIMEOUT: Duration = Duration::from_millis(150);
/// The first has nothing else to show.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CACHED_NAMES: usize = 4_096;

#[derive(Default)]
pub struct Observer {
    last: RwLock<Option<Arc<StoreSnapshot>>>,
    /// One look at a time.
    refreshing: Mutex<()>,
    names: RwLock<HashMap<TenantId, Name>>,
}

/// Under what a series stands: a tenant's slug, or a partner's name. Each source is a tenant in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// `tenant` or `partner`.
    pub label: &'static str,
    pub text: Arc<str>,
}

impl Name {
    fn tenant(text: impl Into<Arc<str>>) -> Self {
        Self { label: "tenant", text: text.into() }
    }
}

#[derive(Debug)]
pub struct StoreSnapshot {
    pub at: Instant,
    /// How long the look took.
    pub took: Duration,
    pub depths: Vec<Depth>,
    pub dead: Dead,
    pub space: Space,
    /// Tenants that take their turn, by lane.
    pub shares: Vec<(Lane, Vec<TenantShare>)>,
}

#[derive(Debug)]
pub struct Depth {
    pub of: LaneDepth,
    /// For how long the oldest has been due.
    pub age: Duration,
}

#[derive(Debug, Default)]
pub struct Dead {
    pub by_lane: BTreeMap<Lane, u64>,
    pub by_code: BTreeMap<String, u64>,
    pub by_name: BTreeMap<Name, u64>,
    /// How long ago the oldest was given up.
    pub age: Duration,
}

#[derive(Debug)]
pub struct TenantShare {
    pub name: Name,
    pub share: gancho_engine::scheduler::Share,
}

impl StoreSnapshot {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < fresh_for(self.took)
    }
}

fn fresh_for(took: Duration) -> Duration {
    FRESH.max(REST_FACTOR * took)
}

impl Watch {
    /// A look that is young enough, or else the youngest there is. None if the store never answered.
    pub(super) async fn snapshot(self: &Arc<Self>) -> Option<Arc<StoreSnapshot>> {
        let last = self.observer.last.read().clone();
        if let Some(fresh) = last.as_ref().filter(|last| last.is_fresh()) {
            return Some(fresh.clone());
        }
        let watch = self.clone();
        let refreshing = self.tasks.spawn(async move { watch.refresh().await });
        let timeout = if last.is_some() { TIMEOUT } else { FIRST_TIMEOUT };
        // Whether it is through or not: what is there now is shown.
        let _ = tokio::time::timeout(timeout, refreshing).await;
        self.observer.last.read().clone()
    }

    async fn refresh(&self) {
        let _one = self.observer.refreshing.lock().await;
        if self.observer.last.read().as_ref().is_some_and(|last| last.is_fresh()) {
            return;
        }
        match self.read().await {
            Ok(snapshot) => *self.observer.last.write() = Some(Arc::new(snapshot)),
            Err(error) => tracing::warn!(%error, "could not read metrics from the store"),
        }
    }

    async fn read(&self) -> Result<StoreSnapshot> {
        let begin = Instant::now();
        let depths = self.store.depths().await?;
        let dead = self.store.dead_stats(DeadFilter::default()).await?;
        let space = self.store.space().await?;
        let now = self.clock.now();
        let mut shares = Vec::new();
        for lane in Lane::ALL {
            shares.push((lane, self.read_shares(lane).await?));
        }
        Ok(StoreSnapshot {
            at: Instant::now(),
            took: begin.elapsed(),
            depths: depths
                .into_iter()
                .map(|of| Depth { age: since(of.oldest_due, now), of })
                .collect(),
            dead: self.name_dead_letters(dead, now).await?,
            space,
            shares,
        })
    }

    /// The busiest, named.
    async fn read_shares(&self, lane: Lane) -> Result<Vec<TenantShare>> {
        let mut shares = self.engine.shares(lane);
        shares.sort_by_key(|share| {
            let held = share.queued as u64 + u64::from(share.in_flight);
            std::cmp::Reverse((held > 0, share.processed, share.tenant))
        });
        shares.truncate(MAX_NAMED);
        let mut named = Vec::new();
        for share in shares {
            named.push(TenantShare { name: self.name(share.tenant).await?, share });
        }
        Ok(named)
    }

    async fn name_dead_letters(&self, stats: DeadStats, now: Time) -> Result<Dead> {
        let (codes, other_codes) = largest(stats.by_code);
        let mut by_code: BTreeMap<String, u64> = codes.into_iter().collect();
        if other_codes > 0 {
            by_code.insert(OTHER.to_owned(), other_codes);
        }
        let (tenants, others) = largest(stats.by_tenant);
        let mut by_name = BTreeMap::new();
        for (tenant, count) in tenants {
            *by_name.entry(self.name(tenant).await?).or_default() += count;
        }
        if others > 0 {
            *by_name.entry(Name::tenant(OTHER)).or_default() += others;
        }
        Ok(Dead { by_lane: stats.by_lane, by_code, by_name, age: since(stats.oldest, now) })
    }

    /// Names do not change, so each is asked for once.
    async fn name(&self, tenant: TenantId) -> Result<Name> {
        if let Some(name) = self.observer.names.read().get(&tenant) {
            return Ok(name.clone());
        }
        let name = match self.store.tenant(tenant).await? {
            Some(found) => Name::tenant(found.slug),
            None => match self.partner(tenant).await? {
                Some(text) => Name { label: "partner", text },
                None => Name::tenant(tenant.to_string()),
            },
        };
        let mut names = self.observer.names.write();
        if names.len() >= MAX_CACHED_NAMES {
            names.clear();
        }
        names.insert(tenant, name.clone());
        Ok(name)
    }

    async fn partner(&self, tenant: TenantId) -> Result<Option<Arc<str>>> {
        match &self.inbound {
            Some(inbound) => inbound.sources.partner_of(tenant).await,
            None => Ok(None),
        }
    }
}

fn since(then: Option<Time>, now: Time) -> Duration {
    then.map_or(Duration::ZERO, |then| now.since(then))
}

/// The largest, and the sum of the rest.
fn largest<K: Ord>(counts: BTreeMap<K, u64>) -> (Vec<(K, u64)>, u64) {
    let mut all: Vec<(K, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = all.split_off(all.len().min(MAX_NAMED));
    (all, rest.iter().map(|(_, count)| count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    // faults.md 21
    #[test]
    fn a_look_that_took_long_serves_for_longer() {
        assert_eq!(fresh_for(Duration::from_millis(5)), FRESH);
        assert_eq!(fresh_for(Duration::from_secs(3)), Duration::from_secs(60));
    }
}
