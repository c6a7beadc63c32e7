//! Traces from the publisher to the endpoint, as a collector sees them.

use std::time::Duration;

use gancho_testkit::{python::PythonServer, until};
use serde_json::{Value, json};

use crate::{
    gateway::Gateway,
    http, partner,
    receiver::{self, Seen},
    scripted_receiver::Receiver,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

pub struct Collector {
    server: PythonServer,
    pub url: String,
}

impl Collector {
    pub fn start() -> Self {
        let script = "crates/traces/tests/collector/collector.py";
        let server = PythonServer::start(script, &[]).unwrap();
        let first: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        let url = format!("http://127.0.0.1:{}", first["port"]);
        Self { server, url }
    }

    fn spans(&self, trace: &str) -> Vec<Value> {
        let lines = self.server.lines();
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.filter(|value| value["trace_id"] == trace).collect()
    }

    fn named(&self, trace: &str, name: &str) -> Vec<Value> {
        self.spans(trace).into_iter().filter(|span| span["name"] == name).collect()
    }
}

fn publish(served: &Gateway, key: &str, traceparent: &str) -> String {
    let headers = [("x-api-key", key), ("traceparent", traceparent)];
    let body = r#"{"type":"a.b","data":{"card":"canary-4111"}}"#;
    let sent = http::call(served.address, "POST", "/v1/events", &headers, body);
    assert_eq!(sent.status, 202, "{}", sent.body);
    sent.json()["id"].as_str().unwrap().to_owned()
}

fn delivery_of(served: &Gateway, key: &str, event: &str) -> Value {
    let path = format!("/v1/events/{event}");
    let event = http::call(served.address, "GET", &path, &[("x-api-key", key)], "").json();
    let delivery = event["deliveries"][0]["id"].as_str().unwrap_or_else(|| panic!("{event}"));
    let path = format!("/v1/deliveries/{delivery}");
    http::call(served.address, "GET", &path, &[("x-api-key", key)], "").json()
}

#[test]
fn a_trace_goes_from_the_publisher_to_the_endpoint_with_sqlite() {
    a_trace_survives_retries_and_a_restart(&[]);
}

#[test]
fn a_trace_goes_from_the_publisher_to_the_endpoint_with_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    a_trace_survives_retries_and_a_restart(&[("GANCHO_DATABASE_URL", &database.url())]);
}

fn a_trace_survives_retries_and_a_restart(store: &[(&str, &str)]) {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start());
    let receiver = Receiver::start();
    receiver.answer(503);
    // The standard's own names.
    let mut variables = store.to_vec();
    variables.extend([
        ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer collector-canary"),
    ]);
    let served = Gateway::start(folder.path(), &variables);
    let key = served.tenant("acme");
    let url = receiver.url();
    let retry = json!({"schedule": ["2s", "1s", "1s", "1s", "1s", "1s"]});
    let body = json!({"url": url, "events": ["*"], "retry": retry}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let event = publish(&served, &key, &format!("00-{TRACE}-{PARENT}-01"));
    let failed = "attempt failed; retry scheduled";
    assert_eq!(served.first_logged(failed)["trace_id"], TRACE);
    // The rest is exported before it ends.
    let log = served.stop();
    assert!(!log.contains("collector-canary"), "{log}");
    until("the first attempt is exported", || collector.named(TRACE, "deliver webhook").len() == 1);

    receiver.answer(200);
    let served = Gateway::start(folder.path(), &variables);
    until("it is delivered", || delivery_of(&served, &key, &event)["status"] == "delivered");
    until("all is exported", || {
        let spans = collector.named(TRACE, "deliver webhook");
        spans.iter().any(|span| span["attributes"]["gancho.outcome"] == "delivered")
    });
    let published = collector.named(TRACE, "publish event");
    let [publish_span] = &published[..] else { panic!("{published:?}") };
    assert_eq!(publish_span["parent_span_id"], PARENT);
    assert_eq!(publish_span["span_kind"], "SPAN_KIND_PRODUCER");
    assert_eq!(publish_span["path"], "/v1/traces");
    assert_eq!(publish_span["content_type"], "application/x-protobuf");
    assert_eq!(publish_span["authorization"], "Bearer collector-canary");
    assert_eq!(publish_span["resource"]["service.name"], "gancho");
    let (start, end) = (&publish_span["start"], &publish_span["end"]);
    assert!(start.as_u64() <= end.as_u64() && start.as_u64() > Some(1_700_000_000_000_000_000));

    let attempts = collector.named(TRACE, "deliver webhook");
    let delivery = delivery_of(&served, &key, &event);
    let logged = delivery["attempt_log"].as_array().unwrap();
    assert_eq!(attempts.len(), logged.len(), "{attempts:?}");
    for (span, attempt) in attempts.iter().zip(logged) {
        assert_eq!(span["parent_span_id"], publish_span["span_id"]);
        assert_eq!(span["span_kind"], "SPAN_KIND_CLIENT");
        assert_eq!(span["attributes"]["gancho.event.id"], event.as_str());
        assert_eq!(span["attributes"]["gancho.delivery.id"], delivery["id"]);
        assert_eq!(span["attributes"]["gancho.attempt"], attempt["attempt"]);
        // The trace context that the endpoint got is a child of the attempt.
        let id = span["span_id"].as_str().unwrap();
        let traceparent = format!("00-{TRACE}-{id}-01");
        assert!(attempt.to_string().contains(&traceparent), "{traceparent} in {attempt}");
    }
    let (first, last) = (&attempts[0], attempts.last().unwrap());
    assert_eq!(
        (&first["status"], &last["status"]),
        (&json!("STATUS_CODE_ERROR"), &json!("STATUS_CODE_UNSET"))
    );
    assert_eq!(first["attributes"]["error.type"], "HTTP_503");
    assert_eq!(first["attributes"]["http.response.status_code"], 503);
    assert_eq!(last["attributes"]["http.response.status_code"], 200);
    for span in collector.spans(TRACE) {
        let text = span.to_string();
        assert!(!text.contains("canary-4111") && !text.contains(&url), "{text}");
    }

    // A publisher that does not sample its trace is not traced here either.
    let unsampled = TRACE.replace("0af7", "ffff");
    let quiet = publish(&served, &key, &format!("00-{unsampled}-{PARENT}-00"));
    until("it is delivered", || delivery_of(&served, &key, &quiet)["status"] == "delivered");
    let delivery = delivery_of(&served, &key, &quiet).to_string();
    assert!(delivery.contains(&format!("00-{unsampled}-")), "{delivery}");
    // Without a trace of its own, the event's id is the trace's.
    let own = served.publish(&key, "a.b", "{}");
    until("its spans are exported", || {
        let lines = collector.server.lines();
        lines.iter().filter(|line| line.contains(&own)).count() == 2
    });
    assert_eq!(collector.spans(&unsampled), Vec::<Value>::new());
    let metrics = http::call(served.address, "GET", "/metrics", &[], "").body;
    assert!(metrics.contains("gancho_spans_total{outcome=\"refused\"} 0"), "{metrics}");
    served.stop();
}

