//! A page scans a bounded number of rows and returns where to continue, so that a list is read to its end.
//! (faults.md 3 and 4)

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    http::Client,
    stage::{Choices, Hands, Stage, ids, receiver},
};

/// So few that every list here takes several pages.
const FEW_SCANNED: usize = 40;

fn choices() -> Choices {
    Choices { max_scanned: Some(FEW_SCANNED), ..Choices::default() }
}

/// Returns the ids on all pages, and how many pages were empty and had a next one.
async fn follow(client: &Client, path: &str) -> (Vec<String>, usize) {
    let (mut rows, mut empty, mut cursor) = (Vec::new(), 0, String::new());
    for _ in 0..1_000 {
        let between = if path.contains('?') { '&' } else { '?' };
        let page = client.get(&format!("{path}{between}limit=7{cursor}")).await.is(200);
        let found = ids(&page);
        assert!(found.len() <= 7);
        let is_empty = found.is_empty();
        rows.extend(found);
        let Some(next) = page.json()["next_cursor"].as_str().map(str::to_owned) else {
            let all: BTreeSet<_> = rows.iter().collect();
            assert_eq!(all.len(), rows.len(), "{path}: none twice");
            return (rows, empty);
        };
        cursor = format!("&cursor={next}");
        empty += usize::from(is_empty);
    }
    panic!("{path} never ends");
}

async fn publish(hands: &Hands, count: usize, event_type: &str) -> Vec<String> {
    let event = json!({"type": event_type, "data": {}, "external_id": "same"});
    let batch = json!({"events": vec![event; count]});
    let reply = hands.client.post("/v1/events/batch", &batch).await.is(202).json();
    let each: &Vec<Value> = reply["results"].as_array().unwrap();
    each.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

async fn bounded(stage: &Stage) {
    let hands = stage.tenant("m2").await;
    let (_good, url) = receiver(200).await;
    let mut webhooks = Vec::new();
    for _ in 0..3 {
        webhooks.push(hands.webhook_with(json!({"url": url, "events": ["sent.*"]})).await);
    }
    let webhook = format!("/v1/webhooks/{}/deliveries", webhooks[1]["id"].as_str().unwrap());
    let mut rare = publish(&hands, 2, "sent.seldom").await;
    let mut sent = publish(&hands, 60, "sent.often").await;
    let mut lost = publish(&hands, 60, "lost.often").await;
    sent.extend(rare.iter().cloned());
    lost.extend(sent.iter().cloned());

    let (rows, _) = follow(&hands.client, "/v1/events").await;
    assert_eq!(rows.iter().collect::<BTreeSet<_>>(), lost.iter().collect());
    assert_eq!(follow(&hands.client, "/v1/deliveries").await.0.len(), 3 * 62);
    assert_eq!(follow(&hands.client, &webhook).await.0.len(), 62);
    assert_eq!(follow(&hands.client, "/v1/events?external_id=same").await.0.len(), 122);
    assert_eq!(follow(&hands.client, "/v1/deliveries?external_id=same").await.0.len(), 3 * 62);

    // A row that is far back is found.
    let (rows, empty) = follow(&hands.client, "/v1/events?event_type=sent.seldom").await;
    rare.reverse();
    assert_eq!((rows, empty > 0), (rare, true));
    let (rows, empty) = follow(&hands.client, "/v1/deliveries?event_type=sent.seldom").await;
    assert_eq!((rows.len(), empty > 0), (6, true));
    // A search for what does not exist takes short steps.
    for path in [
        "/v1/events?event_type=nope",
        "/v1/events?event_type=nope&external_id=same",
        "/v1/events?event_type=nope&unmatched=true",
        "/v1/deliveries?event_type=nope",
        "/v1/deliveries?event_type=nope&external_id=same",
        &format!("{webhook}?event_type=nope"),
    ] {
        let (rows, empty) = follow(&hands.client, path).await;
        assert!(rows.is_empty() && empty > 0, "{path}: {empty} pages without a row");
    }
    for path in
        ["/v1/deliveries?lane=email", "/v1/emails", "/v1/dlq", "/v1/deliveries?status=failed"]
    {
        let page = hands.client.get(path).await.is(200).json();
        assert_eq!(page, json!({"data": [], "next_cursor": null}), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_bounded_and_come_to_the_end() {
    bounded(&Stage::with(choices()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    bounded(&Stage::postgres_with(choices()).await).await;
}
