//! What happens to spans while the collector refuses them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{Id, Parcel, ParcelKind, Time};
use gancho_egress::{Client, Settings};
use gancho_engine::{SpanCounts, SpanSink};
use gancho_testkit::python::PythonServer;
use gancho_traces::{TraceExporter, TraceSettings};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

struct Stage {
    server: PythonServer,
    url: Url,
    client: Client,
    exporter: Arc<TraceExporter>,
}

impl Stage {
    fn new() -> Self {
        let script = "crates/traces/tests/collector/collector.py";
        let server = PythonServer::start(script, &[]).unwrap();
        let first: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        let url: Url = format!("http://127.0.0.1:{}", first["port"]).parse().unwrap();
        let client = Client::new(Settings::for_dev()).unwrap();
        let settings = TraceSettings::new(&url, None, "test").unwrap();
        let exporter = TraceExporter::new(settings, client.clone());
        Self { server, url, client, exporter }
    }

    async fn respond(&self, status: u16) {
        let url = self.url.join(&format!("/status/{status}")).unwrap();
        let done = self.client.get(&url, Duration::from_secs(10), 100).await;
        assert_eq!(done.answer.unwrap().status, 200);
    }

    fn lines(&self, kind: &str) -> Vec<Value> {
        let lines = self.server.lines();
        let values = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        values.filter(|value| value["kind"] == kind).collect()
    }

    /// Returns the spans that have arrived. The collector may print them after its response.
    async fn spans(&self, count: usize) -> Vec<Value> {
        for _ in 0..2_000 {
            let spans = self.lines("span");
            if spans.len() >= count {
                return spans;
            }
            // Sleeps between two looks.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} of {count} spans arrived", self.lines("span").len());
    }

    async fn until(&self, what: &str, is_so: impl Fn(SpanCounts) -> bool) -> SpanCounts {
        for _ in 0..2_000 {
            let counts = self.exporter.counts();
            if is_so(counts) {
                return counts;
            }
            // Sleeps between two looks.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}: {:?}", self.exporter.counts());
    }
}

fn parcel(number: u128) -> Parcel {
    Parcel {
        id: Id::from_bits(number),
        tenant: Id::from_bits(1),
        kind: ParcelKind::Event,
        event_type: "a.b".into(),
        subject: None,
        external_id: None,
        is_test: false,
        body: Bytes::new(),
        created_at: Time::from_secs(1_800_000_000),
        trace: None,
        erased_at: None,
    }
}

#[tokio::test]
async fn a_batch_is_sent_again_while_the_collector_is_busy() {
    let stage = Stage::new();
    stage.respond(503).await;
    let stop = CancellationToken::new();
    let (exporter, stopped) = (stage.exporter.clone(), stop.clone());
    let running = tokio::spawn(async move { exporter.run(stopped).await });
    stage.exporter.accepted(&parcel(7), Time::from_secs(1_800_000_001));
    while stage.lines("request").len() < 2 {
        // Sleeps between two looks.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.respond(200).await;
    let counts = stage.until("it is exported", |counts| counts.exported == 1).await;
    assert_eq!((counts.failed, counts.dropped), (0, 0));
    let spans = stage.spans(1).await;
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0]["trace_id"], format!("{:032x}", 7));
    assert_eq!(
        spans[0]["end"].as_u64().unwrap() - spans[0]["start"].as_u64().unwrap(),
        1_000_000_000
    );

    // A batch that the collector refuses permanently is dropped at once, and counted.
    stage.respond(400).await;
    stage.exporter.accepted(&parcel(8), Time::from_secs(1_800_000_001));
    stage.until("it is refused", |counts| counts.failed == 1).await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_full_queue_drops_and_never_waits() {
    let stage = Stage::new();
    // Nothing is being sent.
    for number in 0..10_000 {
        stage.exporter.accepted(&parcel(number), Time::ZERO);
    }
    assert_eq!(stage.exporter.counts().dropped, 10_000 - 8_192);
    // When it is stopped, the rest is sent.
    let stop = CancellationToken::new();
    stop.cancel();
    stage.exporter.run(stop).await;
    assert_eq!(stage.exporter.counts().exported, 8_192);
    assert_eq!(stage.spans(8_192).await.len(), 8_192);
}
