//! Pages and exports of dead letters are bounded in bytes.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::stage::{Stage, eventually, ids, receiver};

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
