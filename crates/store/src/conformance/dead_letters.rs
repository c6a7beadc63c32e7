//! Dead letters are stored, searched, counted and purged.

use std::collections::BTreeMap;

use gancho_domain::{Code, DeliveryId, Failure, Lane, State, Status, TenantId};

use super::endpoints::plain_endpoint;
use super::{
    Fixture,
    build::{DONE, World, given_up, scope, secs, sorted, timeout, tried_again},
};
use crate::{Claim, DeadFilter, DeadLetter, ListOrder, MAX_PAGE_BYTES, PageRequest, TargetId};

/// Gives a delivery up with this code, and advances the clock by a second.
async fn bury<F: Fixture>(
    world: &World<F>,
    (tenant, target): (TenantId, TargetId),
    lane: Lane,
    code: &str,
) -> DeliveryId {
    let draft = world.event(tenant).in_lane(lane, target);
    let id = draft.delivery(0);
    world.accept(draft).await;
    let claim = Claim { lane, ..world.claim() };
    let (jobs, _) = world.take_until_done(claim).await;
    let failure = Failure::new(Code::from_text(code), "it will not work");
    for job in jobs {
        let settlement = given_up(&job, world.now(), failure.clone());
        assert_eq!(world.settle(settlement).await, DONE);
    }
    world.pass(secs(1));
    id
}

fn deliveries(letters: &[DeadLetter]) -> Vec<DeliveryId> {
    letters.iter().map(|letter| letter.delivery).collect()
}

pub async fn each_filter_narrows_the_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let start = world.now();
    let one = bury(&world, (acme, shop), Lane::Webhook, "TIMEOUT").await;
    let two = bury(&world, (acme, shop), Lane::Email, "HTTP_404").await;
    let three = bury(&world, (globex, shop), Lane::Webhook, "HTTP_404").await;
    let four = bury(&world, (globex, shop), Lane::Dispatch, "TIMEOUT").await;
    let find = async |filter| deliveries(&world.dead(filter).await);
    let all = DeadFilter::default();

    assert_eq!(find(all.clone()).await, [four, three, two, one], "newest first");
    let mut filter = all.clone();
    filter.tenant = Some(acme);
    assert_eq!(find(filter.clone()).await, [two, one]);
    filter.lane = Some(Lane::Webhook);
    assert_eq!(find(filter.clone()).await, [one]);
    filter.code = Some("HTTP_404".to_owned());
    assert_eq!(find(filter).await, []);

    let mut filter = all.clone();
    filter.delivery = Some(two);
    assert_eq!(find(filter.clone()).await, [two]);
    filter.tenant = Some(globex);
    assert_eq!(find(filter).await, [], "another tenant's");
    let mut filter = all.clone();
    filter.code = Some("HTTP_404".to_owned());
    assert_eq!(find(filter.clone()).await, [three, two]);
    for odd in ["http_404", "HTTP%", "HTTP____", "' OR 1=1 --", ""] {
        filter.code = Some(odd.to_owned());
        assert_eq!(find(filter.clone()).await, [], "{odd}");
    }
    let mut filter = all;
    filter.since = Some(start + secs(1));
    assert_eq!(find(filter.clone()).await, [four, three, two]);
    filter.until = Some(start + secs(3));
    assert_eq!(find(filter.clone()).await, [three, two]);
    filter.since = None;
    assert_eq!(find(filter).await, [three, two, one]);
}

pub async fn pages_have_no_gaps_and_no_repeats<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let mut made = Vec::new();
    for _ in 0..5 {
        // Ten at a time are given up at the same moment.
        made.extend(world.many_due(acme, shop, 10).await);
        for job in world.take_all().await {
            world.give_up(&job).await;
        }
        world.pass(secs(1));
    }
    for max in [1, 7, 10, 50, 100] {
        let rows = world.dead_by(DeadFilter::default(), max).await;
        assert!(rows.is_sorted_by(|one, two| one.moved_at >= two.moved_at));
        let found = deliveries(&rows);
        assert_eq!(found.len(), 50, "pages of {max}");
        assert_eq!(sorted(found), made, "pages of {max}");
    }
}

