//! More connections and bodies than there is room for: which are closed, and which are served nevertheless.

use std::{io::ErrorKind, net::Ipv4Addr, time::Duration};

use gancho_api::{IngestSettings, ListenSettings, Settings, TrustedProxies};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::{
    http::{Client, exchange, read, read_all},
    ingest::receive::{acme, post, source},
    stage::{Choices, Hands, Stage, eventually, receiver},
};

/// A connection from 127.0.0.`number`.
async fn from(number: u8, client: &Client) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, number), 0).into()).unwrap();
    socket.connect(client.address).await.unwrap()
}

/// Trusts no proxy, so that every address has its share.
fn direct(listen: ListenSettings) -> ListenSettings {
    ListenSettings { trusted_proxies: TrustedProxies::new([]), ..listen }
}

async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0];
    let read = tokio::time::timeout(Duration::from_millis(1), stream.read(&mut byte)).await;
    matches!(read, Ok(Ok(0) | Err(_)))
}

/// Starts a body of full size, and sends this many bytes of it.
async fn begin(stream: &mut TcpStream, partner: &str, bytes: usize) {
    let head = format!(
        "POST /webhooks/{partner} HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: 262144\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; bytes]).await.unwrap();
}

/// faults.md 6: slow unknown senders, from one address or many, with or without a partner's name, make room
/// for each other; a sender with a valid signature is never refused.
#[tokio::test(flavor = "multi_thread")]
async fn slow_senders_take_room_from_themselves_alone() {
    for (addresses, bytes) in [(1, 1), (1, 60_000), (50, 200_000)] {
        let ingest = IngestSettings { body_bytes: 2 << 20, ..IngestSettings::default() };
        let listen = direct(ListenSettings::default());
        let stage = Stage::with(Choices { listen, ingest, ..Choices::default() }).await;
        let (_core, url) = receiver(200).await;
        acme(&stage, &url).await;
        let mut slow = Vec::new();
        for number in 0..100_u8 {
            let mut stream = from(2 + number % addresses, &stage.partner()).await;
            let partner = if number % 2 == 0 { "acme" } else { "nobody" };
            begin(&mut stream, partner, bytes).await;
            slow.push(stream);
            let body = format!("{{\"n\":{number}}}");
            post(&stage.partner(), "/webhooks/acme", body.as_bytes()).await.is(204);
        }
        // A body of the maximum size finds room as well.
        let large = format!("\"{}\"", "a".repeat(262_142));
        post(&stage.partner(), "/webhooks/acme", large.as_bytes()).await.is(204);
        // A disconnected client gets the reason: it was too slow, not that the gateway is full.
        for stream in &mut slow {
            let answer = read_all(stream).await;
            let reply = read(&answer).unwrap_or_else(|| panic!("{answer:?}"));
            reply.refused(408, "slow_body");
        }
    }
}

/// faults.md 6: a partner that does not exist is answered after its body, like one that does.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_a_partner_cannot_be_told_by_when_a_body_is_refused() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let mut replies = Vec::new();
    for partner in ["acme", "nobody"] {
        let mut stream = TcpStream::connect(stage.ingest).await.unwrap();
        begin(&mut stream, partner, 200_000).await;
        // Several later webhooks are answered first.
        for _ in 0..5 {
            post(&stage.partner(), "/webhooks/acme", b"{}").await.is(204);
        }
        let early = stream.try_read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(early, Err(ErrorKind::WouldBlock), "{partner} was answered before all was sent");
        stream.write_all(&vec![b' '; 62_144]).await.unwrap();
        replies.push(read(&read_all(&mut stream).await).unwrap());
    }
    assert_eq!(replies[0].without_request_id(), replies[1].without_request_id());
    assert_eq!(replies[0].status, 403);
}