fn header(seen: &Seen, id: &str, name: &str) -> String {
    let got = seen.last(id).unwrap();
    let found = got.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
    found.unwrap_or_else(|| panic!("no {name}: {:?}", got.headers)).1.clone()
}

/// A partner's trace header is not trusted; its receipt starts a trace.
#[test]
fn a_receipt_begins_a_trace() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), Collector::start());
    let (core, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[("GANCHO_OTLP_ENDPOINT", collector.url.as_str())]);
    served.source("acme", partner::SECRET, &format!("http://{core}/hooks"));
    let mut headers = partner::signed(r#"{"id":"1"}"#);
    headers.push(("traceparent".to_owned(), format!("00-{TRACE}-{PARENT}-01")));
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let path = "/webhooks/acme";
    let sent = http::call(served.ingest(), "POST", path, &headers, r#"{"id":"1"}"#);
    assert_eq!(sent.status, 204, "{}", sent.body);
    until("it is dispatched", || !seen.counts().is_empty());
    let receipt = seen.counts().into_keys().next().unwrap();
    let traceparent = header(&seen, &receipt, "traceparent");
    let (trace, span) = (&traceparent[3..35], &traceparent[36..52]);
    assert_ne!(trace, TRACE);
    until("it is exported", || collector.spans(trace).len() == 2);
    let received = &collector.named(trace, "receive webhook")[0];
    assert_eq!(received["parent_span_id"], "");
    assert_eq!(received["attributes"]["gancho.event.id"], receipt.as_str());
    let dispatched = &collector.named(trace, "dispatch webhook")[0];
    assert_eq!(
        (&dispatched["span_id"], &dispatched["parent_span_id"]),
        (&json!(span), &received["span_id"])
    );
    served.stop();
}

/// If the collector is down, deliveries are as fast, spans are dropped and counted, and stopping is not
/// delayed.
#[test]
fn a_collector_that_is_down_delays_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (address, seen) = receiver::start();
    // Accepts connections, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let served = Gateway::start(folder.path(), &[("GANCHO_OTLP_ENDPOINT", url.as_str())]);
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{address}/hooks"));
    let batch: Vec<Value> = (0..100).map(|n| json!({"type": "a.b", "data": n})).collect();
    let body = json!({ "events": batch }).to_string();
    for _ in 0..60 {
        let path = "/v1/events/batch";
        let sent = http::call(served.address, "POST", path, &[("x-api-key", &key)], &body);
        assert!(sent.status < 300, "{}", sent.body);
    }
    until("all is delivered", || seen.counts().len() == 6_000);
    let counted = || {
        let metrics = http::call(served.address, "GET", "/metrics", &[], "").body;
        let line = "gancho_spans_total{outcome=\"queue_full\"} ";
        metrics.lines().find_map(|text| text.strip_prefix(line)?.parse::<u64>().ok())
    };
    // 12,000 spans; 512 are being sent, and 8,192 wait.
    until("the rest is dropped", || counted().is_some_and(|count| count > 3_000));
    served.signal("TERM");
    let (status, log) = served.ended(Duration::from_secs(10));
    assert!(status.success(), "{log}");
}
