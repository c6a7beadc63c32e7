//! The engine as a whole: its parts, how it starts, and how its tasks are supervised.

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use gancho_domain::{Clock, Lane, Random, TenantId, TenantScope};
use gancho_store::{NodeFacts, NodeId, Result, SharedSettings, Store, StoreError};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Archive, ArchiveError, Limits, archive, bell, claim,
    clock_guard::ClockGuard,
    delivery_log, dispatch, erase_tenants, expire,
    fleet::{self, FleetSize},
    heartbeat,
    lane::{LaneSetup, LaneState, LaneTerms},
    lane_counters::{Counter, LaneCounters},
    log_sampler::LogSampler,
    membership::Membership,
    open_breakers::OpenBreakers,
    outcome_counters::OutcomeCounts,
    pauses::{self, PauseCache},
    prune,
    refused_writes::RefusedWrites,
    rescue::{self, LostNodes},
    room::{Room, Size},
    run_to_completion::RunToCompletion,
    scheduler::Share,
    spans::SpanSink,
    statistics::{self, StatisticsRecorder},
    tail::{DeliveryChange, Tail, TailFilter, TailInterest, Tails},
    timings::Timing,
    write_shares::WriteShares,
};

pub struct EngineSetup {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    /// The lanes that this engine serves.
    pub lanes: Vec<LaneSetup>,
    pub limits: Limits,
    /// Takes dead letters that are too old or too many. Without one they stay in the store.
    pub archive: Option<Arc<dyn Archive>>,
    /// The name of the node in logs and in the store.
    pub name: String,
    /// What the list of nodes shows about the node.
    pub facts: NodeFacts,
    /// Receives spans, if tracing is on.
    pub spans: Option<Arc<dyn SpanSink>>,
    /// Whether the clock is that of the machine, so that it can be compared with the database's.
    pub is_wall_clock: bool,
}

impl EngineSetup {
    /// Creates a setup with default limits, without an archive, and with a clock that is not the machine's.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        lanes: Vec<LaneSetup>,
    ) -> Self {
        let (limits, name) = (Limits::default(), "gancho".into());
        let facts = NodeFacts::default();
        Self {
            store,
            clock,
            random,
            lanes,
            limits,
            archive: None,
            name,
            facts,
            spans: None,
            is_wall_clock: false,
        }
    }
}

pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) limits: Limits,
    pub(crate) archive: Option<Arc<dyn Archive>>,
    /// Archived dead letters, one counter for each lane.
    pub(crate) archived: [Counter; Lane::ALL.len()],
    /// Why the last round of archiving failed.
    pub(crate) archive_error: Mutex<Option<ArchiveError>>,
    pub(crate) name: String,
    pub(crate) facts: Mutex<NodeFacts>,
    /// Whether the next heartbeat must write the facts.
    pub(crate) are_facts_new: AtomicBool,
    pub(crate) spans: Option<Arc<dyn SpanSink>>,
    pub(crate) lanes: Vec<Arc<LaneState>>,
    pub(crate) room: Arc<Room>,
    pub(crate) write_shares: WriteShares,
    pub(crate) pauses: PauseCache,
    pub(crate) membership: Membership,
    pub(crate) fleet: FleetSize,
    /// The number under which this engine writes statistics, even if its membership ends.
    pub(crate) first_node: NodeId,
    pub(crate) statistics: StatisticsRecorder,
    pub(crate) open_breakers: OpenBreakers,
    pub(crate) tails: Arc<Tails>,
    pub(crate) clock_guard: ClockGuard,
    pub(crate) is_wall_clock: bool,
    pub(crate) log_sampler: LogSampler,
    pub(crate) refused_writes: RefusedWrites,
    /// Other nodes that this one declared dead.
    pub(crate) lost_nodes: Counter,
    /// The names of those that were declared dead last.
    pub(crate) lost_names: LostNodes,
    /// Canceled when the engine accepts no more work.
    pub(crate) stopping: CancellationToken,
    /// Canceled when every task must end at its next step.
    pub(crate) aborted: CancellationToken,
    pub(crate) tracker: TaskTracker,
    failure: watch::Sender<Option<StoreError>>,
}