pub async fn the_receivers_own_code_is_kept<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let own_code = async |id| {
        let letter = world.dead_letter(id).await.unwrap();
        letter.failure.provider_code().map(str::to_owned)
    };
    let failure = Failure::new(Code::from_text("SES_ERROR"), "refused");
    // Named by the failure, by its status, by that of an earlier attempt, or by nothing.
    let named = failure.clone().with_provider_code(Some("MessageRejected"));
    for (failure, status, is_tried, expected) in [
        (&named, Some(400), true, Some("MessageRejected")),
        (&failure, Some(503), true, Some("503")),
        (&failure, Some(451), false, Some("451")),
        (&failure, None, true, None),
    ] {
        let id = world.due(acme, shop).await;
        let mut job = world.take_one().await;
        if !is_tried {
            let mut first = tried_again(&job, world.now(), world.now());
            first.attempt.as_mut().unwrap().response_status = status;
            assert_eq!(world.settle(first).await, DONE);
            world.pass(secs(1));
            job = world.take_one().await;
        }
        let mut settlement = given_up(&job, world.now(), failure.clone());
        settlement.attempt = settlement.attempt.filter(|_| is_tried);
        if let Some(attempt) = &mut settlement.attempt {
            attempt.response_status = status;
        }
        assert_eq!(world.settle(settlement).await, DONE);
        assert_eq!(own_code(id).await.as_deref(), expected);
        // Given up once more, without a response.
        let one = DeadFilter { delivery: Some(id), ..DeadFilter::default() };
        assert_eq!(world.replay(one, 1).await, 1);
        let job = world.take_one().await;
        assert_eq!(world.settle(given_up(&job, world.now(), timeout())).await, DONE);
        assert_eq!(own_code(id).await, None);
    }
}

pub async fn those_of_lost_endpoints_can_be_left_out<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [active, disabled, deleted] = [0; 3].map(|_| plain_endpoint(&world, acme));
    for endpoint in [&active, &disabled, &deleted] {
        world.store.save_endpoint(scope(acme), endpoint.clone()).await.unwrap();
    }
    let one = bury(&world, (acme, active.id), Lane::Webhook, "TIMEOUT").await;
    bury(&world, (acme, disabled.id), Lane::Webhook, "TIMEOUT").await;
    bury(&world, (acme, deleted.id), Lane::Webhook, "TIMEOUT").await;
    let email = bury(&world, (acme, world.target()), Lane::Email, "TIMEOUT").await;
    let off = gancho_domain::Endpoint { is_active: false, ..disabled };
    world.store.save_endpoint(scope(acme), off).await.unwrap();
    assert!(world.store.delete_endpoint(scope(acme), deleted.id).await.unwrap());
    for tenant in [None, Some(acme)] {
        let sendable = DeadFilter { tenant, only_sendable: true, ..DeadFilter::default() };
        assert_eq!(deliveries(&world.dead(sendable.clone()).await), [email, one]);
        assert_eq!(world.store.dead_stats(sendable.clone()).await.unwrap().total, 2);
        let all = DeadFilter { only_sendable: false, ..sendable };
        assert_eq!(world.store.dead_stats(all).await.unwrap().total, 4);
    }
    let sendable = DeadFilter { tenant: Some(acme), only_sendable: true, ..DeadFilter::default() };
    let page = world.store.replay_dead(sendable, 10, None, world.now()).await.unwrap();
    assert_eq!(page.next, None);
    let retried: Vec<_> = page.retried.into_iter().map(|(_, id)| id).collect();
    assert_eq!(sorted(retried), sorted(vec![one, email]));
}

