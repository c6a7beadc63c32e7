//! Figures that only the store knows: backlog, dead letters and size.
//!
//! Counting is expensive, so a snapshot is reused for a few seconds. A scrape does not wait for a slow one:
//! it shows the previous snapshot and its age.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use gancho_domain::{Lane, TenantId, Time};
use gancho_engine::{Buckets, TenantCount};
use gancho_store::{CellFigures, DeadFilter, DeadStats, IntakeCounts, LaneDepth, Result, Space};
use parking_lot::RwLock;
use tokio::{sync::Mutex, time::Instant};

use super::Watch;

/// Maximum number of tenants, and of codes, with a series of their own.
pub const MAX_NAMED: usize = 50;
/// The label value of all others.
pub const OTHER: &str = "other";
const FRESH: Duration = Duration::from_secs(2);
/// A snapshot that took long is reused for longer, so that counting takes at most a twentieth of a reader's
/// time.
const REST_FACTOR: u32 = 20;
/// How long a scrape waits for a new snapshot.
const TIMEOUT: Duration = Duration::from_millis(40);
/// The same for the first scrape, which has no previous snapshot.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_CACHED_NAMES: usize = 4_096;

#[derive(Default)]
pub struct Observer {
    last: RwLock<Option<Arc<StoreSnapshot>>>,
    /// Held by the task that reads a snapshot.
    refreshing: Mutex<()>,
    names: RwLock<HashMap<TenantId, Name>>,
    /// Tenants with their own counters. A counter keeps its name, so this only grows, up to a maximum.
    counted: RwLock<BTreeSet<TenantId>>,
}

/// The name of a series: a tenant's slug or a partner's name. In the store, each source is a tenant.
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
    /// How long reading the snapshot took.
    pub took: Duration,
    pub depths: Vec<LaneBacklog>,
    pub dead: DeadLetterSnapshot,
    pub space: Space,
    pub cells: Vec<CellFigures>,
    pub intake: IntakeCounts,
    /// The scheduler's shares of the busiest tenants, by lane.
    pub shares: Vec<(Lane, Vec<TenantShare>)>,
    /// What this node did for tenants since it started, by lane; the rest as `other`.
    pub tenants: Vec<(Lane, BTreeMap<Name, TenantCount>)>,
}

#[derive(Debug)]
pub struct LaneBacklog {
    pub of: LaneDepth,
    /// How long the oldest delivery has been due.
    pub age: Duration,
}

#[derive(Debug, Default)]
pub struct DeadLetterSnapshot {
    pub by_lane: BTreeMap<Lane, u64>,
    pub by_code: BTreeMap<String, u64>,
    pub by_name: BTreeMap<Name, u64>,
    /// Age of the oldest dead letter.
    pub age: Duration,
    pub ages: Option<Buckets>,
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
    /// Returns a fresh snapshot, or else the latest one; `None` if the store never answered.
    pub(super) async fn snapshot(self: &Arc<Self>) -> Option<Arc<StoreSnapshot>> {
        let last = self.observer.last.read().clone();
        if let Some(fresh) = last.as_ref().filter(|last| last.is_fresh()) {
            return Some(fresh.clone());
        }
        let watch = self.clone();
        let refreshing = self.tasks.spawn(async move { watch.refresh().await });
        let timeout = if last.is_some() { TIMEOUT } else { FIRST_TIMEOUT };
        // On a timeout, the latest snapshot is shown.
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
        let cells = self.store.cell_figures().await?;
        let intake = self.store.intake_counts().await?;
        let now = self.clock.now();
        let ages = self.read_ages(dead.total, now).await?;
        let mut dead = self.name_dead_letters(dead, now).await?;
        dead.ages = Some(ages);
        let mut shares = Vec::new();
        for lane in Lane::ALL {
            shares.push((lane, self.read_shares(lane).await?));
        }
        let tenants = self.read_tenants().await?;
        Ok(StoreSnapshot {
            at: Instant::now(),
            took: begin.elapsed(),
            depths: depths
                .into_iter()
                .map(|of| LaneBacklog { age: since(of.oldest_due, now), of })
                .collect(),
            dead,
            space,
            cells,
            intake,
            shares,
            tenants,
        })
    }

    /// Returns the shares of the busiest tenants, with their names.
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

    /// Returns the ages of the dead letters in the store, as a histogram.
    async fn read_ages(&self, total: u64, now: Time) -> Result<Buckets> {
        let times: Vec<Time> = AGES.iter().map(|age| now - *age).collect();
        let younger =
            if total == 0 { vec![0; AGES.len()] } else { self.store.dead_since(times).await? };
        Ok(age_buckets(&younger, total))
    }

