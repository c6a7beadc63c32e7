//! What a seed determines: the tenants and targets, how the targets behave, and what goes wrong.

use std::{sync::Arc, time::Duration};

use gancho_domain::{EndpointId, Lane, Random, Rate, RetryPlan, SeededRandom, TenantId};
use gancho_engine::Limits;

/// Numbers from a seed.
pub struct Dice(SeededRandom);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed.wrapping_mul(0x9E37_79B9).wrapping_add(1)))
    }

    /// Returns a number in `low..=high`.
    pub fn roll(&self, low: u64, high: u64) -> u64 {
        low + self.0.next() % (high - low + 1)
    }

    pub fn one_in(&self, n: u64) -> bool {
        self.0.next().is_multiple_of(n)
    }

    pub fn millis(&self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.roll(low, high))
    }

    pub fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.roll(0, from.len() as u64 - 1) as usize]
    }
}

impl Random for Dice {
    fn next(&self) -> u64 {
        self.0.next()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    Fast,
    Moderate,
    Slow,
    /// Never responds: the carrier's deadline ends the attempt.
    Hanging,
    /// The first attempts at each delivery fail.
    FailsFirst(u32),
    /// Works for a while, then fails for a while.
    Flapping {
        secs: u64,
    },
    /// Responds that it will never accept the delivery.
    Refusing,
    /// Panics in the carrier on first attempts.
    Panicking,
}

#[derive(Debug, Clone)]
pub struct Target {
    pub tenant: TenantId,
    pub id: EndpointId,
    pub lane: Lane,
    pub behavior: Behavior,
    pub in_order: bool,
    pub plan: Arc<RetryPlan>,
    pub max_in_flight: u32,
    pub rate: Option<Rate>,
}

impl Target {
    /// Who publishes to it. Each tenant's targets have ids of their own.
    pub fn owner(&self) -> TenantId {
        tenant(self.id.bits() >> 80)
    }

    /// Whether the target delivers everything at once. Nothing may wait long for such a target.
    pub fn is_healthy(&self) -> bool {
        self.behavior == Behavior::Fast && self.rate.is_none() && !self.in_order
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One tenant floods, and nothing else goes wrong: no tenant may starve.
    Flood,
    /// Hundreds or thousands of targets hang, are slow or fail: healthy targets must not be affected.
    Crowd,
    /// Tenants with a backlog compete with others for the slots of one pool.
    Backlogs,
    /// Nothing goes wrong: no duplicates at all.
    Calm,
    /// Everything goes wrong.
    Storm,
}

/// The wall clocks of the nodes and of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// All of them read one clock.
    Same,
    /// All of them read one clock, which jumps.
    Jumping,
    /// That of each machine is minutes off, and jumps. The store has a clock of its own.
    Apart,
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub kind: Kind,
    pub nodes: usize,
    pub lanes: Vec<Lane>,
    pub concurrency: u32,
    pub lane_rate: Option<Rate>,
    pub limits: Limits,
    pub tenants: Vec<TenantId>,
    pub targets: Vec<Target>,
    /// How many of the first tenants flood.
    pub floods: usize,
    /// How many parcels each tenant publishes.
    pub parcels: u64,
    /// How long publishers publish and faults happen.
    pub lasts: Duration,
    /// One in this number of calls to the store ends in a crash.
    pub crash_one_in: Option<u64>,
    /// One in this number of calls is refused.
    pub refuse_one_in: Option<u64>,
    /// One in this number of calls leaves the store broken, with an unknown outcome.
    pub break_one_in: Option<u64>,
    /// The number of faults that happen at a certain time.
    pub strikes: u64,
    pub clocks: Clocks,
}

impl Scenario {
    pub fn of(seed: u64) -> Self {
        let dice = Dice::new(seed);
        let kind = match dice.roll(0, 9) {
            0 => Kind::Flood,
            1 => Kind::Calm,
            _ => Kind::Storm,
        };
        let storm = kind == Kind::Storm;
        let lanes = Lane::ALL[..dice.roll(1, 2) as usize].to_vec();
        let tenants: Vec<TenantId> = (1..=u128::from(dice.roll(2, 4))).map(tenant).collect();
        let targets = targets(&dice, kind, &tenants, &lanes);
        Self {
            seed,
            kind,
            nodes: dice.roll(1, if storm { 3 } else { 2 }) as usize,
            lanes,
            concurrency: dice.roll(if kind == Kind::Flood { 16 } else { 1 }, 40) as u32,
            lane_rate: (storm && dice.one_in(6))
                .then(|| Rate { count: dice.roll(1, 20) as u32, per: Duration::from_secs(1) }),
            limits: limits(&dice),
            tenants,
            targets,
            floods: usize::from(kind == Kind::Flood),
            parcels: if kind == Kind::Flood { 120 } else { dice.roll(4, 24) },
            lasts: Duration::from_secs(dice.roll(10, 60)),
            crash_one_in: (storm && dice.one_in(2)).then(|| dice.roll(100, 1_000)),
            refuse_one_in: (storm && dice.one_in(2)).then(|| dice.roll(5, 60)),
            break_one_in: (storm && dice.one_in(3)).then(|| dice.roll(200, 1_000)),
            strikes: if storm { dice.roll(0, 6) } else { 0 },
            clocks: match dice.roll(0, 5) {
                0 | 1 if storm => Clocks::Jumping,
                2 | 3 => Clocks::Apart,
                _ => Clocks::Same,
            },
        }
    }

