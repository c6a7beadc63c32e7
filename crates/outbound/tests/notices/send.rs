//! Which operational events cause which notices, and who gets them.

use std::time::{Duration, Instant};

use gancho_domain::{Clock, RetryDraft, TenantScope};
use gancho_outbound::{EndpointDraft, PublishError};
use gancho_store::{Collection, DeadFilter, DeliveryFilter, PageRequest, Pause};
use gancho_testkit::{
    http_request::{HttpRequest, answering, arrived},
    receiver::Receiver,
    wait_for,
};
use tokio_util::sync::CancellationToken;

use crate::stage::{DAY, Setup, Stage, draft, event, failing, ok};

fn once(receiver: &Receiver, events: &[&str]) -> EndpointDraft {
    EndpointDraft { retry: Some(Some(RetryDraft::Schedule(vec![]))), ..draft(receiver, events) }
}

async fn for_operator(stage: &Stage, receiver: &Receiver, events: &[&str]) {
    let tenant = gancho_domain::Tenant::new(stage.operator.tenant(), "operator", stage.clock.now());
    stage.desk.create(stage.operator, &tenant, draft(receiver, events)).await.unwrap();
}

async fn of_type(stage: &Stage, scope: TenantScope, event_type: &str) -> usize {
    let filter =
        DeliveryFilter { event_type: Some(event_type.into()), ..DeliveryFilter::default() };
    stage.deliveries_of(scope, filter).await.len()
}

#[tokio::test]
async fn exhausted_is_reported_to_those_who_name_it_and_to_the_operator() {
    let stage = Stage::with(Setup { with_operator: true, ..Setup::default() }).await;
    let (bad, named, below, all, operators) =
        (failing().await, ok().await, ok().await, ok().await, ok().await);
    let mut with_token = once(&bad, &["invoice.paid"]);
    with_token.url = with_token.url.map(|url| format!("{url}?token=hidden"));
    let endpoint = stage.create(with_token).await.endpoint;
    stage.endpoint(&named, &["webhook.delivery.exhausted"]).await;
    stage.endpoint(&below, &["webhook.*"]).await;
    stage.endpoint(&all, &["*"]).await;
    for_operator(&stage, &operators, &["webhook.*"]).await;

    let mut new = event("invoice.paid", "{\"secret\":\"of the payload\"}");
    new.external_id = Some("ext-1".into());
    let published = stage.publish(new).await;
    let row = wait_for("the end", || async {
        let filter = DeliveryFilter { endpoint: Some(endpoint.id), ..DeliveryFilter::default() };
        stage.deliveries(filter).await.into_iter().find(|row| row.state.is_final())
    })
    .await;
    for receiver in [&named, &below, &operators] {
        let seen = &arrived(receiver, 1).await[0];
        let told = seen.json();
        assert_eq!(told["type"], "webhook.delivery.exhausted");
        let data = &told["data"];
        assert_eq!(data["tenant_id"], stage.tenant.id.to_string());
        assert_eq!(data["webhook_id"], endpoint.id.to_string());
        assert_eq!(data["delivery_id"], row.id.to_string());
        assert_eq!(data["event_id"], published.id.to_string());
        assert_eq!(data["event_type"], "invoice.paid");
        assert_eq!(data["external_id"], "ext-1");
        assert_eq!(data["failed_attempts"], 1);
        assert_eq!(data["last_failure_code"], "HTTP_503");
        assert_eq!(data["replay"]["path"], format!("/v1/dlq/{}/replay", row.id));
        assert!(!seen.body.contains("payload"), "what the event says is not repeated");
        assert!(!seen.body.contains("hidden"), "nor what a URL may hide");
        assert!(data["url"].as_str().unwrap().ends_with("/hook?••••"));
        seen.one("webhook-signature");
    }
    let seen = arrived(&all, 1).await;
    assert_eq!(seen.len(), 1, "`*` does not include the gateway's own");
    assert_eq!(seen[0].json()["type"], "invoice.paid");
    let dead =
        stage.store.dead_letters(DeadFilter::default(), PageRequest::first(9)).await.unwrap();
    assert_eq!(dead.rows.len(), 1);
}

#[tokio::test]
async fn where_nobody_wants_it_nothing_is_written() {
    let stage = Stage::with(Setup { with_operator: true, ..Setup::default() }).await;
    let bad = failing().await;
    stage.create(once(&bad, &["*"])).await;
    stage.publish_and_end(event("a.b", "{}")).await;
    let page = PageRequest::first(10);
    let events = gancho_store::Deliveries::events(
        &*stage.store,
        stage.scope,
        gancho_store::EventFilter::default(),
        page,
    );
    assert_eq!(events.await.unwrap().rows.len(), 1);
}

