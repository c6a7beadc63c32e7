//! Concurrency: large batches, and several nodes that carry, fail, forget and die together.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gancho_domain::{DeliveryId, Random, SeededRandom, State, TenantId, Time};

use super::{
    Fixture,
    build::{DONE, World, delivered, given_up, ids, scope, sorted, timeout, tried_again},
};
use crate::{Claim, Job, NodeId, SettleOutcome, Store, StoreError};

pub async fn a_thousand_go_through_in_one_batch_each<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let made = world.many_due(acme, world.target(), 1_000).await;
    assert_eq!(ids(&world.take(world.claim()).await.jobs), made);
    let held = made.iter().map(|id| (acme, *id).into()).collect();
    world.store.release(world.node, held).await.unwrap();
    let jobs = world.take(world.claim()).await.jobs;
    assert_eq!(ids(&jobs), made);

    let now = world.now();
    let batch = jobs.iter().map(|job| delivered(job, now)).collect();
    let settled = world.store.settle(world.node, batch).await.unwrap();
    assert_eq!(settled, vec![DONE; 1_000]);
    world.nothing_is_due().await;
}

/// For each ordered delivery, the one before it for the same target and subject.
type Lines = BTreeMap<DeliveryId, DeliveryId>;

/// One node after the other, in the same process.
struct Worker {
    store: Arc<dyn Store>,
    node: NodeId,
    claim: Claim,
    now: Time,
    random: SeededRandom,
    /// The delivery that must have ended before each ordered delivery.
    before: Arc<Lines>,
    /// For each settlement that was written, whether it ended the delivery.
    written: Arc<Mutex<Vec<(DeliveryId, bool)>>>,
}

impl Worker {
    /// Claims and settles once. Returns whether there was anything to do.
    async fn step(&mut self) -> bool {
        self.claim.node = self.node;
        let Ok(claimed) = self.store.claim(self.claim.clone()).await else {
            return self.rejoin().await;
        };
        self.claim.cursor = claimed.cursor;
        for job in &claimed.jobs {
            self.its_turn_has_come(job).await;
        }
        let mut batch = Vec::new();
        let mut back = Vec::new();
        for job in &claimed.jobs {
            match self.random.next() % 10 {
                0..5 => batch.push((true, delivered(job, self.now))),
                5 => batch.push((true, given_up(job, self.now, timeout()))),
                6..8 => batch.push((false, tried_again(job, self.now, self.now))),
                8 => back.push((job.tenant, job.delivery).into()),
                _ => (), // forgotten, until the node is declared dead
            }
        }
        self.store.release(self.node, back).await.unwrap();
        let (ends, settlements): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let said: Vec<_> = settlements.iter().map(|one| one.delivery).collect();
        let settled = self.store.settle(self.node, settlements).await.unwrap();
        let mut written = self.written.lock().unwrap();
        for ((delivery, end), settled) in said.into_iter().zip(ends).zip(settled) {
            if settled != SettleOutcome::LeaseLost {
                written.push((delivery, end));
            }
        }
        !claimed.jobs.is_empty()
    }

    async fn its_turn_has_come(&self, job: &Job) {
        if let Some(before) = self.before.get(&job.delivery) {
            let before = self.store.delivery(scope(job.tenant), *before).await;
            let state = before.unwrap().unwrap().row.state;
            assert!(state.is_final(), "{} overtakes one {state:?}", job.delivery);
        }
    }

    /// Declares all others dead, and drops what it has forgotten itself.
    async fn rejoin(&mut self) -> bool {
        let _ = self.store.leave(self.node, self.now).await;
        self.node = self.store.join("again", self.now).await.unwrap();
        let rescued = self.store.rescue(self.node, Duration::ZERO, self.now).await;
        rescued.unwrap().deliveries > 0
    }

    /// Works until no node has anything left to do.
    async fn work(mut self) {
        for step in 1_u32.. {
            if self.step().await || step % 16 != 0 {
                continue;
            }
            match self.store.heartbeat(self.node, self.now).await {
                Ok(()) => (),
                Err(StoreError::Fenced) => _ = self.rejoin().await,
                Err(error) => panic!("{error}"),
            }
            let depths = self.store.depths().await.unwrap();
            let left = |depth: &crate::LaneDepth| depth.pending + depth.leased + depth.waiting;
            if depths.iter().all(|depth| left(depth) == 0) {
                return;
            }
            self.rejoin().await;
        }
    }
}

pub async fn nothing_is_lost_or_done_twice_in_a_storm<F: Fixture>() {
    let world = World::<F>::new().await;
    let (made, before) = a_full_store(&world).await;
    let written = Arc::default();
    let mut workers = tokio::task::JoinSet::new();
    for seed in 0..3 {
        let worker = Worker {
            store: Arc::clone(&world.store),
            node: world.join().await,
            claim: Claim { max: 16, per_target: 4, per_tenant: 8, ..world.claim() },
            now: world.now(),
            random: SeededRandom::new(seed),
            before: Arc::clone(&before),
            written: Arc::clone(&written),
        };
        workers.spawn(worker.work());
    }
    let all = tokio::time::timeout(Duration::from_mins(2), workers.join_all());
    all.await.expect("everything ends");

    let written = std::mem::take(&mut *written.lock().unwrap());
    let mut ended = Vec::new();
    for (tenant, id) in made {
        let said: Vec<_> = written.iter().filter(|(one, _)| *one == id).collect();
        let ends = said.iter().filter(|(_, end)| *end).count();
        let view = world.see(tenant, id).await;
        let numbers: Vec<_> = view.attempts.iter().map(|tried| tried.number).collect();
        assert_eq!(numbers, (1..=said.len() as u32).collect::<Vec<_>>());
        assert_eq!(view.row.attempts, said.len() as u32, "{id}");
        let buried = world.dead_letter(id).await;
        assert_eq!(buried.is_some(), view.row.state == State::Dead, "{id}");
        // The store itself gives up a delivery that was forgotten too often.
        let by_store = buried.is_some_and(|letter| letter.failure != timeout());
        assert_eq!(ends, usize::from(!by_store), "{id} ends once");
        ended.push(id);
    }
    assert!(sorted(ended).len() == 360, "all were looked at");
}

/// Three tenants with two targets each; every second delivery is ordered.
async fn a_full_store<F: Fixture>(world: &World<F>) -> (Vec<(TenantId, DeliveryId)>, Arc<Lines>) {
    let mut made = Vec::new();
    let mut before = Lines::new();
    for _ in 0..3 {
        let tenant = world.tenant().await;
        for target in [world.target(), world.target()] {
            let mut drafts = Vec::new();
            let mut last = BTreeMap::new();
            for n in 0..30 {
                let subject = format!("order-{}", n % 3);
                let ordered = world.event(tenant).about(&subject).in_order_to(target);
                if let Some(last) = last.insert(subject, ordered.delivery(0)) {
                    before.insert(ordered.delivery(0), last);
                }
                drafts.extend([ordered, world.event(tenant).to(target)]);
            }
            made.extend(drafts.iter().map(|draft| (tenant, draft.delivery(0))));
            world.accept_all(drafts).await;
        }
    }
    (made, Arc::new(before))
}
