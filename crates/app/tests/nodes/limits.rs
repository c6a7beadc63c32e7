//! Limits with two nodes: each is exact, or holds within the bound that docs/production.md states.

use std::{net::SocketAddr, sync::Barrier, thread, time::Duration};

use gancho_testkit::{
    postgres::{Database, fresh_database},
    until,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    gateway::Gateway,
    http::{self, Answer},
    partner::{self, SECRET},
    receiver,
};

struct Pair {
    nodes: [Gateway; 2],
    runtime: Runtime,
    database: Database,
    _folder: TempDir,
}

impl Pair {
    /// Starts two nodes, and waits until they know each other.
    fn start(config: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let database = runtime.block_on(fresh_database()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("gancho.toml"), config).unwrap();
        let url = database.url();
        let node = || Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &url)]);
        let pair = Self { nodes: [node(), node()], runtime, database, _folder: folder };
        let probe = pair.tenant("probe", r#""publish_rate":{"count":100000,"per":"1h"}"#);
        for node in &pair.nodes {
            until("it allows a half", || {
                let answer = publish(node.address, &probe, "a.b", &[]);
                answer.head.to_ascii_lowercase().contains("ratelimit-limit: 50000\r\n")
            });
        }
        pair
    }

    fn tenant(&self, slug: &str, terms: &str) -> String {
        let body = format!(r#"{{"slug":"{slug}",{terms}}}"#);
        let made = self.nodes[0].operator("POST", "/v1/tenants", &body);
        assert_eq!(made.status, 201, "{}", made.body);
        let key = self.nodes[0].operator("POST", &format!("/v1/tenants/{slug}/api-keys"), "{}");
        key.json()["key"].as_str().unwrap().to_owned()
    }

    /// Creates an endpoint, and returns its path.
    fn endpoint(&self, key: &str, address: SocketAddr, event: &str, terms: &str) -> String {
        let url = format!("http://{address}/hook");
        let body = format!(r#"{{"url":"{url}","events":["{event}"]{terms}}}"#);
        let headers = [("x-api-key", key)];
        let made = http::call(self.nodes[0].address, "POST", "/v1/webhooks", &headers, &body);
        assert_eq!(made.status, 201, "{}", made.body);
        format!("/v1/webhooks/{}", made.json()["id"].as_str().unwrap())
    }

    /// Calls both at once, `times` times, and returns the results of the first, then of the second.
    fn at_both<T: Send>(&self, times: usize, call: impl Fn(&Gateway, usize) -> T + Sync) -> Vec<T> {
        let together = Barrier::new(2);
        let (call, together) = (&call, &together);
        thread::scope(|scope| {
            let calls = self.nodes.each_ref().map(|node| {
                scope.spawn(move || {
                    let one = |time| {
                        together.wait();
                        call(node, time)
                    };
                    (0..times).map(one).collect::<Vec<_>>()
                })
            });
            calls.into_iter().flat_map(|call| call.join().unwrap()).collect()
        })
    }

    fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(async {
            let client = self.database.client().await.unwrap();
            client.query_one(sql, &[]).await.unwrap().get(0)
        })
    }

    fn stop(self) {
        for node in self.nodes {
            node.stop();
        }
    }
}