/// A notice that cannot be delivered causes no further notice.
#[tokio::test]
async fn nothing_follows_from_a_notice() {
    let stage = Stage::with(Setup { with_operator: true, ..Setup::default() }).await;
    let (bad, worse, operators) = (failing().await, failing().await, ok().await);
    stage.create(once(&bad, &["a.b"])).await;
    let notices = stage.create(once(&worse, &["webhook.*"])).await.endpoint.id;
    for_operator(&stage, &operators, &["webhook.*"]).await;
    stage.publish_and_end(event("a.b", "{}")).await;
    let notice = stage.of_type(stage.scope, "webhook.delivery.exhausted").await;
    stage.until_ended(notice.id).await;
    arrived(&operators, 1).await;
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 1);

    let since = stage.read(notices).await.health.failing_since.expect("its failures count");
    stage.clock.set(since + 6 * DAY);
    stage.publish_and_end(event("a.b", "{}")).await;
    wait_for("the notices' endpoint to be switched off", || async {
        (!stage.read(notices).await.is_active).then_some(())
    })
    .await;
    for event_type in ["webhook.endpoint.failing", "webhook.endpoint.disabled"] {
        let of_notices = |text: &str| text.contains(&notices.to_string());
        let told = arrived(&operators, 1).await;
        let about =
            told.iter().filter(|seen| seen.json()["type"] == event_type && of_notices(&seen.body));
        assert_eq!(about.count(), 0, "{event_type}");
    }
}

#[tokio::test]
async fn gone_tests_and_wishes_are_not_exhausted() {
    let stage = Stage::new().await;
    let (gone, bad, notices) = (answering(|_| "410 Gone").await, failing().await, ok().await);
    stage.endpoint(&gone, &["a.gone"]).await;
    let bad = stage.create(once(&bad, &["a.test"])).await.endpoint.id;
    stage.endpoint(&notices, &["webhook.delivery.exhausted"]).await;
    stage.publish_and_end(event("a.gone", "{}")).await;
    let test =
        gancho_outbound::test_endpoint(&stage.publisher, stage.scope, &stage.tenant, bad, None)
            .await
            .unwrap();
    stage.until_ended(test.delivery).await;
    assert_eq!(stage.read(bad).await.health.failing_since, None, "a test says nothing of health");
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 0);
}

/// The notice of a disabled endpoint says what was missed and how to replay it.
#[tokio::test]
async fn disabled_offers_the_replay_of_what_was_missed() {
    let stage = Stage::with(Setup { with_operator: true, ..Setup::default() }).await;
    let (bad, notices, operators) = (failing().await, ok().await, ok().await);
    let id = stage.create(once(&bad, &["a.b", "webhook.endpoint.disabled"])).await.endpoint.id;
    stage.endpoint(&notices, &["webhook.endpoint.*"]).await;
    for_operator(&stage, &operators, &["webhook.endpoint.*"]).await;
    for _ in 0..3 {
        stage.publish_and_end(event("a.b", "{}")).await;
    }
    let since = stage.read(id).await.health.failing_since.unwrap();
    stage.clock.set(since + 3 * DAY);
    stage.publish_and_end(event("a.b", "{}")).await;
    stage.clock.set(since + 5 * DAY);
    stage.publish_and_end(event("a.b", "{}")).await;
    let disabled = wait_for("the endpoint to be disabled", || async {
        let endpoint = stage.read(id).await;
        (!endpoint.is_active).then_some(endpoint)
    })
    .await;
    assert!(disabled.updated_at >= since + 5 * DAY, "faults.md B: a change like any other");
    for receiver in [&notices, &operators] {
        let seen = arrived(receiver, 2).await;
        assert_eq!(seen.len(), 2, "a warning and the end");
        let mut told: Vec<_> = seen.iter().map(HttpRequest::json).collect();
        told.sort_by_key(|told| told["timestamp"].to_string());
        assert_eq!(told[0]["type"], "webhook.endpoint.failing");
        assert_eq!(told[0]["data"]["disabled_at"], (since + 5 * DAY).to_string());
        assert_eq!(told[1]["type"], "webhook.endpoint.disabled");
        let data = &told[1]["data"];
        assert_eq!(
            (data["reason"].as_str(), data["last_failure_code"].as_str()),
            (Some("failing"), Some("HTTP_503"))
        );
        assert_eq!(data["failing_since"], since.to_string());
        // The last of them is being settled while this is reported.
        assert!(data["missed"]["failed_deliveries"].as_u64() >= Some(3), "{data}");
        assert_eq!(data["missed"]["since"], since.to_string());
        let replay = &data["replay"];
        assert_eq!(
            (replay["method"].as_str(), replay["path"].as_str()),
            (Some("POST"), Some("/v1/replays"))
        );
        assert_eq!(replay["body"]["filter"]["webhook_id"], id.to_string());
        assert_eq!(replay["body"]["filter"]["status"], "failed");
    }
}

