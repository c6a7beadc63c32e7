//! Live tails: callers see changes as they happen, if they may see them and as long as they may.

use serde_json::{Value, json};

use crate::{
    stage::{Hands, Stage, receiver},
    tail_reader::TailReader,
};

const TAIL: &str = "/v1/deliveries/tail";

fn brief(event: &Value) -> (&str, &str, u64) {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    (text("change"), text("status"), event["attempts"].as_u64().unwrap())
}

async fn failing(hands: &Hands, url: &str, schedule: Value) -> Value {
    let draft = json!({"url": url, "events": ["*"], "retry": {"schedule": schedule}});
    hands.webhook_with(draft).await
}

async fn each_step_is_seen(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (_good, good) = receiver(200).await;
    let (_bad, bad) = receiver(503).await;
    hands.webhook_with(json!({"url": good, "events": ["good.one"]})).await;
    let draft = json!({"url": bad, "events": ["bad.one"], "retry": {"schedule": ["1s"]}});
    hands.webhook_with(draft).await;
    let mut tail = TailReader::open(&hands.client, TAIL).await;
    assert!(tail.head.contains("content-type: text/event-stream"), "{}", tail.head);
    let event = hands.publish("good.one", json!({})).await;
    let accepted = tail.delivery().await;
    assert_eq!(brief(&accepted), ("accepted", "pending", 0));
    assert_eq!(accepted["event_id"], event["id"]);
    assert!(accepted.get("tenant").is_none(), "a tenant knows who it is");
    let delivered = tail.delivery().await;
    assert_eq!(brief(&delivered), ("delivered", "delivered", 1));
    assert_eq!(delivered["id"], accepted["id"]);
    assert_eq!(delivered["response_status"], 200);
    assert!(delivered["latency_ms"].as_f64().unwrap() > 0.0);

    hands.publish("bad.one", json!({})).await;
    assert_eq!(brief(&tail.delivery().await), ("accepted", "pending", 0));
    let failed = tail.delivery().await;
    assert_eq!(brief(&failed), ("attempt_failed", "retrying", 1));
    assert_eq!(
        (&failed["response_status"], &failed["last_error_code"]),
        (&json!(503), &json!("HTTP_503"))
    );
    assert_eq!(failed["waiting_for"]["reason"], "retry");
    assert!(failed["next_retry_at"].is_string());
    let dead = tail.delivery().await;
    assert_eq!(brief(&dead), ("failed", "failed", 2));
    assert_eq!(dead["waiting_for"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_step_is_seen_as_it_happens() {
    each_step_is_seen(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    each_step_is_seen(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_never_sees_another_and_the_operator_sees_all() {
    let stage = Stage::new().await;
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    let (_receiver, url) = receiver(200).await;
    for hands in [&own, &other] {
        hands.webhook(&url).await;
    }
    let mut of_own = TailReader::open(&own.client, TAIL).await;
    let mut of_all = TailReader::open(&stage.operator(), TAIL).await;
    let acting = stage.operator().with("x-tenant", "own");
    let mut as_own = TailReader::open(&acting, TAIL).await;
    let theirs = other.publish("a.b", json!({})).await;
    other.delivery(&theirs, "delivered").await;
    let mine = own.publish("a.b", json!({})).await;
    for tail in [&mut of_own, &mut as_own] {
        assert_eq!(tail.delivery().await["event_id"], mine["id"]);
        assert_eq!(tail.delivery().await["event_id"], mine["id"]);
    }
    let first = of_all.delivery().await;
    assert_eq!((&first["event_id"], &first["tenant"]), (&theirs["id"], &json!("other")));
    assert_eq!(first["tenant_id"], json!(other.id));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_leave_out_the_rest() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let (_bad, bad) = receiver(500).await;
    let one = hands.webhook(&url).await;
    failing(&hands, &bad, json!([])).await;
    let webhook = format!("{TAIL}?webhook_id={}&status=delivered", one["id"].as_str().unwrap());
    let mut of_webhook = TailReader::open(&hands.client, &webhook).await;
    let mut of_type =
        TailReader::open(&hands.client, &format!("{TAIL}?event_type=invoice.*&status=failed"))
            .await;
    hands.publish("order.made", json!({})).await;
    hands.publish("invoice.paid", json!({})).await;
    for event_type in ["order.made", "invoice.paid"] {
        let seen = of_webhook.delivery().await;
        assert_eq!((&seen["event_type"], &seen["webhook_id"]), (&json!(event_type), &one["id"]));
        assert_eq!(seen["status"], "delivered");
    }
    let seen = of_type.delivery().await;
    assert_eq!(brief(&seen), ("failed", "failed", 1));
    assert_eq!(seen["event_type"], "invoice.paid");
    for invalid in ["event_type=a..b", "webhook_id=evt_1", "status=new", "limit=3"] {
        let path = format!("{TAIL}?{invalid}");
        assert_eq!(hands.client.get(&path).await.status, 422, "{invalid}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_the_key_and_with_the_gateway() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    let path = "/v1/tenants/m2/api-keys";
    let made = stage.operator().post(path, &json!({"scopes": ["read"]})).await.is(201).json();
    let client = stage.anyone().with("x-api-key", made["key"].as_str().unwrap());
    let mut tail = TailReader::open(&client, TAIL).await;
    let mut lasting = TailReader::open(&stage.operator(), TAIL).await;
    let key = format!("{path}/{}", made["id"].as_str().unwrap());
    stage.operator().delete(&key).await.is(204);
    let end = tail.next().await.unwrap();
    assert_eq!((end.name.as_str(), &end.data["code"]), ("end", &json!("invalid_credentials")));
    assert!(tail.next().await.is_none(), "the answer is complete");
    stage.api.tails.close();
    let end = lasting.next().await.unwrap();
    assert_eq!((end.name.as_str(), &end.data["code"]), ("end", &json!("unavailable")));
    assert!(lasting.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_eight_at_most() {
    let stage = Stage::new().await;
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(TailReader::open(&own.client, TAIL).await);
    }
    // The operator has its own tails, even if it acts for that tenant.
    open.push(TailReader::open(&stage.operator().with("x-tenant", "own"), TAIL).await);
    open.push(TailReader::open(&stage.operator(), TAIL).await);
    let refused = own.client.get(TAIL).await.refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    open.push(TailReader::open(&other.client, TAIL).await);
    open.swap_remove(0);
    crate::stage::eventually(|| async {
        let status = own.client.send("HEAD", TAIL, &[], None).await.status;
        (status == 200).then_some(())
    })
    .await;
}

/// Many tails of others, read or not, leave a tenant its own.
#[tokio::test(flavor = "multi_thread")]
async fn many_tails_keep_no_other_out() {
    let stage = Stage::new().await;
    let mut open = Vec::new();
    for number in 0..40 {
        let hands = stage.tenant(&format!("t{number}")).await;
        for _ in 0..8 {
            open.push(TailReader::open(&hands.client, TAIL).await);
        }
    }
    let other = stage.tenant("other").await;
    let mut own = TailReader::open(&other.client, TAIL).await;
    let (_good, url) = receiver(200).await;
    other.webhook(&url).await;
    other.publish("a.b", json!({})).await;
    assert!(own.delivery().await["status"].is_string());
    assert_eq!(open.len(), 320);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tail_that_could_never_show_anything_is_refused() {
    let stage = Stage::new().await;
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    let (_receiver, url) = receiver(200).await;
    let foreign = other.webhook(&url).await;
    let foreign = foreign["id"].as_str().unwrap();
    own.client.get(&format!("{TAIL}?lane=dispatch")).await.refused(403, "operator_only");
    own.client.get(&format!("{TAIL}?webhook_id={foreign}")).await.refused(404, "not_found");
    own.client.get(&format!("{TAIL}?webhook_id={foreign}&lane=email")).await.is(422);
    let nobody = "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    stage.operator().get(&format!("{TAIL}?webhook_id={nobody}")).await.refused(404, "not_found");
}
