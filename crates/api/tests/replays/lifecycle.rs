//! Replays: counted, run, watched and cancelled.

use serde_json::json;

use crate::stage::{Hands, Stage, eventually, receiver};

async fn to_a_later_webhook(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    for n in 0..5 {
        hands.publish("a.b", json!(n)).await;
    }
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let dry = json!({"of": "events", "to": webhook["id"], "all": true, "dry_run": true});
    let counted = hands.client.post("/v1/replays", &dry).await.is(202).json();
    assert_eq!((&counted["total"], &counted["state"]), (&json!(5), &json!("done")));
    let run = json!({"of": "events", "to": webhook["id"], "all": true, "rate": 1_000});
    let job = hands.client.post("/v1/replays", &run).await.is(202).json();
    assert_eq!(job["tenant_id"], hands.id);
    eventually(|| async { (receiver.requests().len() == 5).then_some(()) }).await;
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(hands.client.get(&path).await.is(200).json()).filter(|job| job["state"] == "done")
    });
    assert_eq!(done.await["done"], 5);
    let outcomes = eventually(|| async {
        let outcomes = hands.client.get(&path).await.is(200).json()["outcomes"].clone();
        (outcomes["waiting"] == 0).then_some(outcomes)
    });
    assert_eq!(outcomes.await, json!({"delivered": 5, "failed": 0, "waiting": 0, "of": 5}));
    outcomes_of_deliveries_that_fail_again(&hands).await;
    let list = hands.client.get("/v1/replays").await.is(200).json();
    assert!(list["data"].as_array().unwrap().iter().any(|one| one["id"] == job["id"]), "{list}");
    assert_eq!(list["data"][0]["outcomes"], json!(null), "counting takes a lookup for each");
    hands.client.call("POST", &format!("{path}/cancel"), None).await.refused(409, "conflict");
}

/// Dead letters whose endpoint still fails, and one that does not.
async fn outcomes_of_deliveries_that_fail_again(hands: &Hands) {
    let [(_failing, failing), (_healed, healed)] = [receiver(500).await, receiver(200).await];
    let draft = json!({"url": failing, "events": ["c.d"], "retry": {"schedule": []}});
    hands.webhook_with(draft.clone()).await;
    let webhook = hands.webhook_with(draft).await;
    for n in 0..3 {
        hands.publish("c.d", json!(n)).await;
    }
    let dead = async |count: usize| {
        eventually(|| async {
            let letters = hands.client.get("/v1/dlq").await.is(200).json();
            (letters["data"].as_array().unwrap().len() == count).then_some(())
        })
        .await;
    };
    dead(6).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    hands.client.patch(&path, &json!({"url": healed})).await.is(200);
    let run = json!({"rate": 1_000});
    let job = hands.client.post("/v1/dlq/replay", &run).await.is(202).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let ended = eventually(|| async {
        let job = hands.client.get(&path).await.is(200).json();
        let is_over = job["state"] == "done" && job["outcomes"]["waiting"] == 0;
        is_over.then_some(job["outcomes"].clone())
    });
    assert_eq!(ended.await, json!({"delivered": 3, "failed": 3, "waiting": 0, "of": 6}));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_reaches_a_webhook_that_came_later() {
    to_a_later_webhook(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    to_a_later_webhook(&Stage::postgres().await).await;
}

/// faults.md B2: the oldest first, and none overtakes another of its subject.
async fn in_order(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = json!({"url": url, "events": ["o.x"], "ordering": "per_subject"});
    let webhook = hands.webhook_with(webhook).await;
    for n in 1..=6 {
        let event = json!({"type": "o.x", "data": n, "subject": "order-1"});
        hands.client.post("/v1/events", &event).await.is(202);
    }
    let arrived = async |count: usize| {
        eventually(|| async { (receiver.requests().len() >= count).then_some(()) }).await;
        let requests = receiver.requests();
        let number = |text: String| {
            let body = text.split_once("\r\n\r\n").unwrap().1.to_owned();
            serde_json::from_str::<serde_json::Value>(&body).unwrap()["data"].as_i64().unwrap()
        };
        requests[count - 6..].iter().map(|one| number(one.text())).collect::<Vec<_>>()
    };
    assert_eq!(arrived(6).await, [1, 2, 3, 4, 5, 6]);
    let filter = json!({"event_type": "o.x"});
    for (round, replay) in [
        json!({"of": "events", "filter": filter, "to": webhook["id"], "rate": 3}),
        json!({"of": "deliveries", "filter": {"webhook_id": webhook["id"]}, "rate": 6}),
    ]
    .iter()
    .enumerate()
    {
        eventually(|| async {
            let pending = hands.client.get("/v1/deliveries?status=delivered").await.is(200).json();
            (pending["data"].as_array().unwrap().len() == 6 * (round + 1)).then_some(())
        })
        .await;
        hands.client.post("/v1/replays", replay).await.is(202);
        assert_eq!(arrived(12 + 6 * round).await, [1, 2, 3, 4, 5, 6], "{replay}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_keeps_its_order() {
    in_order(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_keeps_its_order_on_postgres() {
    in_order(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_midway() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    hands.webhook(&url).await;
    for n in 0..300 {
        hands.publish("a.b", json!(n)).await;
    }
    let job =
        hands.client.post("/v1/replays", &json!({"all": true, "rate": 1})).await.is(202).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let stopped = hands.client.call("POST", &format!("{path}/cancel"), None).await.is(200).json();
    assert_eq!(stopped["state"], "cancelled");
    assert_eq!(hands.client.get(&path).await.is(200).json()["state"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_replayed() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    for (body, status) in [
        (json!({"of": "events", "all": true}), 422),
        // faults.md C4: a filter that got lost does not mean everything.
        (json!({}), 422),
        (json!({"filter": {}}), 422),
        (json!({"all": false}), 422),
        (json!({"rate": 10, "dry_run": true}), 422),
        (json!({"filter": {"event_ids": []}}), 422),
        (json!({"filter": {"event_ids": []}, "all": true}), 422),
        (json!({"filter": {"event_ids": ["x"]}}), 422),
        (json!({"filter": {"status": "lost"}}), 422),
        (json!({"filter": {"webhook_id": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"}}), 404),
        (json!({"all": true, "to": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"}), 404),
        (json!({"all": true, "rate": 0}), 422),
        (
            json!({"filter": {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}}),
            422,
        ),
    ] {
        let reply = hands.client.post("/v1/replays", &body).await;
        assert_eq!(reply.status, status, "{body} {}", reply.text());
    }
    let refused = hands.client.post("/v1/replays", &json!({})).await.refused(422, "missing_field");
    assert_eq!(refused.pointers(), ["/filter"]);
    assert!(refused.text().contains("all"), "it says what to do: {}", refused.text());
}
