//! The ingest listener over TCP: its few paths, what it accepts, and what unknown senders send.

use std::time::Duration;

use aws_lc_rs::hmac;
use data_encoding::BASE64;
use gancho_access::OperatorToken;
use gancho_api::{IngestSettings, Simulator};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http::{Client, Reply, exchange, read},
    listener::hostile_clients::{closes_soon, hasty},
    stage::{Choices, Stage, eventually, receiver},
};

pub const SECRET: &str = "a secret of some length";

/// Creates a source `acme` with a key `k1`, which dispatches to `target`.
pub async fn acme(stage: &Stage, target: &str) {
    source(stage, "acme", target).await;
}

/// Creates a source with a key `k1`, which dispatches to `target`.
pub async fn source(stage: &Stage, partner: &str, target: &str) {
    let draft = json!({"partner": partner, "target_url": target});
    stage.operator().post("/v1/sources", &draft).await.is(201);
    let key = json!({"scheme": "hmac", "algo": "sha256", "secret": SECRET, "encoding": "raw"});
    stage.operator().put(&format!("/v1/sources/{partner}/keys/k1"), &key).await.is(200);
}

pub fn headers(body: &[u8]) -> Vec<(&'static str, String)> {
    #[expect(clippy::disallowed_methods, reason = "a partner signs by a clock of its own")]
    let time = jiff::Timestamp::now().as_second().to_string();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, &[time.as_bytes(), b".", body].concat());
    vec![
        ("content-type", "application/json".to_owned()),
        ("x-timestamp", time),
        ("x-key-id", "k1".to_owned()),
        ("x-signature", format!("hmac-sha256={}", BASE64.encode(tag.as_ref()))),
    ]
}

