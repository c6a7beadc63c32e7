//! Connections that are used again, and requests that are never sent twice.

use std::{collections::HashSet, time::Duration};

use bytes::Bytes;
use gancho_domain::TenantId;
use gancho_egress::{Client, Settings};
use gancho_testkit::receiver::{Receiver, Step};
use http::HeaderMap;
use tokio::task::JoinSet;

use crate::stage::{AMPLE, client, code, http, post, settings, status};

/// Serves requests on each connection as long as it lasts.
fn patient(_: usize) -> Vec<Step> {
    [Step::ReadRequest, Step::ok()].into_iter().cycle().take(20_000).collect()
}

#[tokio::test]
async fn a_connection_serves_many_one_after_the_other() {
    let receiver = Receiver::plain(patient).await.unwrap();
    let client = client();
    for _ in 0..200 {
        assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
    }
    assert_eq!(receiver.accepted(), 1);
    assert_eq!(receiver.requests().len(), 200);
    assert_eq!(client.kept_connections(), 1);
    client.stop().await;
    assert_eq!(client.kept_connections(), 0);
}

/// Concurrent requests use one connection each, and no response is swapped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_at_a_time_on_each_connection() {
    let receiver = Receiver::plain(|connection| {
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{connection:08}");
        [Step::ReadRequest, Step::send(&answer)].into_iter().cycle().take(2_000).collect()
    });
    let receiver = receiver.await.unwrap();
    let client = client();
    let mut posts = JoinSet::new();
    for _ in 0..16 {
        let (client, url) = (client.clone(), http(receiver.port()));
        posts.spawn(async move {
            for _ in 0..50 {
                let answer = post(&client, &url, AMPLE).await.answer.unwrap();
                assert_eq!(answer.body.len(), 8);
            }
        });
    }
    posts.join_all().await;
    assert!(receiver.accepted() <= 16, "{}", receiver.accepted());
    assert_eq!(receiver.requests().len(), 800);
}

/// The second request was read before the connection broke, so it is not sent again.
#[tokio::test]
async fn a_request_that_may_have_been_read_is_not_sent_again() {
    for end in [vec![Step::Reset], vec![], vec![Step::send("HTTP/1.1 2"), Step::Reset]] {
        let steps = [vec![Step::ReadRequest, Step::ok(), Step::ReadRequest], end].concat();
        let receiver = Receiver::plain(move |_| steps.clone()).await.unwrap();
        let client = client();
        assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
        let second = post(&client, &http(receiver.port()), AMPLE).await;
        assert_eq!(code(&second), "PROTOCOL_ERROR");
        assert_eq!((receiver.accepted(), receiver.requests().len()), (1, 2));
    }
}

/// A receiver that closes after each response, without announcing it: a request may arrive during the close
/// at any moment. In every case, none arrives twice, and every request that is reported as delivered arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_on_reuse_never_doubles_a_request() {
    for reset in [false, true] {
        let receiver = Receiver::plain(move |_| {
            let mut steps = vec![Step::ReadRequest, Step::ok()];
            steps.extend(reset.then_some(Step::Reset));
            steps
        });
        let receiver = receiver.await.unwrap();
        let client = client();
        let mut delivered = HashSet::new();
        for number in 0..500 {
            let body = format!("number {number};");
            let outcome = client
                .post(&http(receiver.port()), HeaderMap::new(), body.clone().into(), AMPLE)
                .await;
            if outcome.answer.is_ok() {
                delivered.insert(body);
            }
        }
        let arrived: Vec<_> = receiver
            .requests()
            .iter()
            .map(|request| request.text().split_once("\r\n\r\n").unwrap().1.to_owned())
            .collect();
        let different: HashSet<_> = arrived.iter().cloned().collect();
        assert_eq!(arrived.len(), different.len(), "none arrived twice");
        assert!(delivered.is_subset(&different), "what was delivered arrived");
        assert!(delivered.len() >= 400, "most get through: {}", delivered.len());
    }
}

/// An idle connection that the peer closed is noticed, and the request is sent on a new one.
#[tokio::test]
async fn a_dead_connection_is_replaced_at_once() {
    let receiver = Receiver::plain(|_| vec![Step::ReadRequest, Step::ok()]).await.unwrap();
    let client = client();
    for _ in 0..5 {
        assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
        until(|| client.kept_connections() == 0).await;
    }
    assert_eq!(receiver.requests().len(), 5);
}

/// A tenant uses hundreds of hosts all the time, more than connections may stay open. Another one rarely uses a few of
/// its own.
#[tokio::test]
async fn a_tenant_with_very_many_hosts_costs_no_other_its_connections() {
    let (many, few) =
        (Receiver::plain(patient).await.unwrap(), Receiver::plain(patient).await.unwrap());
    let client = Client::new(Settings { idle_in_all: 64, ..settings() }).unwrap();
    let post = async |tenant, host: String, port| {
        let url = format!("http://{host}.example.com:{port}/hook").parse().unwrap();
        let tenant = TenantId::from_bits(tenant);
        let sent = client.post_for(tenant, &url, HeaderMap::new(), Bytes::new(), AMPLE);
        assert_eq!(status(&sent.await), 200);
    };
    for round in 0..3 {
        for host in 0..4 {
            post(1, format!("few-{host}"), few.port()).await;
        }
        for host in 0..300 {
            post(2, format!("many-{host}"), many.port()).await;
        }
        assert_eq!(few.accepted(), 4, "in round {round}");
        assert!(client.kept_connections() <= 64);
    }
    // What others leave, it may have.
    assert!(client.kept_connections() >= 60, "{}", client.kept_connections());
}

