//! Receivers that misbehave: each case is a way in which a response can be wrong, endless, slow or
//! misleading.

use std::time::Duration;

use gancho_domain::{Time, Verdict, pace::Load};
use gancho_egress::verdict;
use gancho_testkit::receiver::{Receiver, Step};

use crate::stage::{AMPLE, DEADLINE, client, code, http, post, reason, status};

async fn answering(text: &str) -> Receiver {
    let text = text.to_owned();
    Receiver::plain(move |_| vec![Step::ReadRequest, Step::send(&text), Step::Hang]).await.unwrap()
}

#[tokio::test]
async fn the_request_as_it_is_on_the_wire() {
    let receiver = answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-a: b\r\n\r\nok").await;
    let mut headers = http::HeaderMap::new();
    for (name, value) in [
        ("x-mine", "1"),
        ("host", "evil"),
        ("content-length", "1"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("accept-encoding", "gzip"),
        ("expect", "100-continue"),
        ("te", "trailers"),
        ("upgrade", "h2c"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let url = http(receiver.port());
    let outcome = client().post(&url, headers, "{}".into(), AMPLE).await;
    let answer = outcome.answer.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"ok"[..]));
    assert_eq!(&answer.headers[..], b"content-length: 2\nx-a: b\n");

    let text = receiver.requests()[0].text();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.split("\r\n").collect();
    assert_eq!(lines.remove(0), "POST /hook?a=b HTTP/1.1");
    lines.sort_unstable();
    let host = format!("host: 127.0.0.1:{}", receiver.port());
    assert_eq!(lines, ["accept-encoding: identity", "content-length: 2", &host, "x-mine: 1"]);
    assert_eq!(body, "{}");
}

/// Skips any number of 1xx responses until the final one.
#[tokio::test]
async fn interim_answers_are_passed_over() {
    let interim = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n";
    let many = format!("HTTP/1.1 100 Continue\r\n\r\n{}", interim.repeat(500));
    let receiver = answering(&format!("{many}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")).await;
    assert_eq!(status(&post(&client(), &http(receiver.port()), AMPLE).await), 200);

    let endless = Receiver::plain(|_| {
        vec![Step::ReadRequest, Step::Flood(b"HTTP/1.1 102 Processing\r\n\r\n".to_vec())]
    });
    let endless = endless.await.unwrap();
    let outcome = post(&client(), &http(endless.port()), DEADLINE).await;
    assert_eq!(code(&outcome), "TIMEOUT");
    assert_on_time(outcome.latency);
}

/// Bytes after a response are not the next response.
#[tokio::test]
async fn bytes_after_an_answer_are_not_the_next_one() {
    let forged = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
    for first in [
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 226 IM Used\r\ncontent-length: 2\r\n\r\nok",
        "HTTP/1.1 299 \r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ] {
        let sent = format!("{first}{forged}");
        let receiver = Receiver::plain(move |connection| match connection {
            0 => vec![Step::ReadRequest, Step::send(&sent), Step::Hang],
            _ => vec![Step::ReadRequest, Step::send("HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n")],
        });
        let receiver = receiver.await.unwrap();
        let client = client();
        let outcome = post(&client, &http(receiver.port()), AMPLE).await;
        assert!((200..300).contains(&status(&outcome)));
        assert_eq!(verdict(&outcome, Time::ZERO).verdict, Verdict::Delivered);
        let next = post(&client, &http(receiver.port()), AMPLE).await;
        assert_eq!(status(&next), 500, "after {first:?}");
        assert_eq!(receiver.accepted(), 2, "the first connection was not used again");
    }
}

/// A response that cannot be parsed as HTTP is a protocol error.
#[tokio::test]
async fn answers_that_are_not_http() {
    for text in [
        "HTTP/1.1 000 \r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/0.9 200 OK\r\n\r\n",
        "HTTP/3.0 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "220 mail ESMTP\r\n",
        "{\"ok\":true}\n",
        "\0\u{1}\u{2}\u{3}",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\r\n",
        "HTTP/1.1 1000 \r\n\r\n",
    ] {
        let text = text.to_owned();
        let receiver = Receiver::plain(move |_| vec![Step::ReadRequest, Step::send(&text)]);
        let receiver = receiver.await.unwrap();
        let outcome = post(&client(), &http(receiver.port()), AMPLE).await;
        assert_eq!(code(&outcome), "PROTOCOL_ERROR", "{}", reason(&outcome));
        assert_eq!(receiver.accepted(), 1, "and not sent again");
    }
}

/// Redirects are not followed, and only 2xx is success.
#[tokio::test]
async fn answers_that_are_not_success() {
    let elsewhere = answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    for sent in [
        101, 300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 407, 418, 421, 425, 429, 451, 500,
        502, 503, 504, 600, 999,
    ] {
        let location = format!("location: http://127.0.0.1:{}/\r\n", elsewhere.port());
        let upgrade = if sent == 101 { "connection: upgrade\r\nupgrade: x\r\n" } else { "" };
        let text = format!(
            "HTTP/1.1 {sent} X\r\n{location}{upgrade}refresh: 0\r\ncontent-length: 0\r\n\r\n"
        );
        let receiver = answering(&text).await;
        let outcome = post(&client(), &http(receiver.port()), AMPLE).await;
        assert_eq!(status(&outcome), sent);
        let concluded = verdict(&outcome, Time::ZERO);
        let failure = concluded.verdict.failure().unwrap();
        assert_eq!(failure.code().as_str(), format!("HTTP_{sent}"));
        assert!(matches!(concluded.verdict, Verdict::Retry { .. }), "{sent}");
        let heavy = [429, 502, 503, 504].contains(&sent);
        assert_eq!(concluded.load == Load::Heavy, heavy, "{sent}");
    }
    assert_eq!(elsewhere.accepted(), 0, "redirects are not followed");

    let gone = answering("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n").await;
    let concluded = verdict(&post(&client(), &http(gone.port()), AMPLE).await, Time::ZERO);
    assert!(
        matches!(concluded.verdict, Verdict::Never { failure } if failure.code().as_str() == "TARGET_GONE")
    );

    let busy = answering("HTTP/1.1 503 X\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n").await;
    let concluded = verdict(&post(&client(), &http(busy.port()), AMPLE).await, Time::ZERO);
    assert!(matches!(concluded.verdict,
        Verdict::Retry { not_before: Some(at), .. } if at == Time::from_secs(120)));
}

/// The status counts, a bounded part is stored, and the rest is cut off.
#[tokio::test]
async fn endless_bodies_are_cut_off() {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    for (head, block) in [
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", chunk.as_str()),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", &"x".repeat(4_096)),
        ("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", &"x".repeat(4_096)),
    ] {
        let (head, block) = (head.to_owned(), block.as_bytes().to_vec());
        let receiver = Receiver::plain(move |_| {
            vec![Step::ReadRequest, Step::send(&head), Step::Flood(block.clone())]
        });
        let receiver = receiver.await.unwrap();
        let client = client();
        let outcome = post(&client, &http(receiver.port()), AMPLE).await;
        let answer = outcome.answer.unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body.len(), 16 * 1024);
        assert!(answer.body.iter().all(|&byte| byte == b'x'), "kept as it came");
        assert!(outcome.latency < Duration::from_secs(5), "{:?}", outcome.latency);
        assert_eq!(client.kept_connections(), 0);
        client.stop().await;
        // The rest is in the kernel's buffers.
        assert!(receiver.written() < 16 << 20, "{}", receiver.written());
    }
}