pub async fn post(client: &Client, path: &str, body: &[u8]) -> Reply {
    let headers = headers(body);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    client.send("POST", path, &headers, Some(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_taken_signed_for_and_dispatched() {
    let stage = Stage::new().await;
    let (core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let reply = post(&stage.partner(), "/webhooks/acme", b"{\"event\":\"ping\"}").await.is(204);
    assert!(reply.body.is_empty() && reply.header("content-length").is_none());
    let sign = reply.header("x-policy-sign").unwrap();
    assert!(sign.starts_with("ed25519=") && sign.contains("; receipt=rcp_"), "{sign}");
    eventually(|| async { (core.requests().len() == 1).then_some(()) }).await;
    let jwks = stage.partner().get("/.well-known/jwks.json").await.is(200).json();
    let kid = sign.rsplit("kid=").next().unwrap();
    assert_eq!(jwks["keys"][0]["kid"], kid);
    let health = stage.partner().get("/webhooks/_health").await.is(200);
    assert_eq!(health.json(), json!({"ok": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_look_like_all_others() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let partner = stage.partner();
    let unknown =
        post(&partner, "/webhooks/nobody", b"{}").await.refused(403, "deny_invalid_access");
    let unsigned =
        partner.post("/webhooks/acme", &json!({})).await.refused(403, "deny_invalid_access");
    assert_eq!(unknown.without_request_id(), unsigned.without_request_id());
    post(&partner, "/webhooks/acme", b"{").await.refused(400, "bad_json");
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    partner
        .send("POST", "/webhooks/acme", &packed, Some(b"{}"))
        .await
        .refused(415, "unsupported_media_type");
    partner
        .send("POST", "/webhooks/acme", &[], Some(b"{}"))
        .await
        .refused(415, "unsupported_media_type");
    let deleted = partner.delete("/webhooks/acme").await.refused(405, "method_not_allowed");
    assert_eq!(deleted.header("allow"), Some("POST, GET"));
    partner.get("/webhooks/acme").await.refused(403, "deny_invalid_access");
}

/// The page that a refusal links to exists on the same listener.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_links_to_a_page_that_exists() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let partner = stage.partner();
    let refusals = [
        partner.post("/webhooks/nobody", &json!({})).await,
        post(&partner, "/webhooks/acme", b"{").await,
        partner.delete("/webhooks/acme").await,
        partner.get("/nothing").await,
        partner.send("POST", "/webhooks/acme", &[], Some(b"{}")).await,
    ];
    for refusal in refusals {
        let problem = refusal.json();
        let page = partner.get(problem["type"].as_str().unwrap()).await.is(200);
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        let text = page.text();
        assert!(text.contains(problem["code"].as_str().unwrap()), "{text}");
        assert!(!text.contains("href"), "what it would lead to is not here: {text}");
    }
    partner.get("/docs/errors/nothing").await.refused(404, "no_route");
    partner.get("/docs/errors/").await.refused(404, "no_route");
}

/// Paths that are not exactly a partner's are not found, and the API is not on this listener.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_answers() {
    let stage = Stage::new().await;
    let partner = stage.partner();
    for path in [
        "/",
        "/webhooks",
        "/webhooks/",
        "/webhooks/.",
        "/webhooks/..",
        "/webhooks/%2e%2e",
        "/webhooks/%61cme",
        "/webhooks/a%2fb",
        "/webhooks/a/b",
        "/webhooks/acme/",
        "/webhooks/;x",
        "/webhooks/ACME",
        "/webhooks/acme.",
        "/webhooks/acme%20",
        "/webhooks/%00",
        "/webhooks/_other",
        "/webhooks/caf%C3%A9",
        "/v1/events",
        "/v1/tenants",
        "/metrics",
        "/healthz",
        "/docs/",
        "//webhooks/acme",
    ] {
        partner.post(path, &json!({})).await.refused(404, "no_route");
    }
    let long = format!("/webhooks/{}", "a".repeat(10_240));
    partner.post(&long, &json!({})).await.refused(404, "no_route");
}

/// Exact to the byte, announced or not; a body that is announced as too long is refused unread.
#[tokio::test(flavor = "multi_thread")]
async fn the_size_of_a_body() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let of = |size: usize| format!("\"{}\"", "a".repeat(size - 2)).into_bytes();
    for (size, status) in [(262_143, 204), (262_144, 204), (262_145, 413)] {
        post(&stage.partner(), "/webhooks/acme", &of(size)).await.is(status);
        let body = of(size);
        let mut request = b"POST /webhooks/acme HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n".to_vec();
        for (name, value) in headers(&body) {
            request.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        request.extend_from_slice(b"\r\n");
        for part in body.chunks(50_000) {
            request.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            request.extend_from_slice(part);
            request.extend_from_slice(b"\r\n");
        }
        request.extend_from_slice(b"0\r\n\r\n");
        let answer = exchange(stage.ingest, &request).await;
        assert_eq!(read(&answer).unwrap().status, status, "{size} in chunks");
    }
    let mut stream = TcpStream::connect(stage.ingest).await.unwrap();
    let head = "POST /webhooks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 262145\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 1_024];
    let read = tokio::time::timeout(Duration::from_secs(5), stream.read(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.1 413"), "before a byte of it came");
}

/// A slow sender is disconnected, and others are answered meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_slow_is_let_go() {
    let stage = Stage::with(hasty()).await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let half = "POST /webhooks/acme HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{\"a";
    let mut slow = Vec::new();
    for begin in ["", "POST /webh", half] {
        for _ in 0..50 {
            let mut stream = TcpStream::connect(stage.ingest).await.unwrap();
            stream.write_all(begin.as_bytes()).await.unwrap();
            slow.push(stream);
        }
    }
    post(&stage.partner(), "/webhooks/acme", b"{}").await.is(204);
    for stream in &mut slow {
        closes_soon(stream).await;
    }
}

/// Only a caller on the same machine may use the simulator.
#[tokio::test(flavor = "multi_thread")]
async fn the_simulator_is_for_this_machine() {
    let simulator = Simulator::Anyone;
    let ingest = IngestSettings { simulator, ..IngestSettings::default() };
    let stage = Stage::with(Choices { ingest, ..Choices::default() }).await;
    let (core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let asked = json!({"partner": "acme"});
    let reply = stage.partner().post("/webhooks/_simulate", &asked).await.is(200).json();
    assert_eq!(reply["answer"]["status"], 204);
    assert!(reply["sent"]["headers"]["X-Signature"].as_str().unwrap().starts_with("hmac-sha256="));
    assert!(!reply.to_string().contains(SECRET));
    eventually(|| async { (core.requests().len() == 1).then_some(()) }).await;
    let own = json!({"partner": "acme", "body": {"own": [1, 2]}});
    let reply = stage.partner().post("/webhooks/_simulate", &own).await.is(200).json();
    assert_eq!(reply["sent"]["body"], json!({"own": [1, 2]}));
    stage
        .partner()
        .post("/webhooks/_simulate", &json!({"partner": "nobody"}))
        .await
        .refused(404, "not_found");
    let odd = json!({"partner": "acme", "bodi": 1});
    stage.partner().post("/webhooks/_simulate", &odd).await.refused(422, "unknown_field");
    // Through a proxy, or under a name that is not this machine's.
    let passed_on = stage.partner().with("x-forwarded-for", "203.0.113.9");
    passed_on.post("/webhooks/_simulate", &asked).await.refused(404, "no_route");
    let body = asked.to_string();
    let named = format!(
        "POST /webhooks/_simulate HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(read(&exchange(stage.ingest, named.as_bytes()).await).unwrap().status, 404);
    for header in ["via", "x-real-ip", "forwarded", "x-forwarded-proto"] {
        let passed_on = stage.partner().with(header, "1.1 proxy");
        passed_on.post("/webhooks/_simulate", &asked).await.refused(404, "no_route");
    }
    let closed = Choices { ingest: IngestSettings::default(), ..Choices::default() };
    let closed = Stage::with(closed).await;
    closed.partner().post("/webhooks/_simulate", &asked).await.refused(404, "no_route");

    // A proxy on this machine may not identify itself, so the operator token is required.
    let token = OperatorToken::new("the-token-of-the-operator").unwrap();
    let simulator = Simulator::Operator(token);
    let ingest = IngestSettings { simulator, ..IngestSettings::default() };
    let guarded = Stage::with(Choices { ingest, ..Choices::default() }).await;
    acme(&guarded, &url).await;
    guarded.partner().post("/webhooks/_simulate", &asked).await.refused(401, "unauthenticated");
    let wrong = guarded.partner().with("authorization", "Bearer another-token-altogether");
    wrong.post("/webhooks/_simulate", &asked).await.refused(404, "no_route");
    let right = guarded.partner().with("authorization", "Bearer the-token-of-the-operator");
    right.post("/webhooks/_simulate", &asked).await.is(200);
}

/// Partners use HTTP/1, because only there does every part have a deadline.
#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_not_spoken_to_partners() {
    let stage = Stage::new().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let answer = exchange(stage.ingest, preface).await;
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
}