async fn until(met: impl Fn() -> bool) {
    let waiting = async {
        while !met() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(AMPLE, waiting).await.unwrap();
}

#[tokio::test]
async fn idle_connections_are_closed_after_a_while() {
    let receiver = Receiver::plain(patient).await.unwrap();
    let idle_timeout = Duration::from_millis(40);
    let client = Client::new(Settings { idle_timeout, ..settings() }).unwrap();
    assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
    assert_eq!(client.kept_connections(), 1);
    until(|| client.kept_connections() == 0).await;
    assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
    assert_eq!(receiver.accepted(), 2);
}

/// With `keep-alive: timeout=0`, or if it is old, a connection is not used again.
#[tokio::test]
async fn a_connection_is_not_used_past_its_time() {
    let brief = Receiver::plain(|_| {
        let answer = "HTTP/1.1 200 OK\r\nkeep-alive: max=9, timeout=0\r\ncontent-length: 0\r\n\r\n";
        [Step::ReadRequest, Step::send(answer)].into_iter().cycle().take(20).collect()
    });
    let brief = brief.await.unwrap();
    let usual = client();
    for _ in 0..3 {
        assert_eq!(status(&post(&usual, &http(brief.port()), AMPLE).await), 200);
    }
    assert_eq!(brief.accepted(), 3);

    let receiver = Receiver::plain(patient).await.unwrap();
    let longest_life = Duration::ZERO;
    let client = Client::new(Settings { longest_life, ..settings() }).unwrap();
    for _ in 0..3 {
        assert_eq!(status(&post(&client, &http(receiver.port()), AMPLE).await), 200);
    }
    assert_eq!(receiver.accepted(), 3);
}

#[tokio::test]
async fn the_number_of_idle_connections_is_bounded() {
    let limits = Settings { idle_per_destination: 3, idle_in_all: 32, ..settings() };
    let client = Client::new(limits).unwrap();
    let receiver = Receiver::plain(patient).await.unwrap();
    let mut posts = JoinSet::new();
    for _ in 0..20 {
        let (client, url) = (client.clone(), http(receiver.port()));
        posts.spawn(async move { status(&post(&client, &url, AMPLE).await) });
    }
    assert_eq!(posts.join_all().await, [200; 20]);
    assert!(client.kept_connections() <= 3, "{}", client.kept_connections());

    for name in 0..200 {
        let url = format!("http://h{name}.example.com:{}/", receiver.port()).parse().unwrap();
        assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
        assert!(client.kept_connections() <= 32);
    }
    assert!(client.kept_connections() > 8, "{}", client.kept_connections());
}

/// One origin may have all connections that the others do not use, so that it does not reconnect again and
/// again.
#[tokio::test]
async fn a_burst_to_one_origin_reuses_all_its_connections() {
    let limits = Settings { idle_per_destination: 20, idle_in_all: 32, ..settings() };
    let client = Client::new(limits).unwrap();
    let receiver = Receiver::plain(patient).await.unwrap();
    for _ in 0..5 {
        let mut posts = JoinSet::new();
        for _ in 0..20 {
            let (client, url) = (client.clone(), http(receiver.port()));
            posts.spawn(async move { status(&post(&client, &url, AMPLE).await) });
        }
        assert_eq!(posts.join_all().await, [200; 20]);
        until(|| client.kept_connections() == receiver.accepted()).await;
    }
    assert!(receiver.accepted() <= 20, "{} connections", receiver.accepted());
}

/// Origins do not share connections, even if they share an address.
#[tokio::test]
async fn origins_are_kept_apart() {
    let receiver = Receiver::plain(patient).await.unwrap();
    let client = client();
    for host in ["127.0.0.1", "a.example.com", "b.example.com", "127.0.0.1", "a.example.com"] {
        let url = format!("http://{host}:{}/", receiver.port()).parse().unwrap();
        assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
    }
    assert_eq!(receiver.accepted(), 3);
}

/// A delivery that is dropped leaves nothing behind.
#[tokio::test]
async fn a_dropped_post_closes_its_connection() {
    let receiver = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let client = client();
    let url = http(receiver.port());
    {
        let posting = post(&client, &url, AMPLE);
        tokio::select! {
            _ = posting => panic!("it has no answer"),
            () = until(|| receiver.requests().len() == 1) => {}
        }
    }
    tokio::time::timeout(AMPLE, client.stop()).await.expect("no task is left");
    assert_eq!(client.kept_connections(), 0);
}
