//! HTTP/2, if the peer offers it (H2-01).

use std::sync::Arc;

use gancho_egress::{Client, Settings};
use gancho_testkit::{
    http_request::arrived,
    receiver::{Receiver, Step},
    receiver_h2::{GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS},
    tls::{Authority, Validity},
};
use tokio::task::JoinSet;

use crate::stage::{AMPLE, DEADLINE, NAME, code, https, post, reason, settings, status};

const REFUSED: [u8; 4] = [0, 0, 0, 7];
const CANCEL: [u8; 4] = [0, 0, 0, 8];
const GONE_BEFORE_ALL: [u8; 8] = [0; 8];

async fn serving(
    script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
    change: impl FnOnce(&mut Settings),
) -> (Client, Receiver) {
    let authority = Authority::new().unwrap();
    let config = authority.server(&[NAME], Validity::Now, &["h2", "http/1.1"]).unwrap();
    let receiver = Receiver::tls(config, script).await.unwrap();
    let mut settings = Settings { extra_roots: vec![authority.root()], ..settings() };
    settings.tls_timeout = AMPLE;
    change(&mut settings);
    (Client::new(settings).unwrap(), receiver)
}

fn frame(kind: u8, on_stream: bool, payload: &[u8]) -> Step {
    Step::SendH2 { kind, flags: 0, on_stream, payload: payload.to_vec() }
}

#[tokio::test]
async fn one_connection_carries_many() {
    let script = |_| [Step::ReadH2, Step::AnswerH2(202)].into_iter().cycle().take(200).collect();
    let (client, receiver) = serving(script, |_| {}).await;
    for _ in 0..50 {
        assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 202);
    }
    assert_eq!(receiver.accepted(), 1);
    assert_eq!(receiver.requests()[49].bytes, b"{\"a\":1}");
    assert_eq!(client.kept_connections(), 1);
    client.stop().await;
}

/// All requests are sent before the first response. Those beyond the limit of a connection use another one.
#[tokio::test]
async fn requests_share_a_connection_up_to_a_limit() {
    let script = |connection| match connection {
        0 => {
            // One to open the connection, then five at once.
            let mut steps = vec![Step::ReadH2, Step::AnswerH2(200)];
            steps.extend(vec![Step::ReadH2; 5]);
            steps.extend(vec![Step::AnswerH2(200); 5]);
            [steps, vec![Step::Hang]].concat()
        }
        _ => vec![Step::ReadH2, Step::AnswerH2(200), Step::Hang],
    };
    let (client, receiver) = serving(script, |settings| settings.streams_per_connection = 5).await;
    let client = Arc::new(client);
    assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
    let mut posts = JoinSet::new();
    for _ in 0..6 {
        let (client, url) = (client.clone(), https(receiver.port()));
        posts.spawn(async move { status(&post(&client, &url, AMPLE).await) });
    }
    assert_eq!(posts.join_all().await, [200; 6]);
    assert_eq!(receiver.accepted(), 2, "five on the first, the sixth on another");
}

/// Requests that hang delay no others at the same origin, however few concurrent streams the peer allows.
#[tokio::test]
async fn more_than_the_peer_takes_at_once_go_over_another_connection() {
    let two_streams = [0, 3, 0, 0, 0, 2];
    let script = move |connection| match connection {
        0 => vec![
            Step::ReadH2,
            frame(SETTINGS, false, &two_streams),
            Step::AnswerH2(200),
            Step::ReadH2,
            Step::ReadH2,
            Step::Hang,
        ],
        _ => [Step::ReadH2, Step::AnswerH2(201)].into_iter().cycle().take(200).collect(),
    };
    let (client, receiver) = serving(script, |_| {}).await;
    let url = https(receiver.port());
    assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
    let hanging: Vec<_> = (0..2)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move { post(&client, &url, AMPLE).await })
        })
        .collect();
    arrived(&receiver, 3).await;
    for _ in 0..20 {
        assert_eq!(status(&post(&client, &url, AMPLE).await), 201);
    }
    assert_eq!(receiver.accepted(), 2, "one more connection for all of them");
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
}

