//! A tenant's events are listed by filter, newest first, page by page.

use gancho_domain::{EventId, TenantId, parcel::ParcelKind};

use super::{
    Fixture,
    build::{Draft, World, hours, scope, secs, sorted},
};
use crate::{EventFilter, EventRow, PageRequest};

fn ids(rows: &[EventRow]) -> Vec<EventId> {
    rows.iter().map(|row| row.id).collect()
}

fn unmatched() -> EventFilter {
    EventFilter { is_unmatched: true, ..EventFilter::default() }
}

/// Five events, a second apart, that differ in every property that a filter has. The second and the last
/// matched no endpoint.
async fn log<F: Fixture>(world: &World<F>) -> (TenantId, [EventId; 5]) {
    let tenant = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let event = |event_type| world.event(tenant).typed(event_type);
    let mut made = Vec::new();
    for make in [
        |event: Draft, shop, _| event.named("inv-1").to(shop),
        |event: Draft, _, _| event,
        |event: Draft, shop, crm| event.named("inv-2").to(crm).to(shop),
        |event: Draft, _, crm| event.typed("user.created").named("inv-1").to(crm),
        |event: Draft, _, _| event.typed("user.created").named("inv-1"),
    ] {
        let draft = make(event("invoice.paid"), shop, crm);
        made.push(draft.id());
        world.accept(draft).await;
        world.pass(secs(1));
    }
    (tenant, made.try_into().unwrap())
}

pub async fn each_filter_narrows_the_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    let (acme, [one, two, three, four, five]) = log(&world).await;
    let find = async |filter| ids(&world.list_events(acme, filter).await);
    let all = EventFilter::default;

    assert_eq!(find(all()).await, [five, four, three, two, one], "newest first");
    assert_eq!(find(unmatched()).await, [five, two]);
    let mut filter = all();
    filter.event_type = Some("user.created".to_owned());
    assert_eq!(find(filter).await, [five, four]);
    let mut filter = all();
    filter.external_id = Some("inv-1".to_owned());
    assert_eq!(find(filter).await, [five, four, one]);
    let mut filter = all();
    filter.since = Some(start + secs(1));
    assert_eq!(find(filter.clone()).await, [five, four, three, two]);
    filter.until = Some(start + secs(4));
    assert_eq!(find(filter.clone()).await, [four, three, two]);
    filter.since = None;
    assert_eq!(find(filter).await, [four, three, two, one]);
}

pub async fn filters_join<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    let (acme, [.., five]) = log(&world).await;
    let filter = EventFilter {
        kind: ParcelKind::Event,
        event_type: Some("user.created".to_owned()),
        external_id: Some("inv-1".to_owned()),
        is_unmatched: true,
        since: Some(start + secs(4)),
        until: Some(start + secs(5)),
    };
    assert_eq!(ids(&world.list_events(acme, filter.clone()).await), [five]);
    let spoil: [fn(&mut EventFilter); 5] = [
        |filter| filter.kind = ParcelKind::Receipt,
        |filter| filter.event_type = Some("invoice.paid".to_owned()),
        |filter| filter.external_id = Some("inv-2".to_owned()),
        |filter| filter.since = filter.until,
        |filter| filter.until = filter.since,
    ];
    for (place, spoil) in spoil.iter().enumerate() {
        let mut spoilt = filter.clone();
        spoil(&mut spoilt);
        assert_eq!(world.list_events(acme, spoilt).await, [], "{place}");
    }
    for odd in ["INV-1", "inv", "inv_1", "%", "", "inv-1 ", "' OR 1=1 --"] {
        let filter = EventFilter { external_id: Some(odd.to_owned()), ..EventFilter::default() };
        assert_eq!(world.list_events(acme, filter).await, [], "{odd:?}");
    }
}

pub async fn a_row_reads_as_it_was_accepted<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let plain = world.event(acme);
    let full = world.event(acme).about("order-1").named("inv-1").typed("order.shipped").as_test();
    let full = full.to(world.target()).to(world.target()).to(world.target());
    let (plain_id, full_id) = (plain.id(), full.id());
    world.accept_all(vec![plain, full]).await;
    let expected = [
        EventRow {
            id: full_id,
            event_type: "order.shipped".into(),
            subject: Some("order-1".into()),
            external_id: Some("inv-1".into()),
            number: Some(1),
            is_test: true,
            deliveries: 3,
            created_at: world.now(),
        },
        EventRow {
            id: plain_id,
            event_type: "invoice.paid".into(),
            subject: None,
            external_id: None,
            number: None,
            is_test: false,
            deliveries: 0,
            created_at: world.now(),
        },
    ];
    let world = world.reopen().await;
    assert_eq!(world.list_events(acme, EventFilter::default()).await, expected);
}

pub async fn each_kind_has_a_list_of_its_own<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let kinds = [ParcelKind::Event, ParcelKind::Receipt, ParcelKind::Email];
    let mut made = Vec::new();
    for kind in kinds {
        let [sent, lost] = [world.event(acme).to(shop), world.event(acme)];
        made.push([sent.id(), lost.id()]);
        for draft in [sent, lost] {
            world.accept(draft.kind(kind).named("inv-1")).await;
        }
    }
    for (kind, [sent, lost]) in kinds.into_iter().zip(made) {
        let named = EventFilter { external_id: Some("inv-1".to_owned()), ..EventFilter::default() };
        for (filter, expected) in [
            (EventFilter::default(), vec![lost, sent]),
            (unmatched(), vec![lost]),
            (named, vec![lost, sent]),
        ] {
            let filter = EventFilter { kind, ..filter };
            assert_eq!(ids(&world.list_events(acme, filter).await), expected, "{kind:?}");
        }
    }
}