    /// Makes a few healthy tenants beside any number of failing targets. The first tenant has most of those,
    /// and a healthy target among them.
    pub fn crowd(seed: u64) -> Self {
        let dice = Dice::new(seed ^ 0xC0_FFEE);
        let tenants: Vec<TenantId> = (1..=u128::from(dice.roll(3, 12))).map(tenant).collect();
        let others = if dice.one_in(4) { 1_200 } else { dice.roll(5, 200) };
        let mut targets = Vec::new();
        for (place, tenant) in tenants.iter().enumerate() {
            let bad = match place {
                0 => others,
                _ if place < tenants.len() / 2 => dice.roll(1, 30),
                _ => 0,
            };
            targets.push(one(*tenant, 1, Behavior::Fast, Arc::new(plan(&dice))));
            for number in 2..2 + bad {
                let behavior = match dice.roll(0, 5) {
                    0 => Behavior::Slow,
                    1 => Behavior::FailsFirst(dice.roll(1, 3) as u32),
                    2 => Behavior::Refusing,
                    _ => Behavior::Hanging,
                };
                targets.push(one(*tenant, number, behavior, Arc::new(plan(&dice))));
            }
        }
        Self::beside_a_crowd(seed, &dice, tenants, targets)
    }

    /// Makes a few healthy tenants beside hundreds of tenants without a healthy target.
    pub fn crowd_of_tenants(seed: u64) -> Self {
        let dice = Dice::new(seed ^ 0x00FA_CADE);
        let (healthy, others) = (dice.roll(2, 5), dice.roll(100, 400));
        let tenants: Vec<TenantId> = (1..=u128::from(healthy + others)).map(tenant).collect();
        let every = tenants.len() / healthy as usize;
        let mut targets = Vec::new();
        for (place, tenant) in tenants.iter().enumerate() {
            if place % every == every / 2 {
                targets.push(one(*tenant, 1, Behavior::Fast, Arc::new(plan(&dice))));
                continue;
            }
            for number in 1..=dice.roll(1, 3) {
                let behavior = match dice.roll(0, 5) {
                    0 => Behavior::Slow,
                    // It refuses connections.
                    1 => Behavior::FailsFirst(u32::MAX),
                    _ => Behavior::Hanging,
                };
                targets.push(one(*tenant, number, behavior, Arc::new(plan(&dice))));
            }
        }
        Self::beside_a_crowd(seed, &dice, tenants, targets)
    }

    /// Makes a few tenants that publish little beside tenants with a backlog, in one pool: all targets answer
    /// equally fast. The backlogs last for longer than anything is published.
    pub fn backlogs(seed: u64, behavior: Behavior) -> Self {
        let dice = Dice::new(seed ^ 0x00BA_C109);
        let floods = dice.roll(3, 6);
        let tenants: Vec<TenantId> =
            (1..=u128::from(floods + dice.roll(1, 3))).map(tenant).collect();
        let mut targets = Vec::new();
        for (place, tenant) in tenants.iter().enumerate() {
            let count = if place < floods as usize { 120 / floods } else { 1 };
            let new = |number| one(*tenant, number, behavior, Arc::new(plan(&dice)));
            targets.extend((1..=count).map(new));
        }
        let is_fast = behavior == Behavior::Fast;
        Self {
            kind: Kind::Backlogs,
            floods: floods as usize,
            concurrency: if is_fast { 8 } else { 32 },
            parcels: if is_fast { 70 } else { 40 },
            lasts: Duration::from_secs(8),
            ..Self::beside_a_crowd(seed, &dice, tenants, targets)
        }
    }