pub async fn statistics_count_what_the_filter_finds<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let empty = world.store.dead_stats(DeadFilter::default()).await;
    assert_eq!(empty, Ok(crate::DeadStats::default()));
    let start = world.now();
    for (tenant, lane, code) in [
        (acme, Lane::Webhook, "TIMEOUT"),
        (acme, Lane::Email, "TIMEOUT"),
        (acme, Lane::Email, "HTTP_404"),
        (globex, Lane::Email, "HTTP_404"),
    ] {
        bury(&world, (tenant, shop), lane, code).await;
    }

    let stats = world.store.dead_stats(DeadFilter::default()).await.unwrap();
    assert_eq!((stats.total, stats.oldest), (4, Some(start)));
    let by_code = [("HTTP_404", 2), ("TIMEOUT", 2)].map(|(code, n)| (code.to_owned(), n));
    assert_eq!(stats.by_code, BTreeMap::from(by_code));
    assert_eq!(stats.by_tenant, BTreeMap::from([(acme, 3), (globex, 1)]));
    let by_lane = [(Lane::Webhook, 1), (Lane::Email, 3)];
    assert_eq!(stats.by_lane, BTreeMap::from(by_lane));

    let times = [0, 1, 3, 4].map(|after| start + secs(after)).to_vec();
    assert_eq!(world.store.dead_since(times).await, Ok(vec![4, 3, 1, 0]));
    assert_eq!(world.store.dead_since(Vec::new()).await, Ok(Vec::new()));

    let filter = DeadFilter {
        tenant: Some(acme),
        lane: Some(Lane::Email),
        since: Some(start + secs(2)),
        ..DeadFilter::default()
    };
    let stats = world.store.dead_stats(filter).await.unwrap();
    assert_eq!((stats.total, stats.oldest), (1, Some(start + secs(2))));
    assert_eq!(stats.by_code, BTreeMap::from([("HTTP_404".to_owned(), 1)]));
}

pub async fn a_purged_one_stays_in_the_log_as_failed<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let id = bury(&world, (acme, shop), Lane::Webhook, "TIMEOUT").await;
    let before = world.see(acme, id).await;
    let all = DeadFilter::default();
    assert_eq!(world.store.purge_dead(all.clone(), 10).await, Ok(1));

    assert_eq!(world.dead_letter(id).await, None);
    assert_eq!(world.store.dead_stats(all.clone()).await.unwrap().total, 0);
    let view = world.see(acme, id).await;
    assert_eq!(view, before);
    assert_eq!((view.row.state, view.row.status()), (State::Dead, Status::Failed));
    assert_eq!(world.replay(all.clone(), 10).await, 0);
    assert_eq!(world.store.purge_dead(all, 10).await, Ok(0));
}

pub async fn a_purge_takes_what_was_asked_and_no_more<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    for _ in 0..5 {
        bury(&world, (acme, shop), Lane::Webhook, "TIMEOUT").await;
    }
    let spared = bury(&world, (globex, shop), Lane::Webhook, "TIMEOUT").await;
    let filter = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    for expected in [2, 2, 1, 0] {
        let purged = world.store.purge_dead(filter.clone(), 2).await;
        assert_eq!(purged, Ok(expected));
    }
    let left = world.dead(DeadFilter::default()).await;
    assert_eq!(deliveries(&left), [spared]);
}

/// faults.md B2: replays read from the oldest on.
pub async fn oldest_first_is_newest_first_backwards<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let start = world.now();
    for _ in 0..6 {
        world.many_due(acme, shop, 5).await;
        world.many_due(globex, shop, 2).await;
        for job in world.take_all().await {
            world.give_up(&job).await;
        }
        world.pass(secs(1));
    }
    let (since, until) = (Some(start + secs(2)), Some(start + secs(4)));
    let all = DeadFilter::default;
    for filter in [
        all(),
        DeadFilter { tenant: Some(acme), ..all() },
        DeadFilter { tenant: Some(acme), since, until, ..all() },
        DeadFilter { since, until, ..all() },
    ] {
        let mut expected = deliveries(&world.dead(filter.clone()).await);
        expected.reverse();
        assert!(!expected.is_empty());
        for max in [1, 4, 100] {
            let mut request = PageRequest::first(max).in_order(ListOrder::OldestFirst);
            let mut found = Vec::new();
            loop {
                let page = world.store.dead_letters(filter.clone(), request.clone()).await.unwrap();
                found.extend(deliveries(&page.rows));
                request.after = page.next;
                if page.next.is_none() {
                    break;
                }
            }
            assert_eq!(found, expected, "pages of {max}: {filter:?}");
        }
    }
}