pub async fn pages_have_no_gaps_and_no_repeats<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm, till] = [world.target(), world.target(), world.target()];
    let (mut made, mut lost) = (Vec::new(), Vec::new());
    for n in 0..60 {
        // Events with no delivery, with one, and with several, in both orders.
        let event = world.event(acme);
        let event = match n % 5 {
            0 => event,
            1 => event.to(shop).to(crm).to(till),
            2 => event.to(crm),
            3 => event.to(till).to(shop),
            _ => event.to(crm).to(till),
        };
        made.push(event.id());
        lost.extend((n % 5 == 0).then_some(event.id()));
        world.accept_all(vec![event, world.event(globex).to(shop), world.event(globex)]).await;
        if n % 7 == 0 {
            world.pass(secs(1));
        }
    }
    made.reverse();
    lost.reverse();
    for max in [1, 7, 20, 59, 60, 100] {
        let rows = world.list_events_by(acme, EventFilter::default(), max).await;
        assert_eq!(ids(&rows), made, "pages of {max}");
        let rows = world.list_events_by(acme, unmatched(), max).await;
        assert_eq!(ids(&rows), lost, "pages of {max}");
    }
}

/// Concurrent publishers create their ids in turn, so the deliveries of the first of two events may have
/// later ids than those of the second.
pub async fn events_made_at_once_are_each_listed_once<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let mut drafts: Vec<_> = (0..40).map(|_| world.event(acme)).collect();
    drafts.reverse();
    let drafts: Vec<_> = drafts.into_iter().map(|draft| draft.to(crm).to(shop)).collect();
    let made: Vec<_> = drafts.iter().map(Draft::id).collect();
    world.accept_all(drafts).await;
    for max in [1, 7, 39, 40] {
        let rows = world.list_events_by(acme, EventFilter::default(), max).await;
        assert_eq!(rows.len(), made.len(), "pages of {max}");
        assert_eq!(sorted(ids(&rows)), sorted(made.clone()), "pages of {max}");
    }
}

pub async fn one_sent_again_keeps_its_place<F: Fixture>() {
    let world = World::<F>::new().await;
    let (acme, made) = log(&world).await;
    let before = world.list_events(acme, EventFilter::default()).await;
    let store = &world.store;
    let first = PageRequest::first(2);
    let first = store.events(scope(acme), EventFilter::default(), first).await.unwrap();
    world.pass(hours(1));
    let (new, old) = (world.target(), world.list(acme, crate::DeliveryFilter::default()).await);
    for event in made {
        for target in [new, old[0].target] {
            assert!(world.redeliver(acme, event, vec![world.to(target)]).await);
        }
    }
    let rest = PageRequest::new(100, first.next);
    let rest = store.events(scope(acme), EventFilter::default(), rest).await.unwrap();
    assert_eq!(ids(&[first.rows, rest.rows].concat()), ids(&before), "in the middle of a list");
    for max in [1, 2, 100] {
        let after = world.list_events_by(acme, EventFilter::default(), max).await;
        let expected: Vec<_> = before
            .iter()
            .map(|row| EventRow { deliveries: row.deliveries + 2, ..row.clone() })
            .collect();
        assert_eq!(after, expected, "pages of {max}");
    }
    assert_eq!(world.list_events(acme, unmatched()).await, [], "they have targets now");
}

pub async fn a_pruned_one_is_no_longer_listed<F: Fixture>() {
    let world = World::<F>::new().await;
    let (acme, [_, two, ..]) = log(&world).await;
    assert!(world.redeliver(acme, two, vec![world.to(world.target())]).await);
    for job in world.take_all().await {
        world.deliver(&job).await;
    }
    world.pass(hours(1));
    let kept = world.event(acme);
    let id = kept.id();
    world.accept(kept).await;
    let now = world.now();
    assert_eq!(world.prune(now).await, 5);
    assert_eq!(ids(&world.list_events(acme, EventFilter::default()).await), [id]);
    assert_eq!(ids(&world.list_events(acme, unmatched()).await), [id]);
}

/// faults.md 5: a list that does not show the data need not read it.
pub async fn an_outline_has_all_but_the_data<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let [shop, crm] = [world.target(), world.target()];
    let sent = world.event(acme).about("order-1").named("inv-1").body(vec![7; 3_000_000]);
    let drafts = [sent.to(shop).to(crm), world.event(acme).body(""), world.event(globex).to(shop)];
    let made = drafts.each_ref().map(Draft::id);
    world.accept_all(drafts.to_vec()).await;
    let asked = vec![made[1], world.id(), made[2], made[0]];
    let found = world.store.event_outlines(scope(acme), asked).await.unwrap();
    let ids: Vec<_> = found.iter().map(|outline| outline.row.id).collect();
    assert_eq!(ids, [made[1], made[0]], "in the order that was asked for");
    assert_eq!((found[0].size, found[1].size), (0, 3_000_000));
    let rows = world.list_events(acme, EventFilter::default()).await;
    assert_eq!([&found[0].row, &found[1].row], [&rows[0], &rows[1]]);
    for outline in found {
        let view = world.see_event(acme, outline.row.id).await;
        assert_eq!(outline.deliveries, view.deliveries);
    }
    assert_eq!(world.store.event_outlines(scope(acme), vec![]).await, Ok(vec![]));
}