/// The peer says that it did not read the request, so it is sent again, on a new connection.
#[tokio::test]
async fn refused_unread_is_sent_again() {
    for refusal in [frame(RST_STREAM, true, &REFUSED), frame(GOAWAY, false, &GONE_BEFORE_ALL)] {
        let script = move |connection| match connection {
            0 => vec![Step::ReadH2, Step::AnswerH2(200), Step::ReadH2, refusal.clone(), Step::Hang],
            _ => vec![Step::ReadH2, Step::AnswerH2(201), Step::Hang],
        };
        let (client, receiver) = serving(script, |_| {}).await;
        assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
        let second = post(&client, &https(receiver.port()), AMPLE).await;
        assert_eq!(status(&second), 201);
        assert_eq!(receiver.accepted(), 2);
    }
}

/// Any other end of a stream is an attempt: the request may have been read.
#[tokio::test]
async fn broken_streams_are_attempts() {
    let late = [0, 0, 0, 9, 0, 0, 0, 2];
    for (case, steps) in [
        ("cancelled", vec![frame(RST_STREAM, true, &CANCEL)]),
        ("gone with an error", vec![frame(GOAWAY, false, &late)]),
        ("closed", vec![]),
        ("reset", vec![Step::Reset]),
        ("not a frame", vec![Step::send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")]),
        (
            "headers that are not",
            vec![Step::SendH2 {
                kind: HEADERS,
                flags: 5,
                on_stream: true,
                payload: vec![0xff; 40],
            }],
        ),
        (
            "a stream that is none",
            vec![Step::SendH2 { kind: HEADERS, flags: 5, on_stream: false, payload: vec![0x88] }],
        ),
    ] {
        let opening = vec![Step::ReadH2, Step::AnswerH2(200), Step::ReadH2];
        let steps = [opening, steps].concat();
        let script = move |_| steps.clone();
        let (client, receiver) = serving(script, |_| {}).await;
        assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
        let second = post(&client, &https(receiver.port()), AMPLE).await;
        assert_eq!(code(&second), "PROTOCOL_ERROR", "{case}");
        assert_eq!(receiver.requests().len(), 2, "{case}: {}", reason(&second));
    }
}

/// A connection that received GOAWAY finishes its requests, and the next request uses a new one.
#[tokio::test]
async fn going_away_politely() {
    let script = |connection| match connection {
        0 => vec![
            Step::ReadH2,
            frame(GOAWAY, false, &[0, 0, 0, 1, 0, 0, 0, 0]),
            Step::AnswerH2(200),
            Step::Hang,
        ],
        _ => vec![Step::ReadH2, Step::AnswerH2(201), Step::Hang],
    };
    let (client, receiver) = serving(script, |_| {}).await;
    assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
    assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 201);
    assert_eq!(receiver.requests().len(), 2);
}

/// No allowed streams, silence, and floods of frames: the deadline bounds all of them.
#[tokio::test]
async fn stalling_is_bounded_by_the_deadline() {
    let no_streams = [0, 3, 0, 0, 0, 0];
    let ping = [vec![0, 0, 8, PING, 0, 0, 0, 0, 0], vec![0; 8]].concat();
    let empty = vec![0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
    for (case, steps) in [
        ("silence", vec![Step::ReadH2, Step::Hang]),
        (
            "no streams",
            vec![
                Step::ReadH2,
                Step::AnswerH2(200),
                frame(SETTINGS, false, &no_streams),
                Step::ReadH2,
                Step::Hang,
            ],
        ),
        ("pings", vec![Step::ReadH2, Step::Flood(ping)]),
        ("settings", vec![Step::ReadH2, Step::Flood(empty)]),
    ] {
        let script = move |connection| match connection {
            0 => steps.clone(),
            _ => vec![Step::ReadH2, Step::Hang],
        };
        let (client, receiver) = serving(script, |_| {}).await;
        if case == "no streams" {
            assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
        }
        let outcome = post(&client, &https(receiver.port()), DEADLINE).await;
        let code = code(&outcome);
        assert!(["TIMEOUT", "PROTOCOL_ERROR"].contains(&code), "{case}: {code}");
        assert!(outcome.latency < DEADLINE * 4, "{case}: {:?}", outcome.latency);
    }
}
