//! The log is listed by filter, newest first, page by page.

use gancho_domain::{DeliveryId, EventId, Lane, Status, TenantId};

use super::{
    Fixture,
    build::{World, scope, secs},
};
use crate::{DeliveryFilter, DeliveryRow, PageRequest, TargetId};

fn ids(rows: &[DeliveryRow]) -> Vec<DeliveryId> {
    rows.iter().map(|row| row.id).collect()
}

/// Four deliveries, a second apart, that differ in every property that a filter has.
struct Log {
    tenant: TenantId,
    shop: TargetId,
    rows: [DeliveryId; 4],
    events: [EventId; 4],
}

async fn log<F: Fixture>(world: &World<F>) -> Log {
    let tenant = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let mut rows = Vec::new();
    let mut events = Vec::new();
    for (target, event_type, external_id) in [
        (shop, "invoice.paid", Some("inv-1")),
        (crm, "invoice.paid", None),
        (shop, "invoice.sent", Some("inv-2")),
        (crm, "user.created", Some("inv-1")),
    ] {
        let mut draft = world.event(tenant).typed(event_type).to(target);
        if let Some(name) = external_id {
            draft = draft.named(name);
        }
        rows.push(draft.delivery(0));
        events.push(draft.id());
        world.accept(draft).await;
        world.pass(secs(1));
    }
    Log { tenant, shop, rows: rows.try_into().unwrap(), events: events.try_into().unwrap() }
}

pub async fn each_filter_narrows_the_list<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    let log = log(&world).await;
    let [one, two, three, four] = log.rows;
    let find = async |filter| ids(&world.list(log.tenant, filter).await);
    let all = DeliveryFilter::default;

    assert_eq!(find(all()).await, [four, three, two, one], "newest first");
    let mut filter = all();
    filter.endpoint = Some(log.shop);
    assert_eq!(find(filter).await, [three, one]);
    let mut filter = all();
    filter.event_type = Some("invoice.paid".to_owned());
    assert_eq!(find(filter).await, [two, one]);
    let mut filter = all();
    filter.event_type_prefix = Some("invoice.".to_owned());
    assert_eq!(find(filter).await, [three, two, one]);
    let mut filter = all();
    filter.event = Some(log.events[2]);
    assert_eq!(find(filter).await, [three]);
    let mut filter = all();
    filter.external_id = Some("inv-1".to_owned());
    assert_eq!(find(filter).await, [four, one]);
    let mut filter = all();
    filter.since = Some(start + secs(1));
    assert_eq!(find(filter.clone()).await, [four, three, two]);
    filter.until = Some(start + secs(3));
    assert_eq!(find(filter.clone()).await, [three, two]);
    filter.since = None;
    assert_eq!(find(filter).await, [three, two, one]);
}

pub async fn filters_join<F: Fixture>() {
    let world = World::<F>::new().await;
    let start = world.now();
    let log = log(&world).await;
    let [one, ..] = log.rows;
    let filter = DeliveryFilter {
        lane: Some(Lane::Webhook),
        endpoint: Some(log.shop),
        status: Some(Status::Pending),
        event_type: Some("invoice.paid".to_owned()),
        event_type_prefix: Some("invoice.".to_owned()),
        event: Some(log.events[0]),
        external_id: Some("inv-1".to_owned()),
        text: Some("9.90".to_owned()),
        since: Some(start),
        until: Some(start + secs(1)),
        ..DeliveryFilter::default()
    };
    let found = world.list(log.tenant, filter.clone()).await;
    assert_eq!(ids(&found), [one]);
    let spoil: [fn(&mut DeliveryFilter); 7] = [
        |filter| filter.lane = Some(Lane::Dispatch),
        |filter| filter.status = Some(Status::Delivered),
        |filter| filter.event_type = Some("invoice.sent".to_owned()),
        |filter| filter.event_type_prefix = Some("user.".to_owned()),
        |filter| filter.external_id = Some("inv-2".to_owned()),
        |filter| filter.since = filter.until,
        |filter| filter.until = filter.since,
    ];
    for (place, spoil) in spoil.iter().enumerate() {
        let mut spoilt = filter.clone();
        spoil(&mut spoilt);
        assert_eq!(world.list(log.tenant, spoilt).await, [], "{place}");
    }
}

