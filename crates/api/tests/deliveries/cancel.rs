//! A waiting delivery is given up, or the response says why not: it has ended or is in flight.

use gancho_testkit::receiver::{Receiver, Step};
use serde_json::json;

use crate::stage::{Stage, eventually, ids, receiver};

async fn one_is_given_up(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (bad, url) = receiver(503).await;
    let draft = json!({"url": url, "events": ["*"], "retry": {"schedule": ["1h", "1h"]}});
    let webhook = hands.webhook_with(draft.clone()).await;
    let other = hands.webhook_with(draft).await;
    hands.publish("a.b", json!({})).await;
    let waiting = "/v1/deliveries?status=retrying";
    eventually(|| async { (ids(&hands.client.get(waiting).await).len() == 2).then_some(()) }).await;
    let of_webhook = format!("{waiting}&webhook_id={}", webhook["id"].as_str().unwrap());
    let id = ids(&hands.client.get(&of_webhook).await).remove(0);
    let cancel = format!("/v1/deliveries/{id}/cancel");

    // Another tenant does not find it, and the right to read is not enough.
    let stranger = stage.tenant("m3").await;
    stranger.client.call("POST", &cancel, None).await.refused(404, "not_found");
    let reader = stage.key("m2", &["publish", "read"]).await;
    reader.call("POST", &cancel, None).await.refused(403, "missing_scope");

    let asked = bad.requests().len();
    let row = hands.client.call("POST", &cancel, None).await.is(200).json();
    assert_eq!((&row["id"], &row["status"]), (&json!(id), &json!("failed")), "{row}");
    assert_eq!(row["last_error_code"], "CANCELED");
    assert!(row["next_retry_at"].is_null() && row["waiting_for"].is_null(), "{row}");
    // Only a request for canceled ones finds it among the dead letters.
    assert!(ids(&hands.client.get("/v1/dlq").await).is_empty());
    assert_eq!(ids(&hands.client.get("/v1/dlq?code=CANCELED").await), std::slice::from_ref(&id));
    // The other delivery of the event continues.
    let left = hands.client.get(waiting).await.is(200).json();
    assert_eq!(left["data"].as_array().unwrap().len(), 1);
    assert_eq!(left["data"][0]["webhook_id"], other["id"]);
    assert_eq!(bad.requests().len(), asked);

    let refused = hands.client.call("POST", &cancel, None).await.refused(409, "conflict");
    assert!(refused.text().contains("ended already: it was canceled"), "{}", refused.text());

    // A retry sends it after all.
    let retry = format!("/v1/deliveries/{id}/retry");
    hands.client.call("POST", &retry, None).await.is(202);
    eventually(|| async { (bad.requests().len() > asked).then_some(()) }).await;

    // The operator needs no tenant.
    let id = left["data"][0]["id"].as_str().unwrap();
    let cancel = format!("/v1/deliveries/{id}/cancel");
    stage.operator().call("POST", &cancel, None).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_is_given_up_alone() {
    one_is_given_up(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    one_is_given_up(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_has_ended_or_is_in_flight_stays_as_it_is() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let cancel = |id: &str| {
        let (client, path) = (hands.client.clone(), format!("/v1/deliveries/{id}/cancel"));
        async move { client.call("POST", &path, None).await.refused(409, "conflict").text() }
    };
    for (status, state, text) in
        [(200, "delivered", "it was delivered"), (500, "failed", "it failed")]
    {
        let (_receiver, url) = receiver(status).await;
        let event_type = format!("ends.{state}");
        let draft = json!({"url": url, "events": [event_type], "retry": {"schedule": []}});
        hands.webhook_with(draft).await;
        let event = hands.publish(&event_type, json!({})).await;
        let row = hands.delivery(&event, state).await;
        let refused = cancel(row["id"].as_str().unwrap()).await;
        assert!(refused.contains("has ended already") && refused.contains(text), "{refused}");
    }

    let silent = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let url = format!("http://127.0.0.1:{}/hook", silent.port());
    hands.webhook_with(json!({"url": url, "events": ["a.hangs"]})).await;
    let event = hands.publish("a.hangs", json!({})).await;
    eventually(|| async { (!silent.requests().is_empty()).then_some(()) }).await;
    let path = format!("/v1/deliveries?event_id={}", event["id"].as_str().unwrap());
    let id = ids(&hands.client.get(&path).await).remove(0);
    let refused = cancel(&id).await;
    assert!(refused.contains("is in flight"), "{refused}");
    let row = hands.client.get(&format!("/v1/deliveries/{id}")).await.is(200).json();
    assert_eq!(row["waiting_for"]["reason"], "attempt", "{row}");
}
