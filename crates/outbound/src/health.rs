//! The health of endpoints over days. It is stored when it changes, which is rare, and reported by notices;
//! and an endpoint that keeps failing or responds 410 Gone is disabled.
//!
//! **Invariant.** An attempt that changes nothing costs a comparison in memory. An attempt that changes the
//! health costs a read and a write, by one attempt of this node at a time; an endpoint that alternates
//! between success and failure is written at most twice in ten seconds.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use gancho_domain::{
    Clock, Code, DeliveryId, Endpoint, EndpointId, Failure, Health, Lane, Status, TenantScope,
    Time,
    health::{AttemptSignal, Change, HealthNotice},
};
use gancho_engine::Engine;
use gancho_store::{DeliveryFilter, EndedDelivery, PageRequest, Result, Store};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    Registry,
    notify::{
        ExhaustedDelivery, MissedDeliveries, Notice, Notifier,
        digest::{DeadLetter, Digests},
        stored_digests::StoredDigests,
    },
};

pub struct HealthService {
    store: Arc<dyn Store>,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    notifier: Arc<Notifier>,
    failing_for: Duration,
    /// Knows whether the clock can be trusted. Set after its start: its carriers need this service first.
    engine: OnceLock<Weak<Engine>>,
    /// Dead letters that are reported together.
    digests: Digests,
    stored_digests: StoredDigests,
    /// Endpoints that are being written, or were written a moment ago.
    writes: Mutex<HashMap<EndpointId, HealthWrite>>,
}

#[derive(Clone)]
enum HealthWrite {
    Running,
    /// When the write ended, and what is stored since then: the cached endpoints of the tenant may be older.
    Done {
        at: Time,
        stored: Option<(u64, Health)>,
    },
}

/// An endpoint whose deliveries have all failed for this long is disabled.
pub const FAILING_FOR: Duration = Duration::from_hours(5 * 24);
/// An endpoint that has failed for this long gets one delivery at a time, until one succeeds.
const CAUTION_AFTER: Duration = Duration::from_secs(60);
/// Minimum time before a recovered endpoint is stored as failing again.
const REST: Duration = Duration::from_secs(10);
const REMEMBERED: usize = 10_000;
const LOOK_FOR_DIGESTS: Duration = Duration::from_secs(10);
/// How soon a new digest is stored.
const SAVE_AFTER: Duration = Duration::from_secs(1);
/// Digests that are stored in one go.
const MAX_SAVED: usize = 200;
const TRIES: usize = 5;
/// Maximum missed deliveries that are counted.
const COUNTED: usize = 10_000;
/// How far back missed deliveries are counted after a 410 without earlier failures.
const GONE_LOOKS_BACK: Duration = Duration::from_hours(24);

impl HealthService {
    pub fn new(
        store: Arc<dyn Store>,
        registry: Arc<Registry>,
        clock: Arc<dyn Clock>,
        notifier: Arc<Notifier>,
        failing_for: Duration,
    ) -> Self {
        Self {
            store,
            registry,
            clock,
            stored_digests: StoredDigests::new(notifier.ids.make()),
            notifier,
            failing_for,
            engine: OnceLock::new(),
            digests: Digests::default(),
            writes: Mutex::default(),
        }
    }

    /// Counts failures from now on only while this engine trusts the clock.
    pub(crate) fn judge_clock_by(&self, engine: &Arc<Engine>) {
        let _ = self.engine.set(Arc::downgrade(engine));
    }

    /// Returns since when the clock has been trusted; `None` while it is not, or without an engine.
    fn clock_trusted_since(&self, now: Time) -> Option<Time> {
        self.engine.get()?.upgrade()?.clock_trusted_since(now)
    }

    /// Whether a dead letter gets its own notice; otherwise it is counted for a digest.
    pub(crate) fn is_reported_alone(&self, what: &ExhaustedDelivery<'_>) -> bool {
        self.digests.is_single(what)
    }

    /// Counts a dead letter without an attempt for a digest.
    pub(crate) fn count_ended(
        &self,
        ended: &EndedDelivery,
        url: Option<&str>,
        code: &Code,
        at: Time,
    ) {
        let created_at = ended.delivery.time();
        let letter = DeadLetter { id: ended.delivery, created_at, url, code, at };
        self.digests.count((ended.tenant, ended.target), &letter);
    }