/// A long body that ends within the bound is read to its end, and the connection is kept.
#[tokio::test]
async fn bodies_are_kept_up_to_a_limit() {
    for (length, kept, reused) in
        [(16 << 10, 16 << 10, true), (64 << 10, 16 << 10, true), ((64 << 10) + 1, 16 << 10, false)]
    {
        let text =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}", "y".repeat(length));
        let receiver = Receiver::plain(move |_| {
            vec![Step::ReadRequest, Step::send(&text), Step::ReadRequest, Step::ok(), Step::Hang]
        });
        let receiver = receiver.await.unwrap();
        let client = client();
        let answer = post(&client, &http(receiver.port()), AMPLE).await.answer.unwrap();
        assert_eq!(answer.body.len(), kept);
        post(&client, &http(receiver.port()), AMPLE).await;
        assert_eq!(receiver.accepted(), if reused { 1 } else { 2 }, "{length}");
    }
}

fn assert_on_time(latency: Duration) {
    assert!(latency >= DEADLINE && latency < DEADLINE + Duration::from_millis(500), "{latency:?}");
}

/// One deadline applies to all of it, however slowly the bytes arrive.
#[tokio::test]
async fn dripping_is_bounded_by_the_deadline() {
    let pause = Duration::from_millis(20);
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nx-long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n";
    let receiver =
        Receiver::plain(move |_| vec![Step::ReadRequest, Step::Drip(head.to_vec(), pause)]);
    let receiver = receiver.await.unwrap();
    let outcome = post(&client(), &http(receiver.port()), DEADLINE).await;
    assert_eq!(code(&outcome), "TIMEOUT");
    assert_on_time(outcome.latency);
    assert_eq!(verdict(&outcome, Time::ZERO).load, Load::Heavy);

    let receiver = Receiver::plain(move |_| {
        vec![Step::ReadRequest, Step::Send(head.to_vec()), Step::Drip(vec![b'z'; 1_000], pause)]
    });
    let receiver = receiver.await.unwrap();
    let client = client();
    let outcome = post(&client, &http(receiver.port()), DEADLINE).await;
    assert_eq!(status(&outcome), 200, "decided at the headers");
    assert_on_time(outcome.latency);
    let body = outcome.answer.unwrap().body;
    assert!(!body.is_empty() && body.len() < 100, "{}", body.len());
    assert_eq!(client.kept_connections(), 0);
}

