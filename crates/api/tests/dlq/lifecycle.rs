//! Dead letters: listed, counted, exported, replayed and removed.

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::stage::{Stage, dead_letter, eventually, ids, receiver};

async fn life(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_bad, url) = receiver(500).await;
    let (webhook, dead) = dead_letter(&hands, &url).await;
    dead_letter(&other, &url).await;
    let row = hands.client.get("/v1/dlq").await.is(200).json()["data"][0].clone();
    for (name, value) in [
        ("id", &dead["id"]),
        ("lane", &json!("webhook")),
        ("tenant_id", &json!(hands.id)),
        ("subject_id", &dead["event_id"]),
        ("target_id", &webhook["id"]),
        ("original_data", &json!({"n": 1})),
        ("failed_attempts", &json!(1)),
        ("last_failure_code", &json!("HTTP_500")),
        ("last_provider_code", &json!("500")),
    ] {
        assert_eq!(&row[name], value, "{name}");
    }
    for time in ["last_failure_timestamp", "enqueued_at", "moved_to_dlq_at", "expires_at"] {
        assert!(row[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
    assert!(!row["last_failure_reason"].as_str().unwrap().is_empty());
    let one = format!("/v1/dlq/{}", dead["id"].as_str().unwrap());
    assert_eq!(hands.client.get(&one).await.is(200).json(), row);
    counted(stage, &hands.id).await;

    let export = hands.client.get("/v1/dlq/export").await.is(200);
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> =
        export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, [row]);
    assert_eq!(stage.operator().get("/v1/dlq/export").await.text().lines().count(), 2);

    hands.client.delete(&one).await.is(204);
    hands.client.get(&one).await.refused(404, "not_found");
    let delivery = format!("/v1/deliveries/{}", dead["id"].as_str().unwrap());
    assert_eq!(hands.client.get(&delivery).await.is(200).json()["status"], "failed");
    purged(stage).await;
}

async fn counted(stage: &Stage, own: &str) {
    let all = stage.operator().get("/v1/dlq/stats").await.is(200).json();
    assert_eq!((&all["total"], &all["by_lane"]), (&json!(2), &json!({"webhook": 2})));
    assert_eq!(all["by_code"], json!({"HTTP_500": 2}));
    assert_eq!(all["by_tenant"][own], 1);
    let one = stage.operator().get("/v1/dlq/stats?tenant=m2&code=HTTP_500").await.is(200).json();
    assert_eq!(one["total"], 1);
    for query in ["code=TIMEOUT", "lane=email", "since=2999-01-01T00:00:00Z"] {
        let none = stage.operator().get(&format!("/v1/dlq?{query}")).await.is(200);
        assert!(ids(&none).is_empty(), "{query}");
    }
    stage.operator().get("/v1/dlq?tenant=nobody").await.refused(404, "unknown_tenant");
}

async fn purged(stage: &Stage) {
    let operator = stage.operator();
    operator.delete("/v1/dlq").await.refused(422, "missing_field");
    let none = operator.delete("/v1/dlq?code=TIMEOUT").await.is(200).json();
    assert_eq!(none, json!({"purged": 0, "has_more": false}));
    let all = operator.delete("/v1/dlq?all=true").await.is(200).json();
    assert_eq!(all["purged"], 1);
    assert_eq!(operator.get("/v1/dlq/stats").await.is(200).json()["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_counted_exported_and_removed() {
    life(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    life(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replayed_one_by_one_and_by_filter() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_bad, bad) = receiver(500).await;
    let (_good, good) = receiver(200).await;
    let (webhook, dead) = dead_letter(&hands, &bad).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    hands.client.patch(&path, &json!({"url": good})).await.is(200);
    let replay = format!("/v1/dlq/{}/replay", dead["id"].as_str().unwrap());
    let accepted = hands.client.call("POST", &replay, None).await.is(202).json();
    assert_eq!(accepted["id"], dead["id"]);
    let is_empty = || async {
        let list = hands.client.get("/v1/dlq").await.is(200);
        ids(&list).is_empty().then_some(())
    };
    eventually(is_empty).await;
    // By filter: three more die, then the webhook recovers.
    hands.client.patch(&path, &json!({"url": bad})).await.is(200);
    for n in 0..3 {
        let event = hands.publish("dead.letter", json!(n)).await;
        hands.delivery(&event, "failed").await;
    }
    hands.client.patch(&path, &json!({"url": good})).await.is(200);
    let counted =
        hands.client.post("/v1/dlq/replay", &json!({"dry_run": true})).await.is(202).json();
    assert_eq!((&counted["total"], &counted["dry_run"]), (&json!(3), &json!(true)));
    let none = hands.client.call("POST", "/v1/dlq/replay?code=TIMEOUT", None).await.is(202).json();
    assert_eq!(none["of"], "dead_letters");
    let both = hands.client.post("/v1/dlq/replay?code=TIMEOUT", &json!({"code": "X"})).await;
    both.refused(422, "invalid_field");
    let job =
        hands.client.post("/v1/dlq/replay", &json!({"code": "HTTP_500"})).await.is(202).json();
    eventually(is_empty).await;
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(hands.client.get(&path).await.is(200).json()).filter(|job| job["state"] == "done")
    });
    assert_eq!(done.await["done"], 3);
}

/// faults.md 5: a page is bounded in bytes, and so are exports that nobody reads to their end.
async fn large_letters(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_bad, url) = receiver(500).await;
    for _ in 0..24 {
        let draft = json!({"url": url, "events": ["large"], "retry": {"schedule": []}});
        hands.webhook_with(draft).await;
    }
    let text = "x".repeat(900_000);
    hands.publish("large", json!(text)).await;
    let total = async || hands.client.get("/v1/dlq/stats").await.is(200).json()["total"].clone();
    eventually(|| async { (total().await == 24).then_some(()) }).await;
    let (mut found, mut path) = (Vec::new(), "/v1/dlq?limit=200".to_owned());
    loop {
        let page = hands.client.get(&path).await.is(200);
        assert!(page.text().len() < 5 << 20, "{} bytes on a page", page.text().len());
        found.extend(ids(&page));
        let Some(cursor) = page.json()["next_cursor"].as_str().map(str::to_owned) else { break };
        path = format!("/v1/dlq?limit=200&cursor={cursor}");
    }
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 24, "each once");

    // More than the sockets hold: these exports stand still.
    let key = &hands.client.headers[0].1;
    let head =
        format!("GET /v1/dlq/export HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await.unwrap();
        assert_eq!(&begin, b"HTTP/1.1 200");
        open.push(stream);
    }
    let refused = hands.client.get("/v1/dlq/export").await.refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    other.client.get("/v1/dlq/export").await.is(200);
    drop(open);
    let export = eventually(|| async {
        Some(hands.client.get("/v1/dlq/export").await).filter(|reply| reply.status == 200)
    });
    assert_eq!(export.await.text().lines().count(), 24);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages() {
    large_letters(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages_on_postgres() {
    large_letters(&Stage::postgres().await).await;
}