#[tokio::test]
async fn nobody_else_may_publish_there() {
    let stage = Stage::new().await;
    for name in ["webhook.endpoint.disabled", "webhook.own"] {
        let refused = stage.publisher.publish(stage.scope, &stage.tenant, event(name, "{}")).await;
        let Err(PublishError::Faulty(errors)) = refused else { panic!("{name} was taken") };
        assert_eq!((errors[0].code, errors[0].pointer.as_str()), ("reserved_event_type", "/type"));
    }
    stage.publish(event("webhooks.changed", "{}")).await;
    stage.publish(event("webhook", "{}")).await;
}

/// faults.md B7: deliveries that wait behind the breaker are missed too, and so is the one that has just
/// failed.
#[tokio::test]
async fn disabled_counts_what_still_waits() {
    let stage = Stage::new().await;
    let (bad, notices) = (failing().await, ok().await);
    let draft = EndpointDraft {
        retry: Some(Some(RetryDraft::Schedule(vec!["1d".into(), "7d".into()]))),
        ..draft(&bad, &["a.b"])
    };
    let id = stage.create(draft).await.endpoint.id;
    stage.endpoint(&notices, &["webhook.endpoint.disabled"]).await;
    let mut events = Vec::new();
    for _ in 0..7 {
        events.push(stage.publish(event("a.b", "{}")).await);
    }
    wait_for("a first failure", || async { stage.read(id).await.health.failing_since }).await;
    let since = stage.read(id).await.health.failing_since.unwrap();
    stage.clock.set(since + 6 * DAY);
    let seen = &arrived(&notices, 1).await[0];
    let data = &seen.json()["data"];
    assert_eq!(data["missed"]["failed_deliveries"], 7, "{data}");
    assert_eq!(data["missed"]["is_exact"], true);
    let first = data["missed"]["since"].as_str().unwrap();
    assert!(first <= events[0].created_at.to_string().as_str(), "the replay covers all: {data}");
    assert_eq!(data["replay"]["body"]["filter"]["since"], first);
}

/// faults.md B7: the delivery that got the 410 is missed.
#[tokio::test]
async fn gone_counts_the_one_that_was_told_so() {
    let stage = Stage::new().await;
    let (gone, notices) = (answering(|_| "410 Gone").await, ok().await);
    stage.endpoint(&gone, &["a.b"]).await;
    stage.endpoint(&notices, &["webhook.endpoint.disabled"]).await;
    stage.publish_and_end(event("a.b", "{}")).await;
    let seen = &arrived(&notices, 1).await[0];
    assert_eq!(seen.json()["data"]["missed"]["failed_deliveries"], 1, "{}", seen.body);
}

/// faults.md 30: an endpoint that loses many deliveries causes a few notices and a digest.
#[tokio::test]
async fn many_that_are_exhausted_are_reported_together() {
    let stage = Stage::new().await;
    let (bad, other, notices) = (failing().await, failing().await, ok().await);
    let id = stage.create(once(&bad, &["a.b"])).await.endpoint.id;
    stage.create(once(&other, &["c.d"])).await;
    stage.endpoint(&notices, &["webhook.delivery.exhausted"]).await;
    for _ in 0..12 {
        stage.publish_and_end(event("a.b", "{}")).await;
        stage.clock.advance(Duration::from_secs(31));
    }
    stage.publish_and_end(event("c.d", "{}")).await;
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 6, "5 and 1");
    stage.outbound.health.send_digests(false).await;
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 6, "not yet");
    stage.clock.advance(Duration::from_mins(10));
    stage.outbound.health.send_digests(false).await;
    stage.outbound.health.send_digests(false).await;
    let seen = arrived(&notices, 7).await;
    let told: Vec<_> = seen.iter().map(HttpRequest::json).collect();
    let digests: Vec<_> = told.iter().filter(|told| told["data"]["is_digest"] == true).collect();
    assert_eq!((told.len(), digests.len()), (7, 1), "{told:?}");
    let data = &digests[0]["data"];
    assert_eq!(data["webhook_id"], id.to_string());
    assert_eq!((&data["failed_deliveries"], &data["is_exact"]), (&7.into(), &true.into()));
    assert_eq!(data["by_failure_code"], serde_json::json!({ "HTTP_503": 7 }));
    assert_eq!(data["replay"]["body"]["filter"]["webhook_id"], id.to_string());
    // The next window begins.
    stage.publish_and_end(event("a.b", "{}")).await;
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 8);
    // Counted dead letters are reported before the gateway stops.
    for _ in 0..6 {
        stage.publish_and_end(event("a.b", "{}")).await;
    }
    stage.outbound.health.send_digests(true).await;
    let seen = arrived(&notices, 13).await;
    let of_two = |seen: &&HttpRequest| seen.json()["data"]["failed_deliveries"] == 2;
    assert_eq!((seen.len(), seen.iter().filter(of_two).count()), (13, 1));
}

