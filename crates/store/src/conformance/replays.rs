//! Replays are opened within limits, run by one runner at a time, and end once.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{ReplayId, TenantScope};

use super::{
    Fixture,
    build::{World, scope, secs},
};
use crate::{
    LeasedReplay, NewReplayJob, OpenReplayOutcome, ReplayCounts, ReplayEnd, ReplayJob, ReplayLease,
    ReplayLeaseOrigin, ReplayLimits, ReplayState, ReplayTotal,
};

const LIMITS: ReplayLimits = ReplayLimits { max_open: 3, max_kept: 4 };
const TOTAL: ReplayTotal = ReplayTotal { count: 12, is_exact: true };
const PAGE: ReplayCounts = ReplayCounts { done: 3, skipped: 2, failed: 1 };

async fn open<F: Fixture>(
    world: &World<F>,
    owner: Option<TenantScope>,
) -> Result<ReplayId, OpenReplayOutcome> {
    let id = world.id();
    let request = Bytes::from_static(b"{\"what\":1}");
    let new = NewReplayJob { id, request, created_at: world.now() };
    match world.store.open_replay(owner, new, LIMITS).await.unwrap() {
        OpenReplayOutcome::Opened => Ok(id),
        refused @ OpenReplayOutcome::TooMany { .. } => Err(refused),
    }
}

async fn get<F: Fixture>(world: &World<F>, owner: Option<TenantScope>, id: ReplayId) -> ReplayJob {
    world.store.replay(owner, id).await.unwrap().unwrap()
}

fn lease<F: Fixture>(world: &World<F>, runner: &str) -> ReplayLease {
    ReplayLease { runner: runner.to_owned(), until: world.now() + secs(30) }
}

async fn take<F: Fixture>(world: &World<F>, id: ReplayId, runner: &str) -> Option<LeasedReplay> {
    world.store.lease_replay(id, lease(world, runner), TOTAL, world.now()).await.unwrap()
}

async fn advance<F: Fixture>(world: &World<F>, id: ReplayId, runner: &str, cursor: &str) -> bool {
    let lease = lease(world, runner);
    world.store.advance_replay(id, lease, PAGE, cursor.to_owned()).await.unwrap()
}

async fn end<F: Fixture>(world: &World<F>, id: ReplayId, runner: &str, end: ReplayEnd) -> bool {
    world.store.end_replay(id, runner, PAGE, end, world.now()).await.unwrap()
}

async fn listed<F: Fixture>(world: &World<F>, owner: Option<TenantScope>) -> Vec<ReplayId> {
    let found = world.store.replays(owner, None, 100).await.unwrap();
    found.into_iter().map(|job| job.id).collect()
}

async fn all_open<F: Fixture>(world: &World<F>) -> Vec<ReplayId> {
    let found = world.store.open_replays(100).await.unwrap();
    found.into_iter().map(|job| job.id).collect()
}

pub async fn a_new_one_reads_as_it_was_made<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let owners = [(Some(acme), Some(scope(acme))), (None, None)];
    let mut made = Vec::new();
    for (_, owner) in owners {
        made.push(open(&world, owner).await.unwrap());
    }
    let now = world.now();
    let world = world.reopen().await;
    for ((tenant, owner), id) in owners.into_iter().zip(made) {
        let expected = ReplayJob {
            id,
            tenant,
            state: ReplayState::Pending,
            request: Bytes::from_static(b"{\"what\":1}"),
            total: ReplayTotal::default(),
            sent: ReplayCounts::default(),
            error: None,
            cursor: String::new(),
            lease: None,
            created_at: now,
            started_at: None,
            finished_at: None,
        };
        assert_eq!(get(&world, owner, id).await, expected);
        assert_eq!(world.store.replays(owner, None, 10).await, Ok(vec![expected]));
    }
}

pub async fn lists_go_from_the_newest_on<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let mut own = Vec::new();
    for _ in 0..3 {
        own.insert(0, open(&world, Some(acme)).await.unwrap());
    }
    let others = open(&world, Some(globex)).await.unwrap();
    let operators = open(&world, None).await.unwrap();
    assert_eq!(listed(&world, Some(acme)).await, own);
    assert_eq!(listed(&world, Some(globex)).await, [others]);
    assert_eq!(listed(&world, None).await, [operators]);
    let in_turn = [own[2], others, operators, own[1], own[0]];
    assert_eq!(all_open(&world).await, in_turn);
    for (before, max, expected) in [
        (None, 2, &own[..2]),
        (Some(own[0]), 1, &own[1..2]),
        (Some(own[1]), 9, &own[2..]),
        (Some(own[2]), 9, &[]),
    ] {
        let found = world.store.replays(Some(acme), before, max).await.unwrap();
        assert_eq!(found.into_iter().map(|job| job.id).collect::<Vec<_>>(), expected);
    }
    let found = world.store.open_replays(2).await.unwrap();
    assert_eq!(found.into_iter().map(|job| job.id).collect::<Vec<_>>(), in_turn[..2]);
    let all = [&[operators, others], &own[..]].concat();
    for (before, max, expected) in
        [(None, 9, &all[..]), (None, 2, &all[..2]), (Some(all[1]), 2, &all[2..4])]
    {
        let found = world.store.all_replays(before, max).await.unwrap();
        assert_eq!(found.into_iter().map(|job| job.id).collect::<Vec<_>>(), expected);
    }
}

