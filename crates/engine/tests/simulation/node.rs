//! Processes: each lives, dies and is started again, until the run is over.

use std::{
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};

use futures_util::FutureExt;
use gancho_domain::{Clock, CorrectedClock};
use gancho_engine::{Engine, EngineSetup, LaneSetup, LaneTerms, Limits, SlotPolicy, correct_clock};
use gancho_store::{NodeFacts, Result};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    clock::SimClock,
    proxy::Proxy,
    sabotage::Sabotage,
    scenario::Clocks,
    tap::{Life, Tap},
    target::SimCarrier,
    world::{What, World},
};

/// A place in which one process runs at a time.
pub struct Slot {
    pub world: Arc<World>,
    pub running: Mutex<Option<Running>>,
    /// The clock of the machine.
    pub machine: SimClock,
    /// Requests a soft stop and a restart.
    pub stop: Notify,
    pub over: CancellationToken,
}

#[derive(Clone)]
pub struct Running {
    pub life: Arc<Life>,
    pub engine: Arc<Engine>,
}

enum Ending {
    Died,
    Stop,
    Over,
}

impl Slot {
    pub fn new(world: &Arc<World>) -> Arc<Self> {
        let ahead_secs = match world.scenario.clocks {
            Clocks::Same | Clocks::Jumping => 0,
            Clocks::Apart => world.dice.roll(0, 1_200) as i64 - 600,
        };
        Arc::new(Self {
            world: world.clone(),
            machine: world.clock.of_machine(ahead_secs),
            running: Mutex::new(None),
            stop: Notify::new(),
            over: CancellationToken::new(),
        })
    }

    pub fn running(&self) -> Option<Running> {
        self.running.lock().clone()
    }

    pub async fn run(self: Arc<Self>) {
        loop {
            let life = Arc::new(Life {
                id: self.world.new_life(),
                world: self.world.clone(),
                clock: self.clock(),
                machine: self.machine.clone(),
                engine: OnceLock::new(),
                died: CancellationToken::new(),
                broken: AtomicBool::new(false),
                frozen_until: Mutex::new(Duration::ZERO),
                cut_off_until: Mutex::new(Duration::ZERO),
            });
            if let Ending::Over = self.live(life).await {
                return;
            }
            tokio::time::sleep(self.world.dice.millis(10, 20_000)).await;
        }
    }

    /// Returns the clock of a process on this machine.
    fn clock(&self) -> Arc<dyn Clock> {
        match self.world.scenario.clocks {
            Clocks::Same | Clocks::Jumping => self.world.clock.clone(),
            Clocks::Apart => Arc::new(CorrectedClock::new(self.machine.clone())),
        }
    }

    async fn live(&self, life: Arc<Life>) -> Ending {
        let store = Arc::new(Proxy { inner: self.world.store.clone(), tap: Tap(life.clone()) });
        let started = tokio::select! {
            biased;
            () = life.died.cancelled() => return Ending::Died,
            started = start(&life, &store) => started,
        };
        let Ok(engine) = started else {
            life.die("it could not start");
            return Ending::Died;
        };
        let _ = life.engine.set(Arc::downgrade(&engine));
        *self.running.lock() = Some(Running { life: life.clone(), engine: engine.clone() });
        let ending = tokio::select! {
            biased;
            () = life.died.cancelled() => Ending::Died,
            _ = engine.failed() => {
                life.die("its store broke");
                Ending::Died
            }
            () = self.over.cancelled() => Ending::Over,
            () = self.stop.notified() => Ending::Stop,
        };
        *self.running.lock() = None;
        if let Ending::Stop | Ending::Over = ending {
            self.stop_softly(&life, &engine).await;
        }
        engine.abort();
        engine.ended().await;
        ending
    }

    async fn stop_softly(&self, life: &Life, engine: &Arc<Engine>) {
        let deadline = self.world.dice.millis(0, 20_000);
        let stopped = tokio::select! {
            biased;
            () = life.died.cancelled() => return,
            stopped = engine.stop(deadline) => stopped,
        };
        if engine.failed().now_or_never().is_some() {
            life.die("its store broke while it stopped");
        } else if stopped.unfinished > 0 {
            life.die("timed out");
        } else {
            self.world.note(What::Stopped { life: life.id });
        }
    }
}

/// Starts as the gateway does: with the time of the store, if that has one.
async fn start(life: &Arc<Life>, store: &Arc<Proxy>) -> Result<Arc<Engine>> {
    correct_clock(&*life.clock, &**store).await?;
    Engine::start(setup(life, store)).await
}

fn setup(life: &Arc<Life>, store: &Arc<Proxy>) -> EngineSetup {
    let world = &life.world;
    let scenario = &world.scenario;
    let carrier =
        Arc::new(SimCarrier { world: world.clone(), clock: life.clock.clone(), life: life.id });
    let policy = match world.sabotage {
        Sabotage::OnePool => SlotPolicy::HardUnsorted,
        _ => SlotPolicy::ByLatency,
    };
    let lane = |lane: &gancho_domain::Lane| LaneSetup {
        terms: LaneTerms {
            concurrency: scenario.concurrency,
            rate: scenario.lane_rate,
            expiry: None,
        },
        policy,
        ..LaneSetup::new(*lane, carrier.clone())
    };
    let limits = scenario.limits.clone();
    let limits = match world.sabotage {
        Sabotage::NoTurns => Limits { tenant_batch: u32::MAX, ..limits },
        _ => limits,
    };
    EngineSetup {
        facts: NodeFacts::default(),
        store: store.clone(),
        clock: life.clock.clone(),
        random: world.dice.clone(),
        lanes: scenario.lanes.iter().map(lane).collect(),
        limits,
        archive: None,
        spans: None,
        is_wall_clock: true,
        name: format!("{:?}", life.id),
    }
}
