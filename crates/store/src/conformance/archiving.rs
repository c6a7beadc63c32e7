//! Dead letters leave the store when they are too old or too many, and only then.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Attempt, DeliveryId, Lane, State, TenantId, Time};

use super::{
    Fixture,
    build::{World, given_up, hours, secs, timeout},
};
use crate::{ArchiveSelection, ArchivedLetter, Claim, DeadFilter, FullDeadLetter, TargetId};

/// More than any case has.
const ANY: (usize, usize) = (1_000, 64 << 20);

/// Gives up `count` deliveries, a second apart, and returns them, oldest first.
async fn bury<F: Fixture>(
    world: &World<F>,
    tenant: TenantId,
    target: TargetId,
    count: usize,
) -> Vec<DeliveryId> {
    let mut buried = Vec::new();
    for _ in 0..count {
        let id = world.due(tenant, target).await;
        let job = world.take_one().await;
        world.give_up(&job).await;
        world.pass(secs(1));
        buried.push(id);
    }
    buried
}

async fn look<F: Fixture>(world: &World<F>, which: ArchiveSelection) -> Vec<FullDeadLetter> {
    world.store.letters_to_archive(which, ANY.0, ANY.1).await.unwrap()
}

fn ids(letters: &[FullDeadLetter]) -> Vec<DeliveryId> {
    letters.iter().map(|one| one.letter.delivery).collect()
}

fn keys(letters: &[FullDeadLetter]) -> Vec<ArchivedLetter> {
    letters.iter().map(|one| ArchivedLetter::from(&one.letter)).collect()
}

pub async fn one_leaves_when_its_time_is_over<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let one = bury(&world, acme, shop, 1).await[0];
    let two = bury(&world, globex, shop, 1).await[0];
    let expiry = async |id| world.dead_letter(id).await.unwrap().expires_at;
    let (first, second) = (expiry(one).await, expiry(two).await);
    assert!(first < second);
    let micro = Duration::from_micros(1);
    for (at, expected) in [
        (world.now(), vec![]),
        (first - micro, vec![]),
        (first, vec![one]),
        (second - micro, vec![one]),
        (second + hours(24), vec![one, two]),
    ] {
        assert_eq!(
            ids(&look(&world, ArchiveSelection::Expired(at)).await),
            expected,
            "oldest first"
        );
    }
    let old = look(&world, ArchiveSelection::Expired(first)).await;
    assert_eq!(world.store.remove_archived(keys(&old)).await, Ok(1));
    assert_eq!(world.dead_letter(one).await, None);
    assert_eq!(ids(&look(&world, ArchiveSelection::Expired(Time::MAX)).await), [two]);
    assert_eq!(world.store.remove_archived(keys(&old)).await, Ok(0), "once");
}

pub async fn the_oldest_beyond_the_limit_leave<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex, initech] =
        [world.tenant().await, world.tenant().await, world.tenant().await];
    let shop = world.target();
    assert_eq!(world.store.dead_overflow(0).await, Ok(vec![]), "nobody has any");
    let of_acme = bury(&world, acme, shop, 5).await;
    bury(&world, globex, shop, 3).await;
    let of_initech = bury(&world, initech, shop, 4).await;
    for enough in [5, 6, 10_000, u64::MAX] {
        assert_eq!(world.store.dead_overflow(enough).await, Ok(vec![]));
    }
    let overflow = world.store.dead_overflow(3).await.unwrap();
    let mut found = Vec::new();
    for which in &overflow {
        found.push(ids(&look(&world, *which).await));
    }
    assert_eq!(found, [of_acme[..2].to_vec(), of_initech[..1].to_vec()]);

    // Dead letters that are added later do not make more of the others leave.
    bury(&world, acme, shop, 2).await;
    let old = look(&world, overflow[0]).await;
    assert_eq!(ids(&old), of_acme[..2]);
    assert_eq!(world.store.remove_archived(keys(&old)).await, Ok(2));
    assert_eq!(ids(&look(&world, overflow[0]).await), []);
    let filter = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    assert_eq!(world.store.dead_stats(filter).await.unwrap().total, 5);

    // The limit is exact also among those given up at the same moment.
    world.many_due(globex, shop, 20).await;
    for job in world.take_all().await {
        world.give_up(&job).await;
    }
    let overflow = world.store.dead_overflow(7).await.unwrap();
    assert_eq!(overflow.len(), 1);
    assert_eq!(look(&world, overflow[0]).await.len(), 23 - 7);
    assert_eq!(world.store.dead_overflow(0).await.unwrap().len(), 3, "everyone");
}

pub async fn letters_come_whole<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let draft = world.event(acme).named("inv-1").about("order-1").as_test();
    let draft = draft.typed("partner/k1/orders/create").body(&b"\0not text\xff"[..]);
    let draft = draft.in_lane(Lane::Dispatch, world.target());
    let id = draft.delivery(0);
    world.accept(draft).await;
    let claim = || Claim { lane: Lane::Dispatch, ..world.claim() };
    for again in [true, false] {
        let (jobs, _) = world.take_until_done(claim()).await;
        if again {
            world.retry_at(&jobs[0], world.now()).await;
        } else {
            let mut last = given_up(&jobs[0], world.now(), timeout());
            let answer = last.attempt.as_mut().unwrap();
            answer.response_status = Some(503);
            answer.response_body = Bytes::from_static(b"\xff\0");
            world.settle(last).await;
        }
        world.pass(secs(1));
    }
    let found = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    assert_eq!(found.len(), 1);
    let whole = &found[0];
    assert_eq!(Some(&whole.letter), world.dead_letter(id).await.as_ref());
    assert_eq!(&*whole.letter.original, b"\0not text\xff");
    assert_eq!(&*whole.letter.event_type, "partner/k1/orders/create");
    assert_eq!((whole.letter.external_id.as_deref(), whole.letter.is_test), (Some("inv-1"), true));
    let attempts: &[Attempt] = &world.see(acme, id).await.attempts;
    assert_eq!((whole.attempts.as_slice(), attempts.len()), (attempts, 2));
    let overflow = world.store.dead_overflow(0).await.unwrap();
    assert_eq!(look(&world, overflow[0]).await, found, "whichever way it is found");
}