pub async fn owners_do_not_see_each_others<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let own = open(&world, Some(acme)).await.unwrap();
    let operators = open(&world, None).await.unwrap();
    for (owner, id) in [(Some(globex), own), (None, own), (Some(acme), operators)] {
        assert_eq!(world.store.replay(owner, id).await, Ok(None));
        assert_eq!(world.store.cancel_replay(owner, id, world.now()).await, Ok(None));
    }
    assert_eq!(get(&world, Some(acme), own).await.state, ReplayState::Pending);
    assert_eq!(get(&world, None, operators).await.state, ReplayState::Pending);
}

pub async fn opening_stops_at_the_limits<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let first = open(&world, Some(acme)).await.unwrap();
    for _ in 0..2 {
        open(&world, Some(acme)).await.unwrap();
    }
    let refused = OpenReplayOutcome::TooMany { open: 3 };
    assert_eq!(open(&world, Some(acme)).await, Err(refused), "too many of one owner");
    assert_eq!(listed(&world, Some(acme)).await.len(), 3, "nothing was written");
    for owner in [Some(globex), None] {
        for _ in 0..3 {
            open(&world, owner).await.unwrap();
        }
        assert_eq!(open(&world, owner).await, Err(refused), "each owner has its own");
    }
    world.store.cancel_replay(Some(acme), first, world.now()).await.unwrap();
    open(&world, Some(acme)).await.unwrap();
}

pub async fn twenty_at_once_do_not_pass_the_limit<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (store, id, created_at) = (Arc::clone(&world.store), world.id(), world.now());
        calls.spawn(async move {
            let new = NewReplayJob { id, request: Bytes::new(), created_at };
            store.open_replay(Some(acme), new, LIMITS).await.unwrap()
        });
    }
    let opened = calls.join_all().await;
    let opened = opened.into_iter().filter(|one| *one == OpenReplayOutcome::Opened).count();
    assert_eq!(opened, 3);
    assert_eq!(all_open(&world).await.len(), 3);
}

pub async fn the_oldest_that_have_ended_go<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [scope(world.tenant().await), scope(world.tenant().await)];
    let kept = open(&world, Some(globex)).await.unwrap();
    // The oldest has not ended, and stays.
    let mut made = vec![open(&world, Some(acme)).await.unwrap()];
    for _ in 0..6 {
        let id = open(&world, Some(acme)).await.unwrap();
        world.store.cancel_replay(Some(acme), id, world.now()).await.unwrap();
        made.push(id);
    }
    // When the last was opened, four were kept, and the oldest because it is open.
    let expected = [made[6], made[5], made[4], made[3], made[2], made[0]];
    assert_eq!(listed(&world, Some(acme)).await, expected);
    assert_eq!(listed(&world, Some(globex)).await, [kept]);
}

pub async fn one_runner_at_a_time<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let id = open(&world, Some(acme)).await.unwrap();
    world.pass(secs(5));
    let started_at = world.now();
    let taken = take(&world, id, "one").await.unwrap();
    assert_eq!(taken.take, ReplayLeaseOrigin::Started);
    assert_eq!(taken.job, get(&world, Some(acme), id).await);
    assert_eq!((taken.job.state, taken.job.total), (ReplayState::Running, TOTAL));
    assert_eq!(taken.job.started_at, Some(started_at));
    assert_eq!(taken.job.lease, Some(lease(&world, "one")));

    assert_eq!(take(&world, id, "two").await, None, "it is held");
    assert!(!advance(&world, id, "two", "x").await, "by another");
    assert!(!end(&world, id, "two", ReplayEnd::Done).await);
    world.pass(secs(29));
    assert_eq!(take(&world, id, "two").await, None, "still");
    assert_eq!(take(&world, id, "one").await.unwrap().take, ReplayLeaseOrigin::Renewed);
    world.pass(secs(30));
    // Its own lease has expired, and no other runner has taken over.
    assert!(advance(&world, id, "one", "a").await);
    world.pass(secs(30));
    let other = ReplayTotal { count: 99, is_exact: false };
    let taken = world.store.lease_replay(id, lease(&world, "two"), other, world.now()).await;
    let taken = taken.unwrap().unwrap();
    assert_eq!(taken.take, ReplayLeaseOrigin::TakenOver);
    assert_eq!((taken.job.started_at, taken.job.total), (Some(started_at), TOTAL));
    assert_eq!((&*taken.job.cursor, taken.job.sent), ("a", PAGE));
    assert!(!advance(&world, id, "one", "b").await, "it was taken over");
    assert!(!end(&world, id, "one", ReplayEnd::Done).await);
    let job = get(&world, Some(acme), id).await;
    assert_eq!((&*job.cursor, job.sent, job.state), ("a", PAGE, ReplayState::Running));
}

