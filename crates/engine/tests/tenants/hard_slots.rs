//! A lane with hard slots, as that of e-mails: those that hang hold half of the slots, and the rest is for others.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::{Clock, Code, DeliveryId, Failure, Lane, RetryPlan, TenantId, Time, Verdict};
use gancho_engine::{
    AttemptResult, Carrier, Engine, LaneSetup, LaneTerms, Preemption, SlotPolicy, Terms,
};
use gancho_store::{Accept, Job, NodeId, TargetId};
use parking_lot::Mutex;

use crate::{
    clock::SimClock,
    stage::{Play, Stage, seconds},
};

/// Accepts at once what healthy tenants send and the first delivery of every tenant; the rest hangs.
struct MailServer {
    clock: Arc<SimClock>,
    plan: Arc<RetryPlan>,
    started: Mutex<BTreeMap<DeliveryId, Time>>,
    seen: Mutex<BTreeMap<TenantId, usize>>,
    cuts: AtomicUsize,
    /// Last attempts of their plan, and those of them that were cut.
    last: [AtomicUsize; 2],
    inside: AtomicUsize,
    max_inside: AtomicUsize,
}

const HEALTHY: u128 = 1;

fn tenant(number: u128) -> TenantId {
    TenantId::from_bits(number << 80)
}

#[async_trait]
impl Carrier for MailServer {
    fn terms(&self, _: &Job) -> Terms {
        Terms { max_in_flight: Some(3), ..Terms::of(self.plan.clone()) }
    }

    async fn carry(&self, job: &Job, attempt: u32, preemption: &Preemption) -> AttemptResult {
        self.started.lock().entry(job.delivery).or_insert(self.clock.now());
        let inside = self.inside.fetch_add(1, Ordering::Relaxed) + 1;
        self.max_inside.fetch_max(inside, Ordering::Relaxed);
        let seen = {
            let mut seen = self.seen.lock();
            let count = seen.entry(job.tenant).or_default();
            *count += 1;
            *count
        };
        let begin = self.clock.now();
        let verdict = if job.tenant == tenant(HEALTHY) || seen == 1 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Verdict::Delivered
        } else {
            let deadline = tokio::time::sleep(Duration::from_mins(1));
            let is_cut = tokio::select! {
                () = deadline => false,
                () = preemption.requested() => true,
            };
            self.cuts.fetch_add(usize::from(is_cut), Ordering::Relaxed);
            let is_last = attempt == self.plan.max_attempts();
            self.last[0].fetch_add(usize::from(is_last), Ordering::Relaxed);
            self.last[1].fetch_add(usize::from(is_last && is_cut), Ordering::Relaxed);
            let failure = Failure::new(Code::http(503), "it hangs");
            Verdict::Retry { failure, not_before: None }
        };
        self.inside.fetch_sub(1, Ordering::Relaxed);
        AttemptResult::new(verdict, self.clock.now().since(begin))
    }
}

/// The longest that a healthy delivery waited for its first attempt in two minutes, one published each second, and how
/// many attempts were cut and were the last of their plans.
async fn longest_wait(
    policy: SlotPolicy,
    concurrency: u32,
    hanging: u128,
) -> (Duration, usize, usize) {
    let stage = Stage::new(|_, _| Play::Deliver);
    let server = Arc::new(MailServer {
        clock: stage.clock.clone(),
        plan: Arc::new(RetryPlan::Schedule(vec![Duration::from_secs(1)])),
        started: Mutex::default(),
        seen: Mutex::default(),
        cuts: AtomicUsize::new(0),
        last: Default::default(),
        inside: AtomicUsize::new(0),
        max_inside: AtomicUsize::new(0),
    });
    let mut setup = stage.setup();
    let lane = LaneSetup::new(Lane::Webhook, server.clone());
    let terms = LaneTerms { concurrency, ..LaneTerms::default() };
    setup.lanes = vec![LaneSetup { terms, policy, ..lane }];
    let engine = Box::pin(Engine::start(setup)).await.expect("it starts");

    let parcel = |number: u128| {
        let mut new = stage.parcel(number == HEALTHY);
        Arc::make_mut(&mut new.parcel).tenant = tenant(number);
        new.deliveries[0].target = TargetId::from_bits(number << 80 | 1);
        new
    };
    // The healthy one has a history; the others have one each, and many that will hang.
    engine.accept_one(parcel(HEALTHY)).await.expect("the store works");
    seconds(1).await;
    for number in 2..hanging + 2 {
        let new = (0..10).map(|_| parcel(number)).collect();
        stage.store.accept(new, NodeId(0)).await.expect("the store works");
    }
    let mut published = Vec::new();
    for _ in 0..120 {
        let new = parcel(HEALTHY);
        published.push((new.deliveries[0].id, stage.clock.now()));
        engine.accept_one(new).await.expect("the store works");
        seconds(1).await;
    }
    seconds(90).await;
    let started = server.started.lock();
    let wait = |(id, at): &(DeliveryId, Time)| {
        started.get(id).map_or(Duration::MAX, |start| start.since(*at))
    };
    let longest = published.iter().map(wait).max().expect("some were published");
    assert!(server.max_inside.load(Ordering::Relaxed) <= concurrency as usize, "the limit is hard");
    let [last, cut] = server.last.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(cut, 0, "nothing is given up because others wait");
    (longest, server.cuts.load(Ordering::Relaxed), last)
}

#[tokio::test(start_paused = true)]
async fn however_many_hang_a_healthy_tenant_is_served() {
    let mut all_last = 0;
    for (concurrency, hanging) in [(1, 1), (2, 5), (3, 40), (5, 1), (5, 2), (5, 60), (16, 9)] {
        let (longest, cuts, last) =
            Box::pin(longest_wait(SlotPolicy::Hard, concurrency, hanging)).await;
        all_last += last;
        // Each that hangs may have a slot once: for ten seconds in all, or for one second each if they are many.
        let shared = f64::from(concurrency - concurrency / 2);
        let limit = Duration::from_secs_f64(12.0 + 1.5 * hanging as f64 / shared);
        // A single slot is not shared out: last attempts run to their own deadline.
        let limit = if concurrency == 1 { Duration::from_secs(130) } else { limit };
        assert!(longest <= limit, "{concurrency} slots, {hanging} hang: {longest:?}, {cuts} cut");
    }
    assert!(all_last > 0, "some came to their last attempt");
}

/// Without the shares the check above would fail.
#[tokio::test(start_paused = true)]
async fn without_the_shares_it_waits_for_those_that_hang() {
    let (longest, cuts, _) = Box::pin(longest_wait(SlotPolicy::HardUnsorted, 5, 60)).await;
    assert!(longest > Duration::from_secs(55) && cuts == 0, "{longest:?}, {cuts} cut");
}
