//! Replays keep the order of a subject.

use serde_json::json;

use crate::stage::{Stage, eventually, receiver};

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