    /// Returns counts by tenant. The busiest tenants get their own counters, as long as there is room for
    /// more names.
    async fn read_tenants(&self) -> Result<Vec<(Lane, BTreeMap<Name, TenantCount>)>> {
        let mut lanes = Vec::new();
        for lane in Lane::ALL {
            let Some(counts) = self.engine.outcomes(lane) else { continue };
            let mut all: Vec<_> = counts.by_tenant.into_iter().collect();
            all.sort_by_key(|(tenant, count)| (std::cmp::Reverse(count.processed), *tenant));
            {
                let mut counted = self.observer.counted.write();
                for (tenant, _) in &all {
                    if counted.len() < MAX_NAMED {
                        counted.insert(*tenant);
                    }
                }
            }
            let counted = self.observer.counted.read().clone();
            let mut named: BTreeMap<Name, TenantCount> = BTreeMap::new();
            for (tenant, count) in all {
                let is_named = counted.contains(&tenant);
                let name = if is_named { self.name(tenant).await? } else { Name::tenant(OTHER) };
                add(named.entry(name).or_default(), count);
            }
            if counts.other_tenants.processed > 0 {
                add(named.entry(Name::tenant(OTHER)).or_default(), counts.other_tenants);
            }
            lanes.push((lane, named));
        }
        Ok(lanes)
    }

    async fn name_dead_letters(&self, stats: DeadStats, now: Time) -> Result<DeadLetterSnapshot> {
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
        let age = since(stats.oldest, now);
        Ok(DeadLetterSnapshot { by_lane: stats.by_lane, by_code, by_name, age, ages: None })
    }

    /// Returns the name of a tenant. Names never change, so each is read once.
    async fn name(&self, tenant: TenantId) -> Result<Name> {
        if let Some(name) = self.observer.names.read().get(&tenant) {
            return Ok(name.clone());
        }
        let name = match self.store.tenant(tenant).await {
            Ok(Some(found)) => Name::tenant(found.slug),
            // One cell that does not answer must not delay the figures of the others.
            Err(_) => return Ok(Name::tenant(tenant.to_string())),
            Ok(None) => match self.partner(tenant).await? {
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

fn add(sum: &mut TenantCount, count: TenantCount) {
    sum.processed += count.processed;
    sum.dead_letters += count.dead_letters;
    sum.last_processed_at = sum.last_processed_at.max(count.last_processed_at);
}

/// The upper bounds of the ages of dead letters.
const AGES: [Duration; 8] = [
    Duration::from_mins(1),
    Duration::from_mins(10),
    Duration::from_hours(1),
    Duration::from_hours(6),
    Duration::from_hours(24),
    Duration::from_hours(3 * 24),
    Duration::from_hours(7 * 24),
    Duration::from_hours(30 * 24),
];

/// Converts counts to buckets. `younger` has how many are not older than each bound. Their sum is estimated
/// by the bounds.
fn age_buckets(younger: &[u64], total: u64) -> Buckets {
    let mut buckets = Vec::with_capacity(AGES.len() + 1);
    let (mut before, mut sum) = (0, 0.0);
    for (bound, count) in AGES.iter().zip(younger) {
        let inside = count.saturating_sub(before);
        sum += inside as f64 * bound.as_secs_f64() / 2.0;
        buckets.push((bound.as_secs_f64(), inside));
        before = before.max(*count);
    }
    let older = total.saturating_sub(before);
    sum += older as f64 * AGES[AGES.len() - 1].as_secs_f64();
    buckets.push((f64::INFINITY, older));
    Buckets { count: buckets.iter().map(|(_, count)| count).sum(), buckets, sum }
}

fn since(then: Option<Time>, now: Time) -> Duration {
    then.map_or(Duration::ZERO, |then| now.since(then))
}

/// Returns the largest counts, and the sum of the others.
fn largest<K: Ord>(counts: BTreeMap<K, u64>) -> (Vec<(K, u64)>, u64) {
    let mut all: Vec<(K, u64)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest = all.split_off(all.len().min(MAX_NAMED));
    (all, rest.iter().map(|(_, count)| count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_fall_into_buckets() {
        let seen = age_buckets(&[1, 1, 3, 3, 3, 3, 3, 3], 5);
        assert_eq!(seen.count, 5);
        let counts: Vec<u64> = seen.buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [1, 0, 2, 0, 0, 0, 0, 0, 2]);
        assert_eq!(age_buckets(&[0; 8], 0).count, 0);
    }

    #[test]
    fn a_look_that_took_long_serves_for_longer() {
        assert_eq!(fresh_for(Duration::from_millis(5)), FRESH);
        assert_eq!(fresh_for(Duration::from_secs(3)), Duration::from_secs(60));
    }
}