pub async fn a_page_is_no_larger_than_asked<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let mut buried = Vec::new();
    for _ in 0..6 {
        let draft = world.event(acme).body(vec![b'x'; 100_000]).to(shop);
        buried.push(draft.delivery(0));
        world.accept(draft).await;
        let job = world.take_one().await;
        world.give_up(&job).await;
        world.pass(secs(1));
    }
    let overflow = world.store.dead_overflow(0).await.unwrap();
    for which in [ArchiveSelection::Expired(Time::MAX), overflow[0]] {
        for (max, bytes, expected) in
            [(4, 64 << 20, 4), (9, 64 << 20, 6), (9, 1, 1), (9, 150_000, 2), (0, 1, 0)]
        {
            let page = world.store.letters_to_archive(which, max, bytes).await.unwrap();
            assert_eq!(ids(&page), buried[..expected], "{which:?} {max} {bytes}");
        }
    }
}

pub async fn one_that_is_being_replayed_stays<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [old, other] = bury(&world, acme, world.target(), 2).await.try_into().unwrap();
    let all = ArchiveSelection::Expired(Time::MAX);
    let looked = look(&world, all).await;
    let only = DeadFilter { delivery: Some(old), ..DeadFilter::default() };
    assert_eq!(world.replay(only, 1).await, 1);

    assert_eq!(ids(&look(&world, all).await), [other]);
    let overflow = world.store.dead_overflow(0).await.unwrap();
    assert_eq!(ids(&look(&world, overflow[0]).await), [other]);
    assert_eq!(world.store.remove_archived(keys(&looked)).await, Ok(1));
    assert!(world.dead_letter(old).await.is_some(), "due again");
    let job = world.take_one().await;
    assert_eq!(world.store.remove_archived(keys(&looked)).await, Ok(0));
    assert!(world.dead_letter(old).await.is_some(), "being tried");
    world.deliver(&job).await;
    assert_eq!(world.dead_letter(old).await, None);
}

pub async fn one_that_was_given_up_again_stays<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = bury(&world, acme, world.target(), 1).await[0];
    let looked = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    world.replay(DeadFilter::default(), 1).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    assert_eq!(world.store.remove_archived(keys(&looked)).await, Ok(0));
    let fresh = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    assert_eq!((ids(&fresh), fresh[0].attempts.len()), (vec![id], 2));
    assert_eq!(world.store.remove_archived(keys(&fresh)).await, Ok(1));
}

pub async fn only_what_is_named_leaves<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    bury(&world, acme, shop, 2).await;
    bury(&world, globex, shop, 1).await;
    let all = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    assert_eq!(world.store.remove_archived(vec![]).await, Ok(0));
    let strange = [
        ArchivedLetter { tenant: globex, ..keys(&all)[0] },
        ArchivedLetter { delivery: world.id(), ..keys(&all)[0] },
        ArchivedLetter { moved_at: world.now(), ..keys(&all)[0] },
    ];
    assert_eq!(world.store.remove_archived(strange.to_vec()).await, Ok(0));
    assert_eq!(world.store.remove_archived(keys(&all[1..2])).await, Ok(1));
    let left = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    assert_eq!(ids(&left), [all[0].letter.delivery, all[2].letter.delivery]);
}

pub async fn what_left_stays_in_the_log_until_it_is_pruned<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let id = bury(&world, acme, world.target(), 1).await[0];
    let before = world.see(acme, id).await;
    let all = look(&world, ArchiveSelection::Expired(Time::MAX)).await;
    world.store.remove_archived(keys(&all)).await.unwrap();
    let view = world.see(acme, id).await;
    assert_eq!((&view, view.row.state), (&before, State::Dead));
    world.pass(hours(1));
    let now = world.now();
    assert_eq!(world.prune(now).await, 1);
    assert_eq!(world.find(acme, id).await, None);
}

pub async fn two_nodes_at_once_take_no_more_than_one<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    world.many_due(acme, world.target(), 60).await;
    for job in world.take_all().await {
        world.give_up(&job).await;
    }
    let clear = async || {
        let mut gone = 0;
        for which in world.store.dead_overflow(10).await.unwrap() {
            loop {
                let page = world.store.letters_to_archive(which, 7, ANY.1).await.unwrap();
                if page.is_empty() {
                    break;
                }
                gone += world.store.remove_archived(keys(&page)).await.unwrap();
            }
        }
        gone
    };
    let (one, two, three) = tokio::join!(clear(), clear(), clear());
    assert_eq!(one + two + three, 50);
    assert_eq!(world.store.dead_stats(DeadFilter::default()).await.unwrap().total, 10);
}