/// faults.md 6, 32: idle connections make room for new ones, on both listeners.
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_make_room() {
    let listen = ListenSettings { connections: 20, ..ListenSettings::default() };
    let stage = Stage::with(Choices { listen, ..Choices::default() }).await;
    let mut idle = Vec::new();
    for _ in 0..60 {
        idle.push(TcpStream::connect(stage.address).await.unwrap());
        idle.push(TcpStream::connect(stage.ingest).await.unwrap());
    }
    for _ in 0..5 {
        stage.operator().get("/v1/tenants").await.is(200);
        stage.partner().get("/webhooks/_health").await.is(200);
    }
    eventually(|| async { (stage.api.meter.connections() <= 21).then_some(()) }).await;
    assert_eq!(stage.api.meter.shed(), 0);
}

/// Sends a batch, which waits if the tenant's share of batches is used up.
async fn waiting_batch(hands: &Hands) -> TcpStream {
    let body = json!({"events": [{"type": "a.b", "data": {}}]}).to_string();
    let head = format!(
        "POST /v1/events/batch HTTP/1.1\r\nhost: localhost\r\nx-api-key: {}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        hands.client.headers[0].1,
        body.len()
    );
    let mut stream = TcpStream::connect(hands.client.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// A tenant whose calls wait for its own share does not hold all connections, although none of them can be
/// closed.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_tenant_that_wait_keep_nobody_out() {
    let listen = ListenSettings { connections: 20, ..ListenSettings::default() };
    let stage = Stage::with(Choices { listen, ..Choices::default() }).await;
    let [slow, other] = [stage.tenant("slow").await, stage.tenant("other").await];
    let turns = stage.api.batches.acquire(slow.id.parse().unwrap(), usize::MAX).await;
    let mut open = Vec::new();
    for _ in 0..60 {
        open.push(waiting_batch(&slow).await);
        other.publish("a.b", json!({})).await;
    }
    drop(turns);
    let (mut accepted, mut refused) = (0, 0);
    for stream in &mut open {
        let Some(reply) = read(&read_all(stream).await) else { continue };
        if reply.status == 202 {
            accepted += 1;
        } else {
            assert_eq!(reply.header("retry-after"), Some("1"));
            reply.refused(429, "rate_limited");
            refused += 1;
        }
    }
    assert!((8..=10).contains(&accepted) && refused >= 40, "{accepted} {refused}");
    slow.publish("a.b", json!({})).await;
    assert_eq!(stage.api.meter.shed(), 0);
}

/// The webhooks of a partner that sends very many large ones at once are refused before they fill the memory, and
/// those of others are not.
#[tokio::test(flavor = "multi_thread")]
async fn a_partner_with_many_large_webhooks_leaves_memory_to_others() {
    let ingest = IngestSettings { body_bytes: 2 << 20, ..IngestSettings::default() };
    let stage = Stage::with(Choices { ingest, ..Choices::default() }).await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    source(&stage, "other", &url).await;
    let partner = stage.partner();
    let large = |number: usize| format!("{{\"n\":{number},\"text\":\"{}\"}}", "a".repeat(250_000));
    let begun = std::time::Instant::now();
    let flood = (0..32).map(|number| {
        let (partner, large) = (partner.clone(), &large);
        async move {
            let mut refused = 0;
            for round in 0..1_000 {
                if begun.elapsed() > Duration::from_secs(4) {
                    break;
                }
                let body = large(1_000 * number + round);
                let reply = post(&partner, "/webhooks/acme", body.as_bytes()).await;
                if reply.status != 204 {
                    assert!(matches!(reply.status, 408 | 503), "{}", reply.text());
                    assert_eq!(reply.header("retry-after"), Some("1"));
                    refused += 1;
                }
            }
            refused
        }
    });
    let others = async {
        let mut answered = 0_usize;
        while begun.elapsed() < Duration::from_secs(4) {
            let body = format!("{{\"n\":{answered}}}");
            post(&partner, "/webhooks/other", body.as_bytes()).await.is(204);
            answered += 1;
        }
        answered
    };
    let (refused, answered) = tokio::join!(futures_util::future::join_all(flood), others);
    assert!(refused.iter().sum::<i32>() > 0 && answered > 0, "{refused:?} {answered}");
}

/// A new connection is refused only if all others are being answered.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_being_answered_is_not_sent_away() {
    let listen = ListenSettings { connections: 3, ..ListenSettings::default() };
    let stage = Stage::with(Choices { listen, ..Choices::default() }).await;
    let (mut busy, mut turns) = (Vec::new(), Vec::new());
    for slug in ["acme", "bolt", "cord"] {
        let hands = stage.tenant(slug).await;
        // The tenant's share of batches is used up, so that further ones wait.
        turns.push(stage.api.batches.acquire(hands.id.parse().unwrap(), usize::MAX).await);
        busy.push(hands);
    }
    let mut busy: Vec<_> = futures_util::future::join_all(busy.iter().map(waiting_batch)).await;
    // Sleeps until they wait for their turn: nothing tells from outside that they do.
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Each has its own slot, and none is closed.
    let shed = || async {
        let answer = exchange(stage.address, b"").await;
        read(&answer)
    };
    let reply = eventually(shed).await;
    assert_eq!(reply.header("retry-after"), Some("1"));
    reply.refused(503, "unavailable");
    assert!(stage.api.meter.shed() >= 1);
    drop(turns);
    for stream in &mut busy {
        let answer = read_all(stream).await;
        assert!(answer.starts_with(b"HTTP/1.1 202"), "{}", String::from_utf8_lossy(&answer));
    }
}