/// Deliveries that expire while their endpoint is paused are reported too, but the expiry of that notice is
/// not.
#[tokio::test]
async fn those_that_expire_while_they_wait_are_reported_together() {
    let stage = Stage::with(Setup { expiry: Some(DAY), ..Setup::default() }).await;
    let (paused, notices) = (ok().await, ok().await);
    let id = stage.endpoint(&paused, &["a.b"]).await;
    let also_paused = stage.endpoint(&paused, &["webhook.delivery.exhausted"]).await;
    for id in [id, also_paused] {
        stage.engine.pause(Pause::Endpoint(stage.tenant.id, id)).await.unwrap();
    }
    for _ in 0..3 {
        stage.publish(event("a.b", "{}")).await;
    }
    stage.endpoint(&notices, &["webhook.delivery.exhausted"]).await;
    stage.clock.advance(2 * DAY);
    assert_eq!(stage.engine.expire_once().await.unwrap(), 3);
    stage.outbound.health.send_digests(true).await;
    let data = arrived(&notices, 1).await[0].json()["data"].clone();
    assert_eq!(data["webhook_id"], id.to_string());
    assert_eq!((&data["is_digest"], &data["failed_deliveries"]), (&true.into(), &3.into()));
    assert_eq!(data["by_failure_code"], serde_json::json!({ "EXPIRED": 3 }));
    // The notice to the paused endpoint expires as well.
    stage.clock.advance(2 * DAY);
    assert_eq!(stage.engine.expire_once().await.unwrap(), 1);
    stage.outbound.health.send_digests(true).await;
    assert_eq!(of_type(&stage, stage.scope, "webhook.delivery.exhausted").await, 2);
}

/// A node dies before it sends a digest: another node sends once what was counted until then, and says that
/// it may be more.
#[tokio::test]
async fn a_digest_outlives_the_node_that_counted() {
    let stage = Stage::new().await;
    let (bad, notices) = (failing().await, ok().await);
    let id = stage.create(once(&bad, &["a.b"])).await.endpoint.id;
    stage.endpoint(&notices, &["webhook.delivery.exhausted"]).await;
    for _ in 0..8 {
        stage.publish_and_end(event("a.b", "{}")).await;
    }
    stage.outbound.health.save_digests().await;
    let other = stage.other_node();
    let exhausted = async || of_type(&stage, stage.scope, "webhook.delivery.exhausted").await;
    other.health.take_over_digests().await;
    stage.clock.advance(Duration::from_mins(10));
    other.health.take_over_digests().await;
    assert_eq!(exhausted().await, 5, "the node itself still has time");
    stage.clock.advance(Duration::from_mins(1));
    other.health.take_over_digests().await;
    other.health.take_over_digests().await;
    let seen = arrived(&notices, 6).await;
    let digest = seen.iter().map(HttpRequest::json).find(|told| told["data"]["is_digest"] == true);
    let data = &digest.unwrap()["data"];
    assert_eq!(data["webhook_id"], id.to_string());
    assert_eq!((&data["failed_deliveries"], &data["is_exact"]), (&3.into(), &false.into()));
    // The node was not dead, only late: it sends the same digest.
    stage.outbound.health.send_digests(false).await;
    assert_eq!(exhausted().await, 6);

    // A digest that the node sends itself is not left for others.
    for _ in 0..7 {
        stage.publish_and_end(event("a.b", "{}")).await;
    }
    stage.outbound.health.save_digests().await;
    stage.outbound.health.send_digests(true).await;
    stage.clock.advance(Duration::from_mins(20));
    let count = exhausted().await;
    other.health.take_over_digests().await;
    assert_eq!(exhausted().await, count);
}

/// A node that is killed seconds after it began to count has stored the digest.
#[tokio::test]
async fn a_new_digest_is_stored_within_about_a_second() {
    let stage = Stage::new().await;
    let (bad, notices) = (failing().await, ok().await);
    stage.create(once(&bad, &["a.b"])).await;
    // Without a subscriber nothing is stored.
    stage.endpoint(&notices, &["webhook.delivery.exhausted"]).await;
    let (health, stop) = (stage.outbound.health.clone(), CancellationToken::new());
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { health.run_digests(stop).await }
    });
    for _ in 0..6 {
        stage.publish_and_end(event("a.b", "{}")).await;
    }
    let counted_at = Instant::now();
    let pending = Collection::operators("pending_digest");
    wait_for("it is stored", || async {
        (!stage.store.documents(pending, None, 10).await.unwrap().is_empty()).then_some(())
    })
    .await;
    assert!(counted_at.elapsed() < Duration::from_secs(5), "{:?}", counted_at.elapsed());
    stop.cancel();
    running.await.unwrap();
}