pub async fn text_is_found_as_it_is_written<F: Fixture>() {
    let world = World::<F>::new().await;
    let log = log(&world).await;
    for odd in ["INV-1", "inv", "inv_1", "inv%", "%", "", "inv-1 ", "' OR 1=1 --"] {
        let filter =
            DeliveryFilter { external_id: Some(odd.to_owned()), ..DeliveryFilter::default() };
        assert_eq!(world.list(log.tenant, filter).await, [], "{odd:?}");
    }
    for odd in ["invoice.%", "invoice_", "Invoice.", "nvoice.", "invoice.paidx", "invoice.*"] {
        let filter =
            DeliveryFilter { event_type_prefix: Some(odd.to_owned()), ..DeliveryFilter::default() };
        assert_eq!(world.list(log.tenant, filter).await, [], "{odd:?}");
    }
    for odd in ["invoice.%", "invoice_paid", "Invoice.paid", "", "invoice.*"] {
        let filter =
            DeliveryFilter { event_type: Some(odd.to_owned()), ..DeliveryFilter::default() };
        assert_eq!(world.list(log.tenant, filter).await, [], "{odd:?}");
    }
}

/// Filters by the result of the last attempt, or the reason of giving up, and by the subject of the event:
/// for one tenant and for all.
pub async fn outcomes_and_subjects_are_filtered<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let made = world.many_due(acme, shop, 4).await;
    let jobs = world.take_all().await;
    world.deliver(&jobs[0]).await;
    world.give_up(&jobs[1]).await;
    world.retry_at(&jobs[2], world.now() + secs(60)).await;
    let draft = world.event(acme).about("order-1").in_order_to(shop);
    let about = [draft.delivery(0)];
    world.accept(draft).await;
    let all = world.list(acme, DeliveryFilter::default()).await;
    let row = |id: DeliveryId| all.iter().find(|row| row.id == id).unwrap();
    let code = |id| row(id).last_failure.as_ref().unwrap().code().as_str().to_owned();
    let both = async |filter: DeliveryFilter| {
        let of_tenant = ids(&world.list(acme, filter.clone()).await);
        let page = world.store.all_deliveries(filter, PageRequest::first(100)).await.unwrap();
        let of_all: Vec<_> = page.rows.iter().map(|row| row.row.id).collect();
        assert_eq!(of_tenant, of_all);
        of_tenant
    };
    let with_code = |code: String| DeliveryFilter { error_code: Some(code), ..Default::default() };
    let mut failed = vec![made[2], made[1]];
    failed.retain(|id| code(*id) == code(made[1]));
    assert_eq!(both(with_code(code(made[1]))).await, failed);
    assert_eq!(both(with_code("NO_SUCH_CODE".to_owned())).await, []);
    let status = row(made[0]).response_status;
    assert!(status.is_some(), "a delivered one has a response");
    let same = all.iter().filter(|row| row.response_status == status).map(|row| row.id);
    let filter = DeliveryFilter { response_status: status, ..Default::default() };
    assert_eq!(both(filter).await, same.collect::<Vec<_>>());
    let filter = DeliveryFilter { response_status: Some(599), ..Default::default() };
    assert_eq!(both(filter).await, []);
    let of = |subject: &str| {
        let subject = Some(subject.to_owned());
        DeliveryFilter { subject, ..Default::default() }
    };
    assert_eq!(both(of("order-1")).await, about);
    for odd in ["order", "ORDER-1", "order-1 ", "%"] {
        assert_eq!(both(of(odd)).await, [], "{odd}");
    }
}