impl Engine {
    /// Joins the cluster, rescues the deliveries of dead nodes, and starts the lanes.
    pub async fn start(setup: EngineSetup) -> Result<Arc<Self>> {
        let EngineSetup { store, clock, random, lanes, limits, archive, .. } = setup;
        let EngineSetup { name, facts, spans, is_wall_clock, .. } = setup;
        let room = Room::new(
            Size { jobs: limits.max_jobs, bytes: limits.max_bytes },
            lanes.iter().map(|lane| lane.lane).collect(),
        );
        let lane_count = lanes.len();
        let beaten_at = Instant::now();
        let clock_guard = ClockGuard::new(&*clock, store.last_written().await?);
        let node = store.join(&name, clock.now()).await?;
        store.describe_node(node, facts.clone()).await?;
        let engine = Arc::new(Self {
            lanes: lanes
                .into_iter()
                .map(|lane| {
                    let bell = room.bell(lane.lane);
                    Arc::new(LaneState::new(lane, lane_count, &limits, bell))
                })
                .collect(),
            membership: Membership::new(node, beaten_at, limits.trusted()),
            fleet: FleetSize::default(),
            first_node: node,
            statistics: StatisticsRecorder::default(),
            open_breakers: OpenBreakers::default(),
            tails: Arc::default(),
            clock_guard,
            is_wall_clock,
            log_sampler: LogSampler::default(),
            refused_writes: RefusedWrites::default(),
            lost_nodes: Counter::default(),
            lost_names: LostNodes::default(),
            room,
            write_shares: WriteShares::default(),
            pauses: PauseCache::default(),
            store,
            clock,
            random,
            limits,
            archive,
            archived: Default::default(),
            archive_error: Mutex::default(),
            name,
            facts: Mutex::new(facts),
            are_facts_new: AtomicBool::new(false),
            spans,
            stopping: CancellationToken::new(),
            aborted: CancellationToken::new(),
            tracker: TaskTracker::new(),
            failure: watch::Sender::new(None),
        });
        tracing::info!(node = node.0, name = engine.name, "engine started");
        engine.compare_clocks().await;
        engine.refresh_fleet().await;
        engine.refresh_pauses().await?;
        engine.rescue_once().await;
        if engine.trusts_clock(engine.clock.now()) {
            engine.expire_at_start().await?;
        }
        engine.start_loops();
        Ok(engine)
    }

    fn start_loops(self: &Arc<Self>) {
        for lane in &self.lanes {
            let mine = lane.clone();
            self.supervise("claim", move |engine| claim::run(engine, mine.clone()));
            let mine = lane.clone();
            self.supervise("timer", move |engine| dispatch::run(engine, mine.clone()));
        }
        self.supervise("bell", bell::run);
        self.supervise("heartbeat", heartbeat::run);
        self.supervise("fleet", fleet::run);
        self.supervise("rescue", rescue::run);
        self.supervise("pauses", pauses::run);
        self.supervise("expire", expire::run);
        self.supervise("archive", archive::run);
        self.supervise("prune", prune::run);
        self.supervise("erase", erase_tenants::run);
        self.supervise("statistics", statistics::flush::run);
        self.supervise("roll-up", statistics::roll_up::run);
        self.supervise("log", delivery_log::run);
    }

    /// Returns the number of this node. It holds the deliveries that are leased when accepted.
    pub fn node(&self) -> NodeId {
        self.membership.last()
    }

    /// Returns when the store has failed permanently. The engine has stopped by then too.
    pub async fn failed(&self) -> StoreError {
        let mut failure = self.failure.subscribe();
        let told = failure.wait_for(Option::is_some).await;
        match told.ok().and_then(|failure| failure.clone()) {
            Some(error) => error,
            // The sender lives as long as `self`.
            None => std::future::pending().await,
        }
    }

    /// Counters of a lane; `None` if this engine does not serve it.
    pub fn stats(&self, lane: Lane) -> Option<LaneCounters> {
        let lane = self.lane(lane)?;
        let (queued, in_flight) = {
            let queue = lane.queue.lock();
            (queue.queued() as u64, u64::from(queue.in_flight()))
        };
        Some(lane.counters.snapshot(queued, in_flight))
    }

    /// Timings of a lane; `None` if this engine does not serve it.
    pub fn timing(&self, lane: Lane) -> Option<Timing> {
        self.lane(lane).map(|lane| lane.timings.snapshot())
    }

    /// Results of a lane by failure code and tenant; `None` if this engine does not serve it.
    pub fn outcomes(&self, lane: Lane) -> Option<OutcomeCounts> {
        self.lane(lane).map(|lane| lane.outcomes.snapshot())
    }

