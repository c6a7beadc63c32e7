//! Reads the facts for the alert rules from the store and from this node. Nothing here uses a reader of
//! publishing, except for the names of tenants.

mod failing_endpoints;
mod source_keys;

use std::{
    collections::{HashSet, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use gancho_access::expiring_keys::expiring_keys;
use gancho_alerts::{ExpiringApiKey, FactSource, Facts, NodeReport};
use gancho_api::{state::InboundParts, watch::disk::Disk};
use gancho_domain::{Clock, Figures, Lane, TenantId, TenantScope, Time};
use gancho_engine::Engine;
use gancho_store::{DeadFilter, Result, StatisticsPoint, StatisticsStep, StatisticsWindow, Store};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::gateway::Base;

pub struct GatewayFacts {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    engine: Arc<Engine>,
    inbound: Option<InboundParts>,
    /// The tenant of the operator's own endpoints.
    operator: Option<TenantId>,
    data_dir: Option<PathBuf>,
    node: String,
    refused: Mutex<Increase>,
    lost: Mutex<Increase>,
}

/// Maximum tenants that are named.
const MAX_TENANTS: usize = 50;
/// How far back refused writes and lost nodes are reported.
const RECENT: Duration = Duration::from_mins(5);
/// A key that ends within this time needs a successor.
const KEY_NOTICE: Duration = Duration::from_hours(7 * 24);
/// Maximum API keys that are checked, and so maximum alerts about them.
const MAX_API_KEYS: usize = 50;

impl GatewayFacts {
    pub fn new(
        base: &Base,
        engine: Arc<Engine>,
        inbound: Option<InboundParts>,
        operator: Option<TenantId>,
        data_dir: Option<PathBuf>,
        node: String,
    ) -> Self {
        Self {
            store: base.store.clone(),
            clock: base.clock.clone(),
            engine,
            inbound,
            operator,
            data_dir,
            node,
            refused: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    async fn name(&self, tenant: TenantId) -> Result<String> {
        if let Some(found) = self.store.tenant(tenant).await? {
            return Ok(found.slug);
        }
        let partner = match &self.inbound {
            Some(parts) => parts.sources.sources.partner_of(tenant).await?,
            None => None,
        };
        Ok(partner.map_or_else(|| tenant.to_string(), |name| name.to_string()))
    }

    async fn dead_letters(&self, facts: &mut Facts) -> Result<()> {
        let stats = self.store.dead_stats(DeadFilter::default()).await?;
        facts.dead_letters = stats.total;
        let mut tenants: Vec<_> = stats.by_tenant.into_iter().collect();
        tenants.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (tenant, count) in tenants.into_iter().take(MAX_TENANTS) {
            facts.dead_letters_by_tenant.push((self.name(tenant).await?, count));
        }
        Ok(())
    }

    /// Counts deliveries that ended in the last hour.
    async fn ended(&self, facts: &mut Facts, now: Time) -> Result<()> {
        let window = minutes(now, Duration::from_hours(1));
        let points = self.store.gateway_statistics(Lane::ALL.to_vec(), window).await?;
        let mut ended = sum(&points);
        // The operator's own notices say nothing about the tenants' deliveries.
        if let Some(operator) = self.operator {
            let of = Lane::ALL.map(|lane| (None, lane)).to_vec();
            let scope = TenantScope::internal(operator);
            let own = sum(&self.store.tenant_statistics(scope, of, window).await?);
            ended.dead_letters = ended.dead_letters.saturating_sub(own.dead_letters);
            ended.delivered = ended.delivered.saturating_sub(own.delivered);
        }
        facts.died = ended.dead_letters;
        facts.ended = ended.delivered + ended.dead_letters;
        Ok(())
    }

    async fn store_share(&self) -> Result<Option<f64>> {
        let space = self.store.space().await?;
        Ok(space.limit.map(|limit| space.used as f64 / limit.max(1) as f64))
    }

    async fn unavailable_cells(&self) -> Result<Vec<String>> {
        let cells = self.store.cell_figures().await?.into_iter();
        Ok(cells.filter(|cell| cell.depths.is_none()).map(|cell| cell.name).collect())
    }

    fn disk_share(&self) -> Option<f64> {
        // The database of PostgreSQL is on another disk.
        let is_local = self.store.name() == "sqlite";
        Some(Disk::read(self.data_dir.as_ref().filter(|_| is_local)?)?.used())
    }
}

impl GatewayFacts {
    async fn expiring_api_keys(&self, now: Time) -> Result<Vec<ExpiringApiKey>> {
        let mut expiring = Vec::new();
        for key in expiring_keys(&*self.store, now, KEY_NOTICE, MAX_API_KEYS).await? {
            let Some(ends_at) = key.expires_at else { continue };
            let (tenant, id) = (self.name(key.tenant).await?, key.id.to_string());
            expiring.push(ExpiringApiKey { tenant, id, ends_at });
        }
        Ok(expiring)
    }
}

#[async_trait]
impl FactSource for GatewayFacts {
    async fn read(&self, reported_endpoints: HashSet<String>) -> Result<Facts> {
        let now = self.clock.now();
        let depths = self.store.depths().await?;
        let age = |oldest: Option<Time>| oldest.map_or(Duration::ZERO, |due| now.since(due));
        let mut facts = Facts {
            queue_ages: depths.iter().map(|depth| (depth.lane, age(depth.oldest_due))).collect(),
            store_share: self.store_share().await?,
            disk_share: self.disk_share(),
            unavailable_cells: self.unavailable_cells().await?,
            keyless_sources: self.keyless_sources(now).await?,
            expiring_api_keys: self.expiring_api_keys(now).await?,
            ..Facts::default()
        };
        self.failing_endpoints(&mut facts, &reported_endpoints, now).await?;
        self.dead_letters(&mut facts).await?;
        self.ended(&mut facts, now).await?;
        Ok(facts)
    }

    fn report(&self) -> NodeReport {
        let refused = self.engine.refused_writes();
        NodeReport {
            name: self.node.clone(),
            // Too many calls of one tenant are that tenant's own limit.
            refused_writes: self.refused.lock().of(refused.full + refused.unavailable),
            lost_nodes: self.lost.lock().of(self.engine.lost_nodes()),
            lost_names: self.engine.lost_names(RECENT),
            is_clock_off: !self.engine.trusts_clock(self.clock.now()),
            archive_error: self.engine.archive_error().map(|error| error.to_string()),
            ledger_error: self.inbound.as_ref().and_then(|parts| parts.checkpointer.suspension()),
            is_ledger_unchecked: self
                .inbound
                .as_ref()
                .is_some_and(|parts| !parts.checkpointer.is_checked()),
        }
    }
}

/// How much a counter has risen recently. It was 0 before the first reading.
#[derive(Default)]
struct Increase {
    /// The last reading before the window.
    before: u64,
    /// The readings within the window.
    readings: VecDeque<(Instant, u64)>,
}

impl Increase {
    fn of(&mut self, count: u64) -> u64 {
        let now = Instant::now();
        while let Some((_, old)) = self.readings.pop_front_if(|(at, _)| *at + RECENT <= now) {
            self.before = old;
        }
        self.readings.push_back((now, count));
        count.saturating_sub(self.before)
    }
}

fn minutes(now: Time, length: Duration) -> StatisticsWindow {
    let step = StatisticsStep::Minute;
    StatisticsWindow { step, since: step.floor(now - length), until: now + Duration::from_mins(1) }
}

fn sum(points: &[StatisticsPoint]) -> Figures {
    points.iter().fold(Figures::default(), |mut sum, point| {
        sum.merge(&point.figures);
        sum
    })
}

#[cfg(test)]
mod tests {
    use gancho_alerts::{AlertService, AlertSetup, Change, Rule, Thresholds};
    use gancho_domain::{IdMaker, ManualClock, SeededRandom};
    use gancho_engine::EngineSetup;
    use gancho_store::{MinuteFigures, NodeId, Series, StatisticsBatch};
    use gancho_store_sqlite::SqliteStore;

    use super::*;

    async fn gateway_facts(clock: &Arc<ManualClock>, store: &Arc<dyn Store>) -> GatewayFacts {
        let random = Arc::new(SeededRandom::new(1));
        let setup = EngineSetup::new(store.clone(), clock.clone(), random, Vec::new());
        GatewayFacts {
            store: store.clone(),
            clock: clock.clone(),
            engine: Engine::start(setup).await.unwrap(),
            inbound: None,
            operator: None,
            data_dir: None,
            node: "n1".to_owned(),
            refused: Mutex::default(),
            lost: Mutex::default(),
        }
    }

    #[tokio::test]
    async fn notices_do_not_count_in_the_rate_of_dead_letters() {
        let clock = Arc::new(ManualClock::at_secs(1_763_000_000));
        let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
        let operator = TenantId::from_bits(7);
        let facts =
            GatewayFacts { operator: Some(operator), ..gateway_facts(&clock, &store).await };
        let row = |series, delivered, dead_letters| MinuteFigures {
            series,
            minute: StatisticsStep::Minute.floor(clock.now()),
            figures: Figures { delivered, dead_letters, ..Figures::default() },
        };
        let rows = vec![
            row(Series::of_gateway(Lane::Webhook), 1_060, 43),
            row(Series::of_tenant(operator, Lane::Webhook), 1_000, 3),
        ];
        let batch = StatisticsBatch { node: NodeId(1), part: 0, rows };
        store.write_statistics(batch, clock.now()).await.unwrap();
        let read = facts.read(HashSet::new()).await.unwrap();
        assert_eq!((read.died, read.ended), (40, 100));
    }

    /// A test cannot change the system's clock, so this runs inside the crate.
    #[tokio::test]
    async fn a_clock_that_jumps_fires_until_it_is_trusted_again() {
        let clock = Arc::new(ManualClock::at_secs(1_763_000_000));
        let store: Arc<dyn Store> = SqliteStore::inline().unwrap();
        let ids = Arc::new(IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(1))));
        let facts = gateway_facts(&clock, &store).await;
        let service = AlertService::new(AlertSetup {
            store,
            clock: clock.clone(),
            ids,
            facts: Arc::new(facts),
            channels: Vec::new(),
            thresholds: Thresholds::default(),
            interval: Duration::from_secs(15),
            after: Duration::ZERO,
            node: "n1".to_owned(),
        });
        let step = async || {
            let changes = service.evaluate_once().await;
            let about = |change: &Change| {
                let alert = change.alert();
                (alert.rule, alert.subject.clone(), matches!(change, Change::Fired(_)))
            };
            changes.iter().map(about).collect::<Vec<_>>()
        };
        let off = |is_fired| vec![(Rule::ClockOff, "n1".to_owned(), is_fired)];
        assert_eq!(step().await, []);
        clock.advance(Duration::from_secs(15));
        assert_eq!(step().await, []);
        clock.jump(clock.now() + Duration::from_hours(3));
        assert_eq!(step().await, off(true));
        clock.advance(Duration::from_mins(29));
        assert_eq!(step().await, []);
        clock.advance(Duration::from_mins(2));
        assert_eq!(step().await, off(false));
    }
}