    /// Has the engine take all tenants for one.
    pub fn merge_tenants(&mut self) {
        let first = self.tenants[0];
        for target in &mut self.targets {
            target.tenant = first;
        }
    }

    pub fn is_flooding(&self, tenant: TenantId) -> bool {
        self.tenants[..self.floods].contains(&tenant)
    }

    fn beside_a_crowd(
        seed: u64,
        dice: &Dice,
        tenants: Vec<TenantId>,
        targets: Vec<Target>,
    ) -> Self {
        Self {
            kind: Kind::Crowd,
            floods: 0,
            nodes: 1,
            lanes: vec![Lane::Webhook],
            concurrency: dice.roll(16, 128) as u32,
            lane_rate: None,
            limits: Limits { poll: Duration::from_secs(1), ..Limits::default() },
            tenants,
            targets,
            parcels: dice.roll(2, 4),
            lasts: Duration::from_secs(20),
            crash_one_in: None,
            refuse_one_in: None,
            break_one_in: None,
            strikes: 0,
            clocks: Clocks::Same,
            ..Self::of(seed)
        }
    }

    pub fn target(&self, id: EndpointId) -> &Target {
        self.targets.iter().find(|target| target.id == id).expect("a known target")
    }
}

fn one(tenant: TenantId, number: u64, behavior: Behavior, plan: Arc<RetryPlan>) -> Target {
    Target {
        tenant,
        id: EndpointId::from_bits(tenant.bits() + u128::from(number)),
        lane: Lane::Webhook,
        behavior,
        in_order: false,
        plan,
        max_in_flight: 64,
        rate: None,
    }
}

fn tenant(number: u128) -> TenantId {
    TenantId::from_bits(number << 80)
}

fn targets(dice: &Dice, kind: Kind, tenants: &[TenantId], lanes: &[Lane]) -> Vec<Target> {
    let mut targets = Vec::new();
    for (place, tenant) in tenants.iter().enumerate() {
        let floods = kind == Kind::Flood && place == 0;
        for number in 1..=dice.roll(1, 3) {
            let any = dice.roll(0, 8);
            let behavior = match any {
                0 | 1 => Behavior::Slow,
                2 => Behavior::Hanging,
                3 => Behavior::FailsFirst(dice.roll(1, 3) as u32),
                4 => Behavior::Flapping { secs: dice.roll(1, 15) },
                5 => Behavior::Refusing,
                6 => Behavior::Panicking,
                _ => Behavior::Fast,
            };
            let healthy = kind == Kind::Flood && !floods;
            targets.push(Target {
                tenant: *tenant,
                id: EndpointId::from_bits(tenant.bits() + u128::from(number)),
                lane: *dice.pick(lanes),
                behavior: if healthy { Behavior::Fast } else { behavior },
                in_order: !healthy && dice.one_in(3),
                plan: Arc::new(plan(dice)),
                max_in_flight: if dice.one_in(3) { dice.roll(1, 4) as u32 } else { 64 },
                rate: (!healthy && dice.one_in(6))
                    .then(|| Rate { count: dice.roll(1, 5) as u32, per: Duration::from_secs(1) }),
            });
        }
    }
    targets
}

fn plan(dice: &Dice) -> RetryPlan {
    if dice.one_in(2) {
        let delays = (0..dice.roll(0, 5)).map(|_| dice.millis(100, 9_000)).collect();
        RetryPlan::Schedule(delays)
    } else {
        RetryPlan::Exponential {
            base: dice.millis(100, 2_000),
            max: Duration::from_secs(8),
            attempts: dice.roll(1, 6) as u32,
        }
    }
}

fn limits(dice: &Dice) -> Limits {
    Limits {
        max_jobs: *dice.pick(&[8, 32, 128, 4_096]),
        max_bytes: *dice.pick(&[2_000, 100_000]),
        batch: *dice.pick(&[4, 32, 256]),
        poll: Duration::from_secs(dice.roll(1, 4)),
        remembered: *dice.pick(&[2, 100]),
        ..Limits::default()
    }
}