pub async fn each_status_has_its_deliveries<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let shop = world.target();
    let made = world.many_due(acme, shop, 5).await;
    let jobs = world.take_all().await;
    world.deliver(&jobs[0]).await;
    world.give_up(&jobs[1]).await;
    world.retry_at(&jobs[2], world.now()).await;
    world.retry_at(&jobs[3], world.now() + secs(60)).await;
    assert_eq!(world.take_one().await.delivery, made[2], "held for a retry");
    let later = world.event(acme).about("order-1").in_order_to(shop);
    let waiting = world.event(acme).about("order-1").in_order_to(shop);
    let rest = [later.delivery(0), waiting.delivery(0)];
    world.accept_all(vec![later, waiting]).await;

    for (status, expected) in [
        (Status::Pending, vec![rest[1], rest[0], made[4]]),
        (Status::Retrying, vec![made[3], made[2]]),
        (Status::Delivered, vec![made[0]]),
        (Status::Failed, vec![made[1]]),
    ] {
        let filter = DeliveryFilter { status: Some(status), ..DeliveryFilter::default() };
        let rows = world.list(acme, filter.clone()).await;
        assert_eq!(ids(&rows), expected, "{status}");
        assert!(rows.iter().all(|row| row.status() == status));
        let by_one = world.list_by(acme, filter, 1).await;
        assert_eq!(by_one, rows, "{status}, page by page");
    }
}

pub async fn pages_have_no_gaps_and_no_repeats<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    let [shop, crm] = [world.target(), world.target()];
    let mut made = Vec::new();
    for n in 0..10 {
        // Five at a time are created at the same moment, three of them for one event.
        let event = world.event(acme).to(shop).to(crm).to(world.target());
        made.extend((0..3).map(|place| event.delivery(place)));
        world.accept(event).await;
        made.extend(world.many_due(acme, [shop, crm][n % 2], 2).await);
        world.pass(secs(1));
    }
    made.reverse();
    for max in [1, 7, 10, 50, 100] {
        let rows = world.list_by(acme, DeliveryFilter::default(), max).await;
        assert_eq!(ids(&rows), made, "pages of {max}");
        let of_shop = DeliveryFilter { endpoint: Some(shop), ..DeliveryFilter::default() };
        let some = world.list_by(acme, of_shop, max).await;
        let rows: Vec<_> = rows.into_iter().filter(|row| row.target == shop).collect();
        assert_eq!(some, rows, "pages of {max}");
    }
}

pub async fn each_lane_has_a_list_of_its_own<F: Fixture>() {
    let world = World::<F>::new().await;
    let acme = world.tenant().await;
    // A target has deliveries of two lanes, at the same moments.
    let [shop, crm] = [world.target(), world.target()];
    let mut made = Vec::new();
    for n in 0..12 {
        let event = world.event(acme).named("all").to(shop).in_lane(Lane::Email, shop);
        let event = event.in_lane(Lane::Email, crm).in_lane(Lane::Dispatch, crm);
        let lanes = [Lane::Webhook, Lane::Email, Lane::Email, Lane::Dispatch];
        made.extend(
            lanes.into_iter().enumerate().map(|(place, lane)| (event.delivery(place), lane)),
        );
        world.accept(event).await;
        if n % 3 == 0 {
            world.pass(secs(1));
        }
    }
    for job in world.take_all().await.iter().take(5) {
        world.give_up(job).await;
    }
    made.reverse();
    for lane in Lane::ALL {
        let of_lane = DeliveryFilter { lane: Some(lane), ..DeliveryFilter::default() };
        let mine = made.iter().filter(|one| one.1 == lane).map(|one| one.0);
        let mine = mine.collect::<Vec<_>>();
        for max in [1, 5, 100] {
            let rows = world.list_by(acme, of_lane.clone(), max).await;
            assert_eq!(ids(&rows), mine, "{lane} in pages of {max}");
            assert!(rows.iter().all(|row| row.lane == lane));
        }
        let named = DeliveryFilter { external_id: Some("all".into()), ..of_lane.clone() };
        assert_eq!(ids(&world.list_by(acme, named, 7).await), mine, "{lane} by name");
        let failed = DeliveryFilter { status: Some(Status::Failed), ..of_lane.clone() };
        let count = if lane == Lane::Webhook { 5 } else { 0 };
        assert_eq!(world.list_by(acme, failed, 2).await.len(), count, "{lane} that failed");
        let of_shop = DeliveryFilter { endpoint: Some(shop), ..of_lane };
        let count = if lane == Lane::Dispatch { 0 } else { 12 };
        assert_eq!(world.list_by(acme, of_shop, 5).await.len(), count, "{lane} of a target");
    }
    let of_shop = DeliveryFilter { endpoint: Some(shop), ..DeliveryFilter::default() };
    assert_eq!(world.list_by(acme, of_shop, 5).await.len(), 24, "of a target in any lane");
    let events = world.list_events(acme, crate::EventFilter::default()).await;
    assert_eq!(events.len(), 12, "each event is listed once");
}

