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

    // More than the sockets hold, so these exports stand still.
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(unread(stage, &hands, "/v1/dlq/export").await);
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

/// Starts a response that stands still, because nobody reads it.
async fn unread(stage: &Stage, hands: &Hands, path: &str) -> TcpStream {
    let key = &hands.client.headers[0].1;
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {key}\r\n\r\n"
    );
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    // A response that is dropped to make room for others may end before it begins.
    if stream.read_exact(&mut begin).await.is_ok() {
        assert_eq!(&begin, b"HTTP/1.1 200");
    }
    stream
}

/// Returns the number of bytes of a response up to its end, and whether it was complete.
async fn rest_of(mut stream: TcpStream) -> (usize, bool) {
    let mut text = Vec::new();
    let read = stream.read_to_end(&mut text).await;
    let Some(end) = text.windows(4).position(|at| at == b"\r\n\r\n") else { return (0, false) };
    let head = end + 4;
    let fields = String::from_utf8_lossy(&text[..head]).to_lowercase();
    let body = text.len() - head;
    let is_whole = match fields.split("content-length: ").nth(1) {
        Some(length) => length.lines().next().unwrap().parse() == Ok(body),
        None => text.ends_with(b"\r\n0\r\n\r\n"),
    };
    (body, read.is_ok() && is_whole)
}

/// Creates tenants with twelve dead letters of almost 1 MB each.
async fn tenants_with_large_letters(stage: &Stage, count: usize) -> Vec<Hands> {
    let (_bad, url) = receiver(500).await;
    let text = "x".repeat(900_000);
    let mut tenants = Vec::new();
    for number in 0..count {
        let hands = stage.tenant(&format!("t{number}")).await;
        for _ in 0..12 {
            let draft = json!({"url": url, "events": ["large"], "retry": {"schedule": []}});
            hands.webhook_with(draft).await;
        }
        hands.publish("large", json!(text)).await;
        tenants.push(hands);
    }
    let total =
        async || stage.operator().get("/v1/dlq/stats").await.is(200).json()["total"].clone();
    eventually(|| async { (total().await == count * 12).then_some(()) }).await;
    tenants
}

/// Ten tenants have eight exports each that nobody reads, and open them again and again. Another tenant and
/// the operator get theirs nevertheless, and one that was read slowly from the start is completed.
#[tokio::test(flavor = "multi_thread")]
async fn unread_exports_keep_nobody_out() {
    let stage = Stage::new().await;
    let mut tenants = tenants_with_large_letters(&stage, 12).await;
    let [other, slow] = [tenants.pop().unwrap(), tenants.pop().unwrap()];
    let reading = unread(&stage, &slow, "/v1/dlq/export").await;
    for _ in 0..2 {
        let mut open = Vec::new();
        for hands in &tenants {
            for _ in 0..8 {
                open.push(unread(&stage, hands, "/v1/dlq/export").await);
            }
        }
        let export = other.client.get("/v1/dlq/export").await.is(200);
        assert_eq!(export.text().lines().count(), 12);
    }
    let (bytes, is_whole) = rest_of(reading).await;
    assert!(is_whole && bytes > 12 * 900_000, "{bytes} bytes");
    let all = stage.operator().get("/v1/dlq/export").await.is(200);
    assert_eq!(all.text().lines().count(), 144);
    // Also if it acts for a tenant that has used up its share.
    let acting = stage.operator().with("x-tenant", "t0").get("/v1/dlq/export").await.is(200);
    assert_eq!(acting.text().lines().count(), 12);
}

/// A tenant requests pages on many connections and reads none: they take a bounded amount of memory, and
/// others get complete pages.
#[tokio::test(flavor = "multi_thread")]
async fn unread_pages_take_a_bounded_amount_of_memory() {
    let stage = Stage::new().await;
    let tenants = tenants_with_large_letters(&stage, 2).await;
    let page = unread(&stage, &tenants[1], "/v1/dlq").await;
    let mut open = Vec::new();
    for _ in 0..120 {
        open.push(unread(&stage, &tenants[0], "/v1/dlq").await);
    }
    let (bytes, is_whole) = rest_of(page).await;
    assert!(is_whole && bytes > 900_000, "{bytes} bytes of another tenant's page");
    let mut whole = 0;
    for stream in open {
        whole += usize::from(rest_of(stream).await.1);
    }
    assert!((60..=90).contains(&whole), "{whole} pages of 900 kB were held");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages() {
    large_letters(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_letters_come_in_small_pages_on_postgres() {
    large_letters(&Stage::postgres().await).await;
}