/// faults.md 6, 32: an address that opens too many connections loses its own.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_share_of_the_connections() {
    let few = ListenSettings { connections_per_address: 5, ..ListenSettings::default() };
    let stage = Stage::with(Choices { listen: direct(few), ..Choices::default() }).await;
    let mut other = from(9, &stage.partner()).await;
    let mut crowd = Vec::new();
    for _ in 0..40 {
        crowd.push(from(2, &stage.partner()).await);
    }
    let mut open = 0;
    for _ in 0..200 {
        open = 0;
        for stream in &mut crowd {
            open += usize::from(!is_closed(stream).await);
        }
        if open == 5 {
            break;
        }
    }
    assert_eq!(open, 5);
    assert!(!is_closed(&mut other).await, "another's connection is left alone");
    let mut last = from(2, &stage.partner()).await;
    last.write_all(b"GET /webhooks/_health HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(read(&read_all(&mut last).await).unwrap().json(), json!({"ok": true}));
}

/// A tenant starts bodies on all connections and does not continue: others are served nevertheless, and so is
/// the tenant itself.
#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_of_a_tenant_keep_nobody_out() {
    let listen = direct(ListenSettings { connections: 20, ..ListenSettings::default() });
    let stage = Stage::with(Choices { listen, ..Choices::default() }).await;
    let [slow, other] = [stage.tenant("slow").await, stage.tenant("other").await];
    let key = &slow.client.headers[0].1;
    let mut open = Vec::new();
    for number in 0..60_u8 {
        let mut stream = from(2 + number % 4, &slow.client).await;
        let head = format!(
            "POST /v1/events HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
        other.publish("a.b", json!({})).await;
    }
    slow.publish("a.b", json!({})).await;
    assert_eq!(open.len(), 60);
}

/// Large bodies of a tenant wait for each other, unread; those of another do not wait.
#[tokio::test(flavor = "multi_thread")]
async fn large_bodies_of_a_tenant_wait_for_its_own() {
    let settings = Settings { body_deadline: Duration::from_secs(3), ..Settings::default() };
    let stage = Stage::with(Choices { settings, ..Choices::default() }).await;
    let [slow, other] = [stage.tenant("slow").await, stage.tenant("other").await];
    let key = &slow.client.headers[0].1;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(stage.address).await.unwrap();
        let head = format!(
            "POST /v1/events/batch HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: 8000000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
    }
    // More than sockets hold unread.
    let events: Vec<_> =
        (0..8).map(|_| json!({"type": "a.b", "data": "x".repeat(500_000)})).collect();
    let batch = json!({ "events": events });
    other.client.post("/v1/events/batch", &batch).await.is(202);
    let began = std::time::Instant::now();
    slow.client.post("/v1/events/batch", &batch).await.is(202);
    assert!(began.elapsed() > Duration::from_secs(1), "it waited until the others were given up");
}
