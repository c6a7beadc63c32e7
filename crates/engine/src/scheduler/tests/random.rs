//! Any sequence of calls keeps the promises.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Push { tenant: u8, target: u8, max: u8, rate: bool },
    Next,
    Finish { which: u8, how: u8 },
    Wait { millis: u32 },
    ClockBack { secs: u16 },
    PauseLane,
    PauseTenant(u8),
    PauseTarget(u8, u8),
    Resume,
    Shed,
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    let tenant = 1..6_u8;
    prop_oneof![
        12 => (tenant.clone(), 0..4_u8, 1..6_u8, any::<bool>())
            .prop_map(|(tenant, target, max, rate)| Step::Push { tenant, target, max, rate }),
        12 => Just(Step::Next),
        9 => (any::<u8>(), any::<u8>()).prop_map(|(which, how)| Step::Finish { which, how }),
        3 => (0..20_000_u32).prop_map(|millis| Step::Wait { millis }),
        1 => (0..5_000_u16).prop_map(|secs| Step::ClockBack { secs }),
        1 => Just(Step::PauseLane),
        1 => tenant.clone().prop_map(Step::PauseTenant),
        1 => (tenant, 0..4_u8).prop_map(|(a, b)| Step::PauseTarget(a, b)),
        2 => Just(Step::Resume),
        1 => Just(Step::Shed),
        1 => Just(Step::Drain),
    ]
}

const TARDY: Outcome =
    Outcome::Tried { at_fault: false, load: Load::Light, latency: Duration::from_millis(700) };

const LANE: Pause = Pause::Lane(Lane::Webhook);

struct Run {
    queue: Scheduler<u32>,
    now: Time,
    made: u32,
    out: Vec<Slot>,
    /// What waits, by target, in order.
    model: BTreeMap<Key, VecDeque<u32>>,
}

const POLICIES: [SlotPolicy; 3] =
    [SlotPolicy::ByLatency, SlotPolicy::Hard, SlotPolicy::HardUnsorted];

impl Run {
    fn new(policy: SlotPolicy) -> Self {
        Self {
            queue: Scheduler::new(LaneLimits {
                concurrency: 7,
                policy,
                rate: Some(Rate { count: 50, per: Duration::from_secs(10) }),
                tenant_batch: TURN,
                max_jobs: 80,
                max_bytes: 1_200,
                remembered: 3,
            }),
            now: NOW,
            made: 0,
            out: Vec::new(),
            model: BTreeMap::new(),
        }
    }

    fn gone(&mut self, items: Vec<u32>) {
        for item in items {
            let line = self.model.values_mut().find(|line| line.contains(&item));
            line.expect("it was in the queue once").retain(|other| *other != item);
        }
    }

