//! A request that is hidden in another one is never processed.

use crate::{
    http::{exchange, read},
    stage::{ADMIN, Stage},
};

const HIDDEN: &str =
    "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_ambiguous_framing_are_rejected() {
    let stage = Stage::new().await;
    let inner = r#"{"slug":"smuggled"}"#;
    let hidden = format!(
        "{HIDDEN}authorization: Bearer {ADMIN}\r\ncontent-length: {}\r\n\r\n{inner}",
        inner.len()
    );
    let chunked = format!("0\r\n\r\n{hidden}");
    let length = chunked.len();
    for headers in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}"),
        "transfer-encoding: chunked\r\ntransfer-encoding: identity".to_owned(),
        "transfer-encoding: xchunked\r\ncontent-length: 5".to_owned(),
        "transfer-encoding : chunked".to_owned(),
        "transfer-encoding:\tchunked, chunked".to_owned(),
        "content-length: 5\r\ncontent-length: 6".to_owned(),
        "content-length: 5\r\ncontent-length: 5".to_owned(),
        "content-length: +5".to_owned(),
        "content-length: 5, 5".to_owned(),
        "content-length : 5".to_owned(),
        "x: y\r\n folded: z".to_owned(),
        "x: y\nhost: evil".to_owned(),
        "x: y\rcontent-length: 5".to_owned(),
    ] {
        let request =
            format!("POST /v1/events HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n\r\n{chunked}");
        refused(&stage, &headers, request.as_bytes()).await;
    }
    for line in ["GET / HTTP/1.1\nhost: localhost\r\n\r\n", "GET / HTTP/1.1\r\nhost: localhost\n\n"]
    {
        refused(&stage, line, format!("{line}{hidden}").as_bytes()).await;
    }
    stage.operator().get("/v1/tenants/smuggled").await.refused(404, "unknown_tenant");
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_are_not_plain() {
    let stage = Stage::new().await;
    let hidden = format!(
        "{HIDDEN}authorization: Bearer {ADMIN}\r\ncontent-length: 19\r\n\r\n{{\"slug\":\"smuggled\"}}"
    );
    for body in [
        "5;ext=\"\r\n\"\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFF\r\nhello",
        "5\r\nhelloX0\r\n\r\n",
        "0\r\nx: y\r\n\r\n",
    ] {
        let request = format!(
            "POST /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADMIN}\r\nx-tenant: m2\r\n\
             content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{body}{hidden}"
        );
        stage.operator().post("/v1/tenants", &serde_json::json!({"slug": "m2"})).await;
        refused(&stage, body, request.as_bytes()).await;
    }
    stage.operator().get("/v1/tenants/smuggled").await.refused(404, "unknown_tenant");
}

/// Checks for one response, 400, after which the connection is closed.
async fn refused(stage: &Stage, what: &str, request: &[u8]) {
    let answer = exchange(stage.address, request).await;
    let text = String::from_utf8_lossy(&answer).into_owned();
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{what:?} {text}");
    assert_eq!(read(&answer).map(|reply| reply.status), Some(400), "{what:?} {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_plain_follow_each_other() {
    let stage = Stage::new().await;
    let one =
        format!("GET /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADMIN}\r\n");
    let chunked = format!(
        "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADMIN}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         8\r\n{{\"slug\":\r\n6\r\n\"abc\"}}\r\n0\r\n\r\n"
    );
    let request = format!("{one}\r\n{chunked}{one}connection: close\r\n\r\n");
    let text = String::from_utf8(exchange(stage.address, request.as_bytes()).await).unwrap();
    let statuses: Vec<_> =
        text.match_indices("HTTP/1.1 ").map(|(at, _)| &text[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "201", "200"], "{text}");
}