pub async fn pages_add_up_to_the_end<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    let id = open(&world, Some(acme)).await.unwrap();
    take(&world, id, "one").await.unwrap();
    assert!(advance(&world, id, "one", "a").await);
    world.pass(secs(10));
    assert!(advance(&world, id, "one", "b").await);
    let job = get(&world, Some(acme), id).await;
    assert_eq!(job.sent, ReplayCounts { done: 6, skipped: 4, failed: 2 });
    assert_eq!((&*job.cursor, job.lease), ("b", Some(lease(&world, "one"))));
    assert!(end(&world, id, "one", ReplayEnd::Done).await);
    let job = get(&world, Some(acme), id).await;
    assert_eq!(job.sent, ReplayCounts { done: 9, skipped: 6, failed: 3 });
    assert_eq!((job.state, job.finished_at), (ReplayState::Done, Some(world.now())));
    assert_eq!((job.lease.as_ref(), job.error.as_ref()), (None, None));
    assert_eq!(all_open(&world).await, []);
    // A replay that has ended stays unchanged.
    assert!(!advance(&world, id, "one", "c").await);
    assert!(!end(&world, id, "one", ReplayEnd::Failed("no".into())).await);
    assert_eq!(take(&world, id, "two").await, None);
    world.pass(secs(1));
    assert_eq!(world.store.cancel_replay(Some(acme), id, world.now()).await, Ok(Some(job.clone())));
    let world = world.reopen().await;
    assert_eq!(get(&world, Some(acme), id).await, job);
}

pub async fn one_can_fail_as_a_whole<F: Fixture>() {
    let world = World::<F>::new().await;
    let id = open(&world, None).await.unwrap();
    take(&world, id, "one").await.unwrap();
    assert!(end(&world, id, "one", ReplayEnd::Failed("nonsense\0".into())).await);
    let job = get(&world, None, id).await;
    assert_eq!(job.state, ReplayState::Failed);
    assert!(job.error.unwrap().starts_with("nonsense"));
}

pub async fn a_canceled_one_still_counts_what_its_runner_sent<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = scope(world.tenant().await);
    for last_page in [false, true] {
        let id = open(&world, Some(acme)).await.unwrap();
        take(&world, id, "one").await.unwrap();
        assert!(advance(&world, id, "one", "a").await);
        let canceled = world.store.cancel_replay(Some(acme), id, world.now()).await;
        let canceled = canceled.unwrap().unwrap();
        assert_eq!((canceled.state, canceled.sent), (ReplayState::Canceled, PAGE));
        assert_eq!((canceled.finished_at, canceled.lease), (Some(world.now()), None));
        world.pass(secs(1));
        // Only from the runner that had it.
        assert!(!advance(&world, id, "two", "b").await);
        let goes_on = if last_page {
            end(&world, id, "one", ReplayEnd::Done).await
        } else {
            advance(&world, id, "one", "b").await
        };
        assert!(!goes_on);
        let job = get(&world, Some(acme), id).await;
        assert_eq!(job.sent, ReplayCounts { done: 6, skipped: 4, failed: 2 });
        assert_eq!((job.state, &*job.cursor), (ReplayState::Canceled, "a"));
        assert_eq!((job.finished_at, job.error), (canceled.finished_at, None));
        assert_eq!(take(&world, id, "one").await, None);
    }
}

pub async fn of_many_runners_one_takes_it<F: Fixture>() {
    let world = World::<F>::new().await;
    let id = open(&world, None).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (store, now) = (Arc::clone(&world.store), world.now());
        let lease = lease(&world, &number.to_string());
        calls.spawn(async move { store.lease_replay(id, lease, TOTAL, now).await.unwrap() });
    }
    let taken = calls.join_all().await.into_iter().flatten().count();
    assert_eq!(taken, 1);
}