    fn next(&mut self) {
        self.queue.catch_up(self.now);
        let alone = Pool::ALL.map(|pool| self.queue.pools[pool].turns.len() <= 1);
        match self.queue.next(self.now) {
            None => assert!(
                self.queue.servable().is_none() || !self.queue.rate_allows(self.now),
                "a slot is free and someone waits"
            ),
            Some((slot, item)) => {
                let line = self.model.get_mut(&slot.key).unwrap();
                assert_eq!(line.pop_front(), Some(item), "first come, first gone");
                let owner = &self.queue.tenants[&slot.key.0];
                // Only where it was served: what it took in another pool while it was alone there counts until
                // its next turn there.
                let flight = self.queue.flights.get_mut(slot.flight).expect("it is on the wire");
                let in_a_row = owner.of(flight.pool).consecutive;
                assert!(in_a_row <= 3 || alone[flight.pool.index()], "{in_a_row}");
                self.out.push(slot);
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        let now = self.now;
        match *step {
            Step::Push { tenant, target, max, rate } => {
                let key = key(tenant.into(), target.into());
                let rate = rate.then_some(Rate { count: 3, per: Duration::from_secs(1) });
                self.model.entry(key).or_default().push_back(self.made);
                self.queue.push(incoming(key, max.into(), rate, self.made), now);
                self.made += 1;
            }
            Step::Next => self.next(),
            Step::Finish { which, how } => {
                if !self.out.is_empty() {
                    let slot = self.out.swap_remove(usize::from(which) % self.out.len());
                    let how = [FINE, FAULT, FAULT, Outcome::NotTried, TARDY][usize::from(how) % 5];
                    self.queue.finished(slot, how, now);
                }
            }
            Step::Wait { millis } => self.now = now + Duration::from_millis(millis.into()),
            Step::ClockBack { secs } => self.now = now - Duration::from_secs(secs.into()),
            Step::PauseLane => self.queue.set_pause(LANE, true, now),
            Step::PauseTenant(tenant) => {
                self.queue.set_pause(Pause::Tenant(key(tenant.into(), 0).0), true, now);
            }
            Step::PauseTarget(tenant, target) => {
                let (tenant, target) = key(tenant.into(), target.into());
                self.queue.set_pause(Pause::Endpoint(tenant, target), true, now);
            }
            Step::Resume => self.resume(),
            Step::Shed => {
                let shed = self.queue.shed(now);
                self.gone(shed);
            }
            Step::Drain => {
                let drained = self.queue.drain(now);
                assert_eq!(self.queue.queued(), 0);
                self.gone(drained);
            }
        }
        let evicted = self.queue.take_evicted();
        self.gone(evicted);
        self.queue.check(self.now);
        let model: usize = self.model.values().map(VecDeque::len).sum();
        assert_eq!(model, self.queue.queued(), "nothing lost, nothing twice");
        let busy = self.out.len() + self.queue.queued();
        assert!(self.queue.targets.len() <= 3 + busy, "memory is bounded");
    }

    fn resume(&mut self) {
        let PauseSet { tenants, targets, .. } = self.queue.pauses.clone();
        let tenants = tenants.into_iter().map(Pause::Tenant);
        let targets = targets.into_iter().map(|(tenant, target)| Pause::Endpoint(tenant, target));
        for pause in tenants.chain(targets).chain([LANE]) {
            self.queue.set_pause(pause, false, self.now);
        }
    }

    /// Everything that waits goes out once nothing holds it back.
    fn run_dry(&mut self) {
        self.resume();
        for _ in 0..100_000 {
            while let Some(slot) = self.out.pop() {
                self.queue.finished(slot, FINE, self.now);
            }
            let before = self.queue.queued();
            self.next();
            if self.out.is_empty() {
                if before == 0 {
                    return;
                }
                let at = self.queue.wake_at(self.now).expect("something will wake it");
                assert!(at.since(self.now) <= Duration::from_mins(5));
                self.now = self.now.max(at);
            }
            let evicted = self.queue.take_evicted();
            self.gone(evicted);
        }
        panic!("{} still wait", self.queue.queued());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_the_promises(
        steps in prop::collection::vec(step(), 0..300),
        policy in prop::sample::select(&POLICIES[..]),
    ) {
        let mut run = Run::new(policy);
        for step in &steps {
            run.apply(step);
        }
        run.run_dry();
    }

    /// While all tenants have work, each is served within one round of the others' turns.
    #[test]
    fn nobody_starves(
        tenants in 2..30_u128,
        concurrency in 1..40_u32,
        finish in prop::collection::vec(any::<u8>(), 400),
    ) {
        let mut queue = Scheduler::new(limits(concurrency));
        for tenant in 0..tenants {
            fill(&mut queue, key(tenant, tenant), 400);
        }
        let mut out = Vec::new();
        let mut last: BTreeMap<u128, usize> = (0..tenants).map(|tenant| (tenant, 0)).collect();
        for (turn, pick) in finish.into_iter().enumerate() {
            let (slot, _) = queue.next(NOW).unwrap();
            last.insert(tenant_of(&slot), turn);
            out.push(slot);
            if out.len() == concurrency as usize {
                let slot = out.swap_remove(usize::from(pick) % out.len());
                queue.finished(slot, FINE, NOW);
            }
            // A tenant that holds half of the lane is served already.
            for (tenant, owner) in &queue.tenants {
                if owner.of(Pool::Prompt).in_flight >= concurrency.div_ceil(2) {
                    last.insert(tenant.bits(), turn);
                }
            }
            let longest = last.values().map(|served| turn - served).max().unwrap();
            prop_assert!(longest <= 3 * tenants as usize + 3, "{longest}");
        }
    }
}