/// faults.md 5: four events of 256 KiB, each given up at sixty endpoints.
pub async fn a_page_is_bounded_in_bytes<F: Fixture>() {
    const BODY: usize = 256 * 1024;
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let targets: Vec<_> = (0..60).map(|_| world.target()).collect();
    let mut made = Vec::new();
    for n in 0..4 {
        let event = world.event(acme).body(vec![b'0' + n; BODY]);
        let event = targets.iter().fold(event, |event, target| event.to(*target));
        made.extend((0..targets.len()).map(|place| event.delivery(place)));
        world.accept(event).await;
    }
    for job in world.take_until_done(world.claim()).await.0 {
        world.give_up(&job).await;
    }
    let orders = [ListOrder::NewestFirst, ListOrder::OldestFirst];
    for (order, max_bytes) in orders.into_iter().zip([MAX_PAGE_BYTES, 5 * BODY / 2]) {
        let mut request = PageRequest::first(200).in_order(order).within(max_bytes);
        let mut found = Vec::new();
        for pages in 0.. {
            let page = world.store.dead_letters(DeadFilter::default(), request.clone()).await;
            let page = page.unwrap();
            let bytes: usize = page.rows.iter().map(|letter| letter.original.len()).sum();
            assert!(bytes <= max_bytes, "{bytes} bytes on a page");
            let fitting = max_bytes / BODY;
            let is_last = page.next.is_none();
            assert!(page.rows.len() == fitting || is_last, "{} on a page", page.rows.len());
            assert!(!page.rows.is_empty() && pages < 240, "each page goes on");
            for letter in &page.rows {
                assert_eq!(letter.original.len(), BODY, "bodies are whole");
            }
            found.extend(deliveries(&page.rows));
            request.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(sorted(found), made, "{order:?}");
    }
    let large = world.event(acme).body(vec![0; MAX_PAGE_BYTES + 1]).to(targets[0]);
    world.accept(large).await;
    let job = world.take_one().await;
    world.give_up(&job).await;
    let page = world.store.dead_letters(DeadFilter::default(), PageRequest::first(9)).await;
    let page = page.unwrap();
    assert_eq!(
        deliveries(&page.rows),
        [job.delivery],
        "one that is larger than a page comes alone"
    );
    assert!(page.next.is_some());
}

/// faults.md 5: a filter that matches nothing ends after a bounded scan, and returns where to continue.
pub async fn what_is_not_there_is_looked_for_page_by_page<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let count = F::MAX_SCANNED * 5 / 2;
    for _ in 0..5 {
        world.many_due(acme, shop, count / 5).await;
        let jobs = world.take_until_done(world.claim()).await.0;
        let given_up = |job| given_up(job, world.now(), timeout());
        let all = jobs.iter().map(given_up).collect();
        world.store.settle(world.node, all).await.unwrap();
    }
    let nope = Some("NOBODY_KNOWS".to_owned());
    for tenant in [None, Some(acme)] {
        let filter = DeadFilter { tenant, code: nope.clone(), ..DeadFilter::default() };
        let mut request = PageRequest::first(50);
        let mut pages = 1;
        loop {
            let page = world.store.dead_letters(filter.clone(), request.clone()).await.unwrap();
            assert_eq!(page.rows, []);
            request.after = page.next;
            if page.next.is_none() {
                break;
            }
            pages += 1;
        }
        assert!((2..50).contains(&pages), "{pages} pages");
        let page = world.store.replay_dead(filter, 50, None, world.now()).await.unwrap();
        assert!(
            page.retried.is_empty() && page.next.is_some(),
            "nor does a replay look at all of them"
        );
    }
}

