//! Pages and exports of dead letters are bounded in bytes.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::stage::{Hands, Stage, eventually, ids, receiver};

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
    let open = [unread_export(stage, &hands).await, unread_export(stage, &hands).await];
    let refused = hands.client.get("/v1/dlq/export").await.refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    other.client.get("/v1/dlq/export").await.is(200);
    drop(open);
    let export = eventually(|| async {
        Some(hands.client.get("/v1/dlq/export").await).filter(|reply| reply.status == 200)
    });
    assert_eq!(export.await.text().lines().count(), 24);
}

/// An export that stands still, since nobody reads it.
async fn unread_export(stage: &Stage, hands: &Hands) -> TcpStream {
    let key = &hands.client.headers[0].1;
    let head =
        format!("GET /v1/dlq/export HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n");
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

/// Four tenants with two exports each take all there are; another one, and the operator, get theirs all the same.
#[tokio::test(flavor = "multi_thread")]
async fn unread_exports_keep_nobody_out() {
    let stage = Stage::new().await;
    let (_bad, url) = receiver(500).await;
    let text = "x".repeat(900_000);
    let (mut tenants, mut open) = (Vec::new(), Vec::new());
    for slug in ["a", "b", "c", "d", "e"] {
        let hands = stage.tenant(slug).await;
        for _ in 0..12 {
            let draft = json!({"url": url, "events": ["large"], "retry": {"schedule": []}});
            hands.webhook_with(draft).await;
        }
        hands.publish("large", json!(text)).await;
        tenants.push(hands);
    }
    let total =
        async || stage.operator().get("/v1/dlq/stats").await.is(200).json()["total"].clone();
    eventually(|| async { (total().await == 60).then_some(()) }).await;
    let other = tenants.pop().unwrap();
    for hands in &tenants {
        open.push(unread_export(&stage, hands).await);
        open.push(unread_export(&stage, hands).await);
    }
    let export = other.client.get("/v1/dlq/export").await.is(200);
    assert_eq!(export.text().lines().count(), 12);
    let all = stage.operator().get("/v1/dlq/export").await.is(200);
    assert_eq!(all.text().lines().count(), 60);
    // Also when it acts for a tenant that has taken all it may have.
    let acting = stage.operator().with("x-tenant", "a").get("/v1/dlq/export").await.is(200);
    assert_eq!(acting.text().lines().count(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages() {
    large_letters(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages_on_postgres() {
    large_letters(&Stage::postgres().await).await;
}