/// Long headers, many headers and headers that are not UTF-8.
#[tokio::test]
async fn heads_are_bounded_and_kept_lossily() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "a".repeat(1 << 20));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: a\r\n".repeat(10_000));
    let wide =
        format!("HTTP/1.1 200 OK\r\n{}\r\n", format!("x: {}\r\n", "a".repeat(10_000)).repeat(100));
    for text in [long, many, wide] {
        let outcome = post(&client(), &http(answering(&text).await.port()), AMPLE).await;
        assert_eq!(code(&outcome), "PROTOCOL_ERROR");
    }
    let big = format!("x-big: {}\r\n", "b".repeat(9_000));
    let invalid = [
        b"HTTP/1.1 200 OK\r\nx-odd: a\xffb\r\n".as_slice(),
        big.as_bytes(),
        b"x-last: c\r\ncontent-length: 3\r\n\r\n\xff\xfe\x00",
    ]
    .concat();
    let receiver =
        Receiver::plain(move |_| vec![Step::ReadRequest, Step::Send(invalid.clone()), Step::Hang]);
    let receiver = receiver.await.unwrap();
    let answer = post(&client(), &http(receiver.port()), AMPLE).await.answer.unwrap();
    let headers = String::from_utf8(answer.headers.to_vec()).unwrap();
    assert_eq!(headers, "x-odd: a\u{fffd}b\nx-last: c\ncontent-length: 3\n");
    assert_eq!(&answer.body[..], b"\xff\xfe\x00");
}

