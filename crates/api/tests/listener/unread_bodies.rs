//! Responses to requests that are not read to their end: the caller gets them, and sees that the connection
//! is closed.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http::{read, read_all},
    ingest::receive::acme,
    stage::{ADMIN, Stage, receiver},
};

/// faults.md B12: the caller sends everything before it reads the response, as simple clients do.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_is_answered_and_said_to_be_closed() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    for (address, path) in [(stage.address, "/v1/events"), (stage.ingest, "/webhooks/acme")] {
        let tenant = stage.tenant(&format!("t{}", path.len())).await;
        let key = &tenant.client.headers[0].1;
        for _ in 0..10 {
            let length = 4 << 20;
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&vec![b' '; length]).await.expect("all of it can be sent");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.expect("it is not reset");
            let reply = read(&answer).unwrap();
            assert_eq!(reply.header("connection"), Some("close"), "{path}");
            reply.refused(413, "too_large");
        }
    }
}

/// A request that was refused unread, but arrived completely, does not cost the connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_short_body_that_nobody_reads_costs_nothing() {
    let stage = Stage::new().await;
    let body = json!({"slug": "acme"}).to_string();
    let request = |token: &str, connection: &str| {
        format!(
            "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: {connection}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(request("a-token-of-nobody", "keep-alive").as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"}") {
        assert!(stream.read_buf(&mut seen).await.unwrap() > 0, "it is kept open");
    }
    let refused = read(&seen).unwrap();
    assert_eq!(refused.header("connection"), None);
    refused.refused(401, "invalid_credentials");
    stream.write_all(request(ADMIN, "close").as_bytes()).await.unwrap();
    read(&read_all(&mut stream).await).unwrap().is(201);
}

/// A client that waits for permission to send gets the response, and sends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_waits_for_100_continue_is_refused() {
    let stage = Stage::new().await;
    let head = "POST /v1/events HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n\
                content-type: application/json\r\ncontent-length: 100\r\n\r\n";
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let reply = read(&read_all(&mut stream).await).unwrap();
    assert_eq!(reply.header("connection"), Some("close"));
    reply.refused(401, "unauthenticated");
}
