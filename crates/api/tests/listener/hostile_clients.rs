//! The listener with hostile clients: slow, many, or lying.

use std::time::{Duration, Instant};

use gancho_api::{IngestSettings, ListenSettings, Settings};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http::{exchange, read, read_all},
    stage::{ADMIN, Choices, Stage, eventually},
};

const SHORT: Duration = Duration::from_millis(300);
/// Within this time, everything with a short deadline has ended, even on a busy machine.
const SOON: Duration = Duration::from_secs(8);

pub fn hasty() -> Choices {
    Choices {
        settings: Settings { body_deadline: SHORT, body_bytes: 1_000, ..Settings::default() },
        listen: ListenSettings {
            head_deadline: SHORT,
            idle_deadline: SHORT,
            ..ListenSettings::default()
        },
        ingest: IngestSettings { body_deadline: SHORT, ..IngestSettings::default() },
        ..Choices::default()
    }
}

pub async fn closes_soon(stream: &mut TcpStream) -> Vec<u8> {
    let began = Instant::now();
    let answer = read_all(stream).await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_is_let_go() {
    let stage = Stage::with(hasty()).await;
    for begin in ["", "G", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: loc"] {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        closes_soon(&mut stream).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_drips_a_head_is_let_go() {
    let stage = Stage::with(hasty()).await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let began = Instant::now();
    // Each byte arrives in time; the head does not.
    for byte in b"GET /v1/tenants HTTP/1.1\r\nhost: localhost\r\nx-filler: ".iter().cycle() {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
        // Sleeps as a slow client does.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(began.elapsed() < SOON);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_nothing_more_to_say_is_let_go() {
    let stage = Stage::with(hasty()).await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let answer = closes_soon(&mut stream).await;
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_come() {
    let patient = ListenSettings::default();
    let stage = Stage::with(Choices { listen: patient, ..hasty() }).await;
    let head = format!(
        "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADMIN}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"slug\""
    );
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = closes_soon(&mut stream).await;
    assert_eq!(read(&answer).map(|reply| reply.code()), Some("slow_body".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_to_the_limit() {
    let stage = Stage::with(hasty()).await;
    let operator = stage.operator();
    let body = |length: usize| format!("{:length$}", r#"{"slug":"a"}"#).into_bytes();
    let json = [("content-type", "application/json")];
    operator.send("POST", "/v1/tenants", &json, Some(&body(1_000))).await.is(201);
    operator.send("POST", "/v1/tenants", &json, Some(&body(1_001))).await.refused(413, "too_large");
    let head = format!(
        "POST /v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ADMIN}\r\n\
         content-type: application/json\r\nconnection: close\r\n"
    );
    // A body that is announced as too long is refused before it is sent.
    let announced = format!("{head}content-length: 1001\r\n\r\n");
    assert_eq!(read(&exchange(stage.address, announced.as_bytes()).await).unwrap().status, 413);
    let expecting = format!("{head}content-length: 1001\r\nexpect: 100-continue\r\n\r\n");
    assert_eq!(read(&exchange(stage.address, expecting.as_bytes()).await).unwrap().status, 413);
    // Without an announcement, as soon as it is too long.
    let mut chunks = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..30 {
        chunks.extend_from_slice(b"64\r\n");
        chunks.extend_from_slice(&[b' '; 100]);
        chunks.extend_from_slice(b"\r\n");
    }
    assert_eq!(read(&exchange(stage.address, &chunks).await).unwrap().status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_known_sends_nothing() {
    let stage = Stage::new().await;
    let head = "POST /v1/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 500000\r\nconnection: close\r\n\r\n";
    let reply = read(&exchange(stage.address, head.as_bytes()).await).unwrap();
    reply.refused(401, "unauthenticated");
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_too_long() {
    let stage = Stage::new().await;
    let long =
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "a".repeat(70_000));
    let many = "x: y\r\n".repeat(150);
    let many = format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{many}\r\n");
    for request in [long, many] {
        let answer = exchange(stage.address, request.as_bytes()).await;
        let status = read(&answer).map(|reply| reply.status);
        assert!(matches!(status, Some(400 | 431) | None), "{status:?}");
    }
    stage.operator().get("/v1/tenants").await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_not_this_machines() {
    let stage = Stage::new().await;
    let with = |host: &str| {
        format!(
            "GET /v1/tenants HTTP/1.1\r\n{host}authorization: Bearer {ADMIN}\r\nconnection: close\r\n\r\n"
        )
    };
    for (host, status) in [
        ("host: localhost\r\n", 200),
        ("host: 127.0.0.1:3000\r\n", 200),
        ("host: [::1]\r\n", 200),
        ("host: evil.example\r\n", 421),
        ("host: localhost.evil.example\r\n", 421),
        ("", 421),
        ("host: localhost\r\nhost: evil.example\r\n", 400),
    ] {
        let answer = exchange(stage.address, with(host).as_bytes()).await;
        assert_eq!(read(&answer).unwrap().status, status, "{host}");
    }
    // Pages and probes are no exception.
    for path in ["/docs/", "/openapi.json", "/healthz", "/metrics", "/nothing"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
        assert_eq!(read(&exchange(stage.address, request.as_bytes()).await).unwrap().status, 421);
    }
}

/// A connection has one response at a time: with HTTP/2 it could have hundreds that nobody reads.
#[tokio::test(flavor = "multi_thread")]
async fn http2_is_refused() {
    let stage = Stage::new().await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut said = Vec::new();
    let read = stream.read_to_end(&mut said);
    let _ = tokio::time::timeout(SOON, read).await.unwrap();
    let said = String::from_utf8_lossy(&said);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_lets_go_of_who_is_idle_and_takes_no_more() {
    let stage = Stage::new().await;
    let mut idle = TcpStream::connect(stage.address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).await.unwrap();
    stage.stop.cancel();
    closes_soon(&mut idle).await;
    eventually(|| async { TcpStream::connect(stage.address).await.is_err().then_some(()) }).await;
}