pub async fn a_body_prefix_is_the_beginning_of_a_body<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, globex] = [world.tenant().await, world.tenant().await];
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let drafts = [
        world.event(acme).body(long.clone()),
        world.event(acme).body("short"),
        world.event(acme).body(""),
        world.event(globex).body("not mine"),
    ];
    let [large, short, empty, strange] = drafts.each_ref().map(super::build::Draft::id);
    world.accept_all(drafts.to_vec()).await;
    let body_prefixes = async |ids: Vec<EventId>, max| {
        let found = world.store.body_prefixes(scope(acme), ids, max).await.unwrap();
        found.into_iter().map(|(id, bytes)| (id, bytes.to_vec())).collect::<Vec<_>>()
    };
    let ids = vec![short, strange, large, world.id(), empty];
    assert_eq!(
        body_prefixes(ids.clone(), 1_000).await,
        [(short, b"short".to_vec()), (large, long[..1_000].to_vec()), (empty, Vec::new()),]
    );
    let sizes =
        body_prefixes(ids, usize::MAX).await.iter().map(|one| one.1.len()).collect::<Vec<_>>();
    assert_eq!(sizes, [5, 3_000_000, 0]);
    assert_eq!(body_prefixes(vec![], 10).await, []);
}

pub async fn every_view_of_a_delivery_agrees<F: Fixture>() {
    let world = World::<F>::new().await;
    let log = log(&world).await;
    let jobs = world.take_all().await;
    world.deliver(&jobs[0]).await;
    world.give_up(&jobs[1]).await;
    world.retry_at(&jobs[2], world.now() + secs(60)).await;
    for row in world.list(log.tenant, DeliveryFilter::default()).await {
        let view = world.see(log.tenant, row.id).await;
        assert_eq!(view.row, row);
        let event = world.see_event(log.tenant, row.event).await;
        assert_eq!(event.deliveries, [row]);
        assert_eq!(event.parcel, view.parcel);
        assert_eq!(event.number, view.number);
    }
}

pub async fn anyones_delivery_is_found_by_its_id<F: Fixture>() {
    let world = World::<F>::new().await;
    let [acme, beta] = [world.tenant().await, world.tenant().await];
    let shop = world.target();
    let of_acme = world.event(acme).to(shop).in_lane(Lane::Dispatch, world.target());
    let of_beta = world.event(beta).to(shop);
    let later = world.to(world.target());
    let event = of_beta.id();
    let wanted = [
        (of_acme.delivery(0), Some(acme)),
        (of_acme.delivery(1), Some(acme)),
        (of_beta.delivery(0), Some(beta)),
        (later.id, Some(beta)),
        (world.id(), None),
    ];
    world.accept_all(vec![of_acme, of_beta]).await;
    world.redeliver(beta, event, vec![later]).await;
    let world = world.reopen().await;
    for (delivery, owner) in wanted {
        assert_eq!(world.store.delivery_owner(delivery).await.unwrap(), owner);
    }
}