/// faults.md 21: counts are not computed when they are read, and are right after every change.
pub async fn counts_follow_what_becomes_of_letters<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let start = world.now();
    let check =
        async |world: &World<F>, expected: &[(TenantId, &str, u64)], oldest: Option<u64>| {
            let stats = world.store.dead_stats(DeadFilter::default()).await.unwrap();
            let (mut by_tenant, mut by_code) = (BTreeMap::new(), BTreeMap::new());
            for (tenant, code, count) in expected {
                *by_tenant.entry(*tenant).or_default() += *count;
                *by_code.entry((*code).to_owned()).or_default() += *count;
                let filter = DeadFilter {
                    tenant: Some(*tenant),
                    code: Some((*code).to_owned()),
                    ..DeadFilter::default()
                };
                assert_eq!(world.store.dead_stats(filter).await.unwrap().total, *count);
            }
            assert_eq!(stats.total, expected.iter().map(|(_, _, count)| count).sum::<u64>());
            assert_eq!((stats.by_tenant, stats.by_code), (by_tenant, by_code));
            assert_eq!(stats.oldest, oldest.map(|seconds| start + secs(seconds)));
            let none = DeadFilter { code: Some("NONE".to_owned()), ..DeadFilter::default() };
            assert_eq!(world.store.dead_stats(none).await, Ok(crate::DeadStats::default()));
        };
    check(&world, &[], None).await;
    let first = bury(&world, (acme, shop), Lane::Webhook, "TIMEOUT").await;
    bury(&world, (acme, crm), Lane::Webhook, "TIMEOUT").await;
    bury(&world, (acme, crm), Lane::Webhook, "HTTP_404").await;
    bury(&world, (globex, shop), Lane::Webhook, "HTTP_404").await;
    let all = [(acme, "TIMEOUT", 2), (acme, "HTTP_404", 1), (globex, "HTTP_404", 1)];
    check(&world, &all, Some(0)).await;

    // Given up again, for another reason.
    let one = DeadFilter { delivery: Some(first), ..DeadFilter::default() };
    assert_eq!(world.replay(one.clone(), 1).await, 1);
    let job = world.take_one().await;
    let failure = Failure::new(Code::from_text("HTTP_404"), "not there");
    world.settle(given_up(&job, world.now(), failure)).await;
    let all = [(acme, "TIMEOUT", 1), (acme, "HTTP_404", 2), (globex, "HTTP_404", 1)];
    check(&world, &all, Some(1)).await;

    // Given up again, for the same reason; then delivered.
    assert_eq!(world.replay(one.clone(), 1).await, 1);
    let job = world.take_one().await;
    let failure = Failure::new(Code::from_text("HTTP_404"), "not there");
    world.settle(given_up(&job, world.now(), failure)).await;
    check(&world, &all, Some(1)).await;
    assert_eq!(world.replay(one, 1).await, 1);
    let job = world.take_one().await;
    world.deliver(&job).await;
    let all = [(acme, "TIMEOUT", 1), (acme, "HTTP_404", 1), (globex, "HTTP_404", 1)];
    check(&world, &all, Some(1)).await;

    world.prune(start).await;
    check(&world, &all, Some(1)).await;
    let world = world.reopen().await;
    check(&world, &all, Some(1)).await;
    let of_acme = DeadFilter { tenant: Some(acme), ..DeadFilter::default() };
    assert_eq!(world.store.purge_dead(of_acme, 10).await, Ok(2));
    check(&world, &[(globex, "HTTP_404", 1)], Some(3)).await;
    let left = world.dead(DeadFilter::default()).await.iter().map(Into::into).collect();
    assert_eq!(world.store.remove_archived(left).await, Ok(1));
    check(&world, &[], None).await;
    world.prune(start).await;
    check(&world, &[], None).await;
}