/// The receiver disconnects at each stage; the request is sent once.
#[tokio::test]
async fn broken_off_at_each_stage() {
    let half = "HTTP/1.1 200 OK\r\ncontent-le";
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc";
    let stages: Vec<(&str, Vec<Step>, Result<u16, &str>)> = vec![
        ("silence", vec![Step::Hang], Err("TIMEOUT")),
        ("silence after the request", vec![Step::ReadRequest, Step::Hang], Err("TIMEOUT")),
        ("reset at once", vec![Step::Reset], Err("PROTOCOL_ERROR")),
        ("closed at once", vec![], Err("PROTOCOL_ERROR")),
        ("reset in the request", vec![Step::ReadBytes(10), Step::Reset], Err("PROTOCOL_ERROR")),
        ("reset after it", vec![Step::ReadRequest, Step::Reset], Err("PROTOCOL_ERROR")),
        ("closed after it", vec![Step::ReadRequest], Err("PROTOCOL_ERROR")),
        (
            "half closed",
            vec![Step::ReadRequest, Step::HalfClose, Step::Hang],
            Err("PROTOCOL_ERROR"),
        ),
        (
            "reset in the head",
            vec![Step::ReadRequest, Step::send(half), Step::Reset],
            Err("PROTOCOL_ERROR"),
        ),
        ("closed in the head", vec![Step::ReadRequest, Step::send(half)], Err("PROTOCOL_ERROR")),
        ("closed in the body", vec![Step::ReadRequest, Step::send(head)], Ok(200)),
        (
            "half closed in the body",
            vec![Step::ReadRequest, Step::send(head), Step::HalfClose, Step::Hang],
            Ok(200),
        ),
    ];
    for (stage, steps, expected) in stages {
        let receiver = Receiver::plain(move |_| steps.clone()).await.unwrap();
        let client = client();
        let outcome = post(&client, &http(receiver.port()), DEADLINE).await;
        match expected {
            Ok(expected) => assert_eq!(status(&outcome), expected, "{stage}"),
            Err(expected) => assert_eq!(code(&outcome), expected, "{stage}: {}", reason(&outcome)),
        }
        assert_eq!(receiver.accepted(), 1, "{stage}: tried once");
        assert_eq!(client.kept_connections(), 0, "{stage}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = http(listener.local_addr().unwrap().port());
    drop(listener);
    let outcome = post(&client(), &url, AMPLE).await;
    assert_eq!(code(&outcome), "CONNECT_FAILED");
    assert!(reason(&outcome).contains("refused"), "{}", reason(&outcome));
}

/// A listener whose queue is full drops the SYN, so the connect has a timeout of its own.
#[tokio::test]
async fn a_full_backlog_is_a_failed_connect() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fill = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(50), tokio::net::TcpStream::connect(address))
            .await
    {
        fill.push(stream);
        assert!(fill.len() < 64, "the queue never fills");
    }
    let outcome = post(&client(), &http(address.port()), AMPLE).await;
    assert_eq!(code(&outcome), "CONNECT_FAILED");
    assert!(outcome.latency < Duration::from_secs(2), "{:?}", outcome.latency);
    assert_eq!(verdict(&outcome, Time::ZERO).load, Load::Heavy);
}

/// A receiver may respond early and read no further.
#[tokio::test]
async fn an_answer_before_the_body_was_read_counts() {
    let receiver = Receiver::plain(|_| {
        let answer = "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        vec![Step::ReadBytes(100), Step::send(answer), Step::HalfClose, Step::Hang]
    });
    let receiver = receiver.await.unwrap();
    let body = bytes::Bytes::from(vec![b'a'; 8 << 20]);
    let outcome = client().post(&http(receiver.port()), http::HeaderMap::new(), body, AMPLE).await;
    assert_eq!(status(&outcome), 413);
}

/// `Retry-After` over the wire: no value breaks the client or requests more than a day.
#[tokio::test]
async fn wishes_are_bounded() {
    let day = Time::from_secs(24 * 60 * 60);
    for (value, expected) in [
        ("0", Some(Time::ZERO)),
        ("-1", None),
        ("1.5", None),
        ("inf", None),
        ("NaN", None),
        ("1e30", None),
        ("100000000000000000000", Some(day)),
        ("\"5\"", None),
        ("+5", None),
        ("Thu, 01 Jan 1970 00:01:00 GMT", Some(Time::from_secs(60))),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(day)),
        ("Fri, 31 Feb 2027 00:00:00 GMT", None),
        ("tomorrow", None),
        ("\r\nretry-after: 7", Some(Time::from_secs(7))),
        ("5\r\nretry-after: 9", Some(Time::from_secs(5))),
    ] {
        let text = format!("HTTP/1.1 429 X\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n");
        let outcome = post(&client(), &http(answering(&text).await.port()), AMPLE).await;
        match verdict(&outcome, Time::ZERO).verdict {
            Verdict::Retry { not_before, .. } => assert_eq!(not_before, expected, "{value}"),
            other => panic!("{other:?}"),
        }
    }
}