fn publish(api: SocketAddr, key: &str, event: &str, more: &[(&str, &str)]) -> Answer {
    let headers = [&[("x-api-key", key)], more].concat();
    let body = format!(r#"{{"type":"{event}","data":{{}}}}"#);
    http::call(api, "POST", "/v1/events", &headers, &body)
}

fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[test]
fn a_key_and_a_quota_are_exact() {
    let pair = Pair::start("[plans.tiny]\nendpoints = 1\nevents = 20\n");

    let key = pair.tenant("once", r#""plan":"unlimited""#);
    let answers = pair.at_both(50, |node, time| {
        publish(node.address, &key, "a.b", &[("idempotency-key", &format!("key-{time}"))])
    });
    assert_eq!(count(&answers, 202), 100);
    let ids: Vec<_> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
    assert_eq!(ids[..50], ids[50..]);
    let stored = "select count(*) from parcels p join tenants t on t.tenant_id = p.tenant_id
        where t.slug = 'once'";
    assert_eq!(pair.number(stored), 50);

    let key = pair.tenant("planned", r#""plan":"tiny""#);
    let answers = pair.at_both(30, |node, _| publish(node.address, &key, "a.b", &[]));
    assert_eq!(count(&answers, 202), 20);
    pair.stop();
}

#[test]
fn rates_are_shared() {
    let pair = Pair::start("");
    let key = pair.tenant("acme", r#""publish_rate":{"count":21,"per":"1h"}"#);
    let answers = pair.at_both(30, |node, _| publish(node.address, &key, "a.b", &[]));
    // One more than the rate, because half of 21 is rounded up.
    assert_eq!((count(&answers, 202), count(&answers, 429)), (22, 38));

    let source = r#"{"partner":"acme","target_url":"http://127.0.0.1:9458/core",
        "rate_limit":{"count":10,"per":"1h"}}"#;
    let made = pair.nodes[0].operator("POST", "/v1/sources", source);
    assert_eq!(made.status, 201, "{}", made.body);
    let secret = format!(r#"{{"scheme":"hmac","secret":"{SECRET}"}}"#);
    let put = pair.nodes[0].operator("PUT", "/v1/sources/acme/keys/k1", &secret);
    assert!(put.status < 300, "{}", put.body);
    let post = |node: &Gateway, time| {
        let body = format!(r#"{{"event_id":"{}-{time}"}}"#, node.id());
        partner::post(node.ingest(), &body)
    };
    // The first of each: a node learns of a new source within seconds.
    for node in &pair.nodes {
        until("the node knows the source", || post(node, 99).status == 204);
    }
    let answers = pair.at_both(12, post);
    assert_eq!((count(&answers, 204), count(&answers, 429)), (8, 16));
    pair.stop();
}

#[test]
fn the_limits_of_an_endpoint_are_shared() {
    let pair = Pair::start("");
    let key = pair.tenant("acme", r#""plan":"unlimited""#);
    let (address, limited) = receiver::start();
    pair.endpoint(&key, address, "limited", r#","rate_limit":{"count":10,"per":"1h"}"#);
    let (address, free) = receiver::start();
    pair.endpoint(&key, address, "free", "");
    let (address, narrow) = receiver::start_slow(Duration::from_millis(200));
    pair.endpoint(&key, address, "narrow", r#","max_in_flight":4"#);
    let send = |event: &'static str, times| {
        let answers = pair.at_both(times, |node, _| publish(node.address, &key, event, &[]));
        assert_eq!(count(&answers, 202), answers.len());
    };
    send("limited", 20);
    until("what the rate allows has come", || limited.counts().len() >= 10);
    // A later event to another endpoint arrives, and nothing more to this one.
    send("free", 20);
    until("all have come", || free.counts().len() == 40);
    assert_eq!(limited.counts().len(), 10);

    send("narrow", 30);
    until("all have come", || narrow.counts().len() == 60);
    assert!(narrow.max_at_once() <= 4, "{} at once", narrow.max_at_once());
    pair.stop();
}

#[test]
fn a_pause_at_one_node_stops_the_other() {
    let pair = Pair::start("");
    let key = pair.tenant("acme", r#""plan":"unlimited""#);
    let [(held, held_seen), (free, free_seen)] = [receiver::start(), receiver::start()];
    let paused = pair.endpoint(&key, held, "held", "");
    pair.endpoint(&key, free, "free", "");
    let [here, there] = &pair.nodes;
    let answer = here.acting("acme", "POST", &format!("{paused}/pause"), "");
    assert_eq!(answer.status, 204, "{}", answer.body);

    // The other node knows the pause once it delivers a later event to the other endpoint but holds this one
    // back.
    let (mut late, mut waiting) = (0, Vec::new());
    while waiting.len() < 10 {
        let id = there.publish(&key, "held", "{}");
        let fence = there.publish(&key, "free", "{}");
        until("the other endpoint is served", || free_seen.body(&fence).is_some());
        if held_seen.body(&id).is_some() {
            assert!(waiting.is_empty(), "it was held back, and delivers again");
            late += 1;
            assert!(late < 10_000, "it is not held back");
        } else {
            waiting.push(id);
        }
    }
    // Either node shows it, and the other one can lift it.
    for node in [here, there] {
        let shown = node.operator("GET", "/v1/queues", "").body;
        assert!(shown.contains(paused.rsplit('/').next().unwrap()), "{shown}");
    }
    let answer = there.acting("acme", "POST", &format!("{paused}/resume"), "");
    assert_eq!(answer.status, 204, "{}", answer.body);
    until("all are delivered", || waiting.iter().all(|id| held_seen.body(id).is_some()));
    pair.stop();
}