    /// Sends each digest when its window ends, until stopped; then sends the rest. A digest is stored about a
    /// second after it begins, in case this node is killed, and every ten seconds from then on.
    pub async fn run_digests(&self, stop: CancellationToken) {
        let mut next_look = Instant::now() + LOOK_FOR_DIGESTS;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep_until(next_look) => {
                    self.send_digests(false).await;
                    self.save_digests().await;
                    self.take_over_digests().await;
                    next_look = Instant::now() + LOOK_FOR_DIGESTS;
                }
                () = self.digests.first_counted() => {
                    // Digests that begin within this time are stored together.
                    if tokio::time::timeout(SAVE_AFTER, stop.cancelled()).await.is_ok() {
                        break;
                    }
                    self.save_digests().await;
                }
            }
        }
        self.send_digests(true).await;
    }

    /// Stores the counts, in case this node dies before it sends the digest.
    pub async fn save_digests(&self) {
        // Databases that do not answer.
        let mut away = HashSet::new();
        for (tenant, endpoint, window) in self.digests.unsaved(MAX_SAVED) {
            let shard = self.store.shard(tenant);
            if away.contains(&shard) {
                continue;
            }
            let saved = self.stored_digests.save(&self.notifier, (tenant, endpoint), &window).await;
            match saved {
                Ok(()) => self.digests.note_saved(tenant, endpoint, &window),
                Err(error) => {
                    tracing::debug!(%error, "could not store a digest of dead letters; will retry");
                    away.insert(shard);
                }
            }
        }
    }

    /// Sends the digests of dead nodes.
    pub async fn take_over_digests(&self) {
        if let Err(error) = self.stored_digests.take_over(&self.notifier).await {
            tracing::debug!(%error, "could not take over digests of dead letters; will retry");
        }
    }

    /// Sends the digests whose window has ended, or with `all` every digest. A digest that cannot be stored
    /// is retried the next time.
    pub async fn send_digests(&self, all: bool) {
        let now = self.clock.now();
        for (tenant, endpoint, window) in self.digests.ended(now, all) {
            let notice = window.notice(tenant, endpoint);
            match self.notifier.send(tenant, &notice, &window.once(endpoint)).await {
                Ok(()) => {
                    self.digests.sent(tenant, endpoint, &window, now);
                    if window.is_saved()
                        && let Err(error) = self.stored_digests.forget(&*self.store, endpoint).await
                    {
                        // A digest that is taken over later has been stored already, and is not stored again.
                        tracing::debug!(%error, "could not remove a stored digest");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, %endpoint, "could not send a digest of dead letters; will retry");
                }
            }
        }
    }

    /// Whether an endpoint gets one delivery at a time. The breaker forgets this at a restart; the stored
    /// health does not.
    pub fn is_suspect(&self, endpoint: &Endpoint) -> bool {
        let since = endpoint.health.failing_since;
        since.is_some_and(|since| self.clock.now().since(since) > CAUTION_AFTER)
    }

    /// Updates the health after an attempt. `may_notify` is whether notices may follow from it.
    pub async fn note(
        &self,
        endpoint: &Endpoint,
        seen: AttemptSignal,
        failure: Option<&Failure>,
        may_notify: bool,
    ) {
        let now = self.clock.now();
        if self.is_unchanged(endpoint, seen, now) || !self.begin(endpoint.id, seen, now) {
            return;
        }
        let stored = match self.write(endpoint, seen, failure, may_notify).await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%error, endpoint = %endpoint.id, "could not save endpoint health");
                None
            }
        };
        self.writes.lock().insert(endpoint.id, HealthWrite::Done { at: now, stored });
    }

    /// Whether the signal changes nothing, compared with what was stored last, on this node or another.
    fn is_unchanged(&self, endpoint: &Endpoint, seen: AttemptSignal, now: Time) -> bool {
        // The clock matters for failures only.
        let is_failure = seen == AttemptSignal::Failed;
        let trusted_since = is_failure.then(|| self.clock_trusted_since(now)).flatten();
        let is_same =
            |health: &Health| health.after(seen, now, self.failing_for, trusted_since).is_none();
        match self.writes.lock().get(&endpoint.id) {
            Some(HealthWrite::Done { stored: Some((version, health)), .. })
                if *version > endpoint.version =>
            {
                is_same(health)
            }
            _ => is_same(&endpoint.health),
        }
    }

    /// Whether a write may begin: writes are serialized per endpoint and rate-limited.
    fn begin(&self, id: EndpointId, seen: AttemptSignal, now: Time) -> bool {
        let mut writes = self.writes.lock();
        let may = match writes.get(&id) {
            None => true,
            Some(HealthWrite::Running) => false,
            Some(HealthWrite::Done { at, .. }) => {
                seen != AttemptSignal::Failed || now.since(*at) >= REST || now < *at
            }
        };
        if may {
            if writes.len() >= REMEMBERED {
                writes.retain(
                    |_, write| matches!(write, HealthWrite::Done { at, .. } if now.since(*at) < REST),
                );
            }
            writes.insert(id, HealthWrite::Running);
        }
        may
    }

    async fn write(
        &self,
        endpoint: &Endpoint,
        seen: AttemptSignal,
        failure: Option<&Failure>,
        may_notify: bool,
    ) -> Result<Option<(u64, Health)>> {
        let scope = TenantScope::internal(endpoint.tenant);
        let mut may_notify = may_notify;
        for _ in 0..TRIES {
            let Some(mut fresh) = self.store.endpoint(scope, endpoint.id).await? else {
                self.registry.forget(endpoint.tenant);
                return Ok(None);
            };
            let now = self.clock.now();
            let change = fresh
                .health
                .after(seen, now, self.failing_for, self.clock_trusted_since(now))
                .filter(|_| fresh.is_active);
            let Some(Change { health, tell }) = change else {
                return Ok(Some((fresh.version, fresh.health)));
            };
            // The notice comes first and has an idempotency key, so that a crash in between neither loses
            // nor repeats it.
            if let Some(tell) = tell.filter(|_| may_notify) {
                self.notify_owner(&fresh, tell, failure).await?;
                may_notify = false;
            }
            let failing_since = fresh.health.failing_since;
            fresh.health = health;
            fresh.is_active = fresh.health.disabled.is_none();
            if let Some(HealthNotice::Disabled(why)) = tell {
                // As after a change by its owner, because `is_active` is one of its settings.
                fresh.updated_at = now;
                tracing::warn!(tenant = %fresh.tenant, endpoint = %fresh.id, reason = why.name(), "endpoint disabled");
            }
            let is_recovered = fresh.health.failing_since.is_none()
                && failing_since.is_some_and(|since| now.since(since) > CAUTION_AFTER);
            if is_recovered {
                tracing::info!(tenant = %fresh.tenant, endpoint = %fresh.id, failing_since = failing_since.map(tracing::field::display), "endpoint recovered");
            }
            let stored = (fresh.version + 1, fresh.health.clone());
            let is_active = fresh.is_active;
            if self.store.change_endpoint(scope, fresh).await? {
                // The tenant's endpoints are read again within seconds: thousands may begin to fail at once.
                if !is_active {
                    self.registry.forget(endpoint.tenant);
                }
                return Ok(Some(stored));
            }
        }
        Ok(None)
    }

    async fn notify_owner(
        &self,
        endpoint: &Endpoint,
        tell: HealthNotice,
        failure: Option<&Failure>,
    ) -> Result<()> {
        let now = self.clock.now();
        let since = endpoint.health.failing_since;
        let notice = match tell {
            HealthNotice::Failing => {
                tracing::warn!(tenant = %endpoint.tenant, endpoint = %endpoint.id, failing_since = since.map(tracing::field::display), "endpoint keeps failing");
                let counts_from = since.max(self.clock_trusted_since(now)).unwrap_or(now);
                Notice::failing(endpoint, counts_from + self.failing_for, failure)
            }
            HealthNotice::Disabled(why) => {
                let since = since.unwrap_or(now - GONE_LOOKS_BACK).max(endpoint.created_at);
                Notice::disabled(endpoint, why, &self.missed(endpoint, since).await?, failure)
            }
        };
        // The version distinguishes one period of failure from the next, and is the same on every node.
        let once = format!("{} {} {:?}", endpoint.id, endpoint.version, since.map(Time::micros));
        self.notifier.send(endpoint.tenant, &notice, &once).await
    }

    /// Counts the missed deliveries. Waiting deliveries count as well, including the one whose failure is
    /// being handled: it ends once the endpoint is disabled.
    async fn missed(&self, endpoint: &Endpoint, since: Time) -> Result<MissedDeliveries> {
        let mut count = MissedCounter { since, seen: HashSet::new(), is_exact: true };
        for status in [Status::Pending, Status::Retrying] {
            self.count(endpoint, status, None, &mut count).await?;
        }
        let since = count.since;
        self.count(endpoint, Status::Failed, Some(since), &mut count).await?;
        let failed_deliveries = count.seen.len() as u64;
        Ok(MissedDeliveries { since, failed_deliveries, is_exact: count.is_exact })
    }

    async fn count(
        &self,
        endpoint: &Endpoint,
        status: Status,
        since: Option<Time>,
        count: &mut MissedCounter,
    ) -> Result<()> {
        let filter = DeliveryFilter {
            lane: Some(Lane::Webhook),
            endpoint: Some(endpoint.id),
            status: Some(status),
            since,
            ..DeliveryFilter::default()
        };
        let scope = TenantScope::internal(endpoint.tenant);
        let mut page = PageRequest::first(1_000);
        loop {
            let found = self.store.deliveries(scope, filter.clone(), page).await?;
            for row in &found.rows {
                count.since = count.since.min(row.created_at);
                count.seen.insert(row.id);
            }
            if found.next.is_none() {
                return Ok(());
            }
            if count.seen.len() >= COUNTED {
                count.is_exact = false;
                return Ok(());
            }
            page = PageRequest::new(1_000, found.next);
        }
    }
}

/// Counts each delivery that an endpoint missed once, although their states change meanwhile.
struct MissedCounter {
    /// When the oldest of them was created, or an earlier time.
    since: Time,
    seen: HashSet<DeliveryId>,
    is_exact: bool,
}