    /// The same counts by failure code alone.
    pub fn failures(&self, lane: Lane) -> Option<OutcomeCounts> {
        self.lane(lane).map(|lane| lane.outcomes.failures())
    }

    /// Whether deliveries are claimed and tried. `false` after the store was unreachable for too long, and
    /// once the engine stops.
    pub fn is_alive(&self) -> bool {
        !self.stopping.is_cancelled() && self.membership.current().is_some()
    }

    /// Watches what happens to deliveries from now on: what this node does, and what other nodes report to it.
    pub fn tail(&self, filter: TailFilter) -> Tail {
        self.tails.watch(filter)
    }

    /// Watches what this node does, on behalf of another node.
    pub fn tail_for_node(
        &self,
        tenant: Option<TenantId>,
        lane: Option<Lane>,
        max_rate: u32,
    ) -> Tail {
        let scope = tenant.map(TenantScope::internal);
        let max_rate = Some(max_rate);
        self.tails.watch(TailFilter {
            scope,
            lane,
            max_rate,
            is_local: true,
            ..TailFilter::default()
        })
    }

    /// Returns what is watched on this node.
    pub fn tail_interests(&self) -> Vec<TailInterest> {
        self.tails.interests()
    }

    /// Shows a change on another node to watchers.
    pub fn show(&self, change: DeliveryChange) {
        self.tails.show(change);
    }

    /// Tells watchers how many changes another node has dropped.
    pub fn show_missed(&self, interest: TailInterest, count: u64) {
        self.tails.show_missed(interest, count);
    }

    /// Returns how a lane is shared between its tenants.
    pub fn shares(&self, lane: Lane) -> Vec<Share> {
        self.lane(lane).map_or_else(Vec::new, |lane| lane.queue.lock().shares())
    }

    /// Returns how much is in memory: waiting, in flight and being settled.
    pub fn held(&self) -> Size {
        self.room.used()
    }

    pub(crate) fn lane(&self, lane: Lane) -> Option<&Arc<LaneState>> {
        self.lanes.iter().find(|state| state.lane == lane)
    }

    /// Shares the settings of this node with the other nodes, by the next heartbeat.
    pub fn set_shared_settings(&self, settings: SharedSettings) {
        self.facts.lock().shared_settings = settings;
        self.are_facts_new.store(true, Ordering::Release);
    }

    /// Changes the limits of a lane from now on. Does nothing if this engine does not serve the lane.
    pub fn set_lane_terms(self: &Arc<Self>, lane: Lane, terms: LaneTerms, tenant_batch: u32) {
        if let Some(lane) = self.lane(lane) {
            lane.set_terms(terms, tenant_batch);
            lane.claim_bell.notify_one();
            self.dispatch(lane);
        }
    }

    /// Stops everything because the store failed permanently. [`Engine::failed`] returns the reason.
    pub(crate) fn fail(&self, error: &StoreError) {
        let news = self.failure.send_if_modified(|failure| {
            let first = failure.is_none();
            failure.get_or_insert_with(|| error.clone());
            first
        });
        if news {
            tracing::error!(%error, "store failed; stopping the engine");
        }
        self.abort();
    }

    /// Spawns a task of the engine. Every task is tracked, and an abort drops it at once.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let aborted = self.aborted.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                biased;
                () = aborted.cancelled() => {}
                () = work => {}
            }
        });
    }

    /// Runs `work` to its end even if the caller goes away. Nothing may be dropped between the commit that
    /// leases deliveries to this node and the moment they are queued, or they would stay leased for as long
    /// as the node lives. Returns `None` if the engine was aborted meanwhile.
    ///
    /// Boxed before it is awaited: otherwise the caller's future would contain it as well, at twice the size.
    pub fn run_to_completion<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Option<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let aborted = self.aborted.clone();
        let work = async move {
            tokio::select! {
                biased;
                () = aborted.cancelled() => None,
                done = work => Some(done),
            }
        };
        RunToCompletion::new(&self.tracker, work)
    }

    /// Starts a loop and restarts it after a panic.
    fn supervise<W>(
        self: &Arc<Self>,
        name: &'static str,
        work: impl Fn(Arc<Self>) -> W + Send + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        const REST: Duration = Duration::from_secs(1);
        let engine = self.clone();
        self.spawn(async move {
            while AssertUnwindSafe(work(engine.clone())).catch_unwind().await.is_err() {
                tracing::error!(task = name, "engine task panicked; restarting");
                tokio::time::sleep(REST).await;
            }
        });
    }
}
