//! Everything that exists in a run: the store, the clock, the dice, and the log of what happened.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use gancho_domain::{Clock, DeliveryId, EndpointId, IdMaker, Time};
use gancho_store::NodeId;
use gancho_store_sqlite::SqliteStore;
use parking_lot::Mutex;

use crate::{
    clock::SimClock,
    sabotage::Sabotage,
    scenario::{Dice, Scenario},
};

/// One life of one process, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LifeId(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Delivered,
    Retry,
    Never,
    Panic,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Delivered,
    Retry,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The publisher is about to publish it.
    Asked {
        delivery: DeliveryId,
    },
    /// It was committed.
    Accepted {
        delivery: DeliveryId,
        target: EndpointId,
        subject: Option<String>,
        due_in: Duration,
    },
    /// The publisher got the acknowledgment.
    Acknowledged {
        delivery: DeliveryId,
    },
    /// An attempt began and, unless its process died, the target responded. The start time identifies the
    /// attempt, together with its delivery and its life.
    Began {
        attempt: u32,
        delivery: DeliveryId,
        life: LifeId,
        started: Time,
    },
    Answered {
        attempt: u32,
        delivery: DeliveryId,
        life: LifeId,
        answer: Answer,
    },
    /// A result was committed, or refused.
    Settled {
        attempt: Option<u32>,
        delivery: DeliveryId,
        life: LifeId,
        started: Time,
        end: End,
    },
    Refused {
        delivery: DeliveryId,
        life: LifeId,
        started: Time,
    },
    Joined {
        life: LifeId,
        node: NodeId,
    },
    /// The node left, and returned what it still held.
    Left {
        node: NodeId,
    },
    /// Another node declared this one dead.
    DeclaredDead {
        node: NodeId,
    },
    /// The process died, or its engine stopped before it had finished.
    Died {
        life: LifeId,
        how: &'static str,
    },
    Stopped {
        life: LifeId,
    },
    TooMuchHeld {
        life: LifeId,
        jobs: usize,
    },
    Fault(String),
}

impl What {
    pub fn delivery(&self) -> Option<DeliveryId> {
        match self {
            Self::Asked { delivery }
            | Self::Accepted { delivery, .. }
            | Self::Acknowledged { delivery }
            | Self::Began { delivery, .. }
            | Self::Answered { delivery, .. }
            | Self::Settled { delivery, .. }
            | Self::Refused { delivery, .. } => Some(*delivery),
            _ => None,
        }
    }
}

pub struct World {
    pub scenario: Scenario,
    pub sabotage: Sabotage,
    pub dice: Arc<Dice>,
    pub clock: Arc<SimClock>,
    pub store: Arc<SqliteStore>,
    pub ids: IdMaker,
    /// Everything that happened, in order, with its time.
    pub log: Mutex<Vec<(Duration, What)>>,
    lives: AtomicU64,
    /// All faults have ended.
    calm: AtomicBool,
    /// The store hangs for all processes until then.
    pub hangs_until: Mutex<Duration>,
    beats: Mutex<BTreeMap<NodeId, Time>>,
}

impl World {
    pub fn new(scenario: Scenario, sabotage: Sabotage) -> Arc<Self> {
        let clock = Arc::new(SimClock::new());
        let dice = Arc::new(Dice::new(scenario.seed ^ 0x51AB_1E5E_ED00));
        Arc::new(Self {
            ids: IdMaker::new(clock.clone(), dice.clone()),
            store: SqliteStore::inline().expect("a store in memory"),
            log: Mutex::new(Vec::new()),
            lives: AtomicU64::new(0),
            calm: AtomicBool::new(false),
            hangs_until: Mutex::new(Duration::ZERO),
            beats: Mutex::new(BTreeMap::new()),
            scenario,
            sabotage,
            dice,
            clock,
        })
    }

    pub fn note(&self, what: What) {
        self.log.lock().push((self.clock.elapsed(), what));
    }

    pub fn new_life(&self) -> LifeId {
        LifeId(self.lives.fetch_add(1, Ordering::Relaxed))
    }

    pub fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
        self.note(What::Fault("the faults end".into()));
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    // Which nodes are dead is computed here, because the store does not say.

    pub fn beaten(&self, node: NodeId, at: Time) {
        self.beats.lock().insert(node, at);
    }

    pub fn left(&self, node: NodeId) {
        self.beats.lock().remove(&node);
    }

    pub fn rescued(&self, caller: NodeId, silent_since: Time) {
        let dead: Vec<NodeId> = self
            .beats
            .lock()
            .extract_if(.., |node, beat| *node != caller && *beat <= silent_since)
            .map(|(node, _)| node)
            .collect();
        for node in dead {
            self.note(What::DeclaredDead { node });
        }
    }
}
