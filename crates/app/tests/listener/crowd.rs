//! High load and shortages with the real binary: thousands of slow senders, and too few file handles.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::until;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use crate::{
    gateway::{Gateway, command},
    http,
    partner::{self, SECRET},
    pipe_process::GANCHO,
    receiver,
};

/// Slow senders of bodies of full size, each of which starts again when it is disconnected.
struct Crowd {
    stop: Arc<AtomicBool>,
    /// How many have sent something.
    begun: Arc<AtomicUsize>,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Crowd {
    fn start(ingest: SocketAddr, count: u32, addresses: u32) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in 0..count {
            let (stop, begun) = (stop.clone(), begun.clone());
            // From 127.1.0.0 on: not the address of the partner.
            let from = Ipv4Addr::from_bits(0x7F01_0000 + number % addresses);
            runtime.spawn(async move {
                while !stop.load(Relaxed) {
                    let _ = send_slowly(ingest, from, number, &begun).await;
                    // Sleeps as a client does before it reconnects.
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
        }
        Self { stop, begun, runtime: Some(runtime) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Announces a body of the maximum size, sends a little or nearly all of it, and then a byte per second.
async fn send_slowly(
    ingest: SocketAddr,
    from: Ipv4Addr,
    number: u32,
    begun: &AtomicUsize,
) -> std::io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind((from, 0).into())?;
    let mut stream = socket.connect(ingest).await?;
    let partner = if number.is_multiple_of(2) { "acme" } else { "nobody" };
    let head = format!(
        "POST /webhooks/{partner} HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n\
         content-length: 262144\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let first = if number.is_multiple_of(10) { 200_000 } else { 100 };
    stream.write_all(&vec![b' '; first]).await?;
    begun.fetch_add(1, Relaxed);
    let mut answer = [0; 1];
    loop {
        tokio::select! {
            read = stream.read(&mut answer) => { read?; return Ok(()) }
            // Sleeps as a slow client does.
            () = tokio::time::sleep(Duration::from_secs(1)) => stream.write_all(b" ").await?,
        }
    }
}

/// Returns the 99th percentile of the durations, after checking that all were accepted.
fn p99(served: &Gateway, mark: &str, count: usize) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|number| {
            let asked = Instant::now();
            let body = format!(r#"{{"event_id":"{mark}-{number}"}}"#);
            let taken = partner::post(served.ingest.unwrap(), &body);
            assert_eq!(taken.status, 204, "{mark}-{number}: {}", taken.body);
            asked.elapsed()
        })
        .collect();
    times.sort();
    times[count * 99 / 100]
}

/// faults.md 6: a partner with valid signatures is not rejected, and is hardly affected.
#[test]
fn five_thousand_slow_senders_do_not_keep_a_partner_out() {
    let folder = tempfile::tempdir().unwrap();
    let (core, _) = receiver::start();
    // As if the senders came from outside: no proxy on this machine is trusted.
    let variables = [("GANCHO_TRUSTED_PROXIES", "192.0.2.1/32")];
    let served = Gateway::start(folder.path(), &variables);
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    let ingest = served.ingest.unwrap();
    p99(&served, "warm", 20);
    let quiet = p99(&served, "quiet", 200);
    for addresses in [1, 5_000] {
        let crowd = Crowd::start(ingest, 5_000, addresses);
        until("all have begun", || crowd.begun.load(Relaxed) >= 5_000);
        let crowded = p99(&served, &format!("crowded-{addresses}"), 200);
        // This machine is busy with other things and with the senders, so the bound is loose: `gancho bench
        // isolation` measures.
        let max = (3 * quiet).max(Duration::from_secs(5));
        assert!(crowded <= max, "{crowded:?} beside {addresses} addresses, {quiet:?} without");
    }
    served.stop();
}

/// Starts a gateway with this number of file handles.
fn limited(folder: &Path, handles: u32, variables: &[(&str, &str)]) -> Gateway {
    let plain = command(&["serve"], folder);
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={handles}:{handles}")).args([GANCHO, "serve"]);
    limited.current_dir(folder).env_clear();
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.envs(variables.iter().copied());
    Gateway::of(limited)
}

/// Sets the soft limit of a running process, because the hard one can only be lowered.
fn set_limit(served: &Gateway, handles: u32) {
    let process = format!("--pid={}", served.id());
    let nofile = format!("--nofile={handles}:");
    assert!(Command::new("prlimit").args([process, nofile]).status().unwrap().success());
}

/// Publishes an event that becomes due in a moment.
fn publish_later(served: &Gateway, key: &str, seconds: i64) -> String {
    #[expect(clippy::disallowed_methods, reason = "the gateway under test runs by the same clock")]
    let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    let body = format!(r#"{{"type":"a.b","data":{{}},"deliver_at":"{at}"}}"#);
    let made = http::call(served.address, "POST", "/v1/events", &[("x-api-key", key)], &body);
    assert_eq!(made.status, 202, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Checks that each has arrived at its first attempt, and that the endpoint's health is not affected.
fn arrived_at_once(served: &Gateway, key: &str, webhook: &str, events: &[String]) {
    let get = |path: &str| http::call(served.address, "GET", path, &[("x-api-key", key)], "");
    for event in events {
        let path = format!("/v1/deliveries?event_id={event}");
        until("it is delivered", || get(&path).json()["data"][0]["status"] == "delivered");
        let row = get(&path).json()["data"][0].clone();
        assert_eq!(row["attempts"], 1, "{row}");
    }
    let webhook = get(&format!("/v1/webhooks/{webhook}")).json();
    assert_eq!(webhook["failing_since"], serde_json::Value::Null, "{webhook}");
    assert_eq!(webhook["is_active"], true, "{webhook}");
}

/// faults.md 10: more connections than handles, held by many clients.
#[test]
fn few_file_handles_are_shared_out() {
    let folder = tempfile::tempdir().unwrap();
    let (target, _) = receiver::start();
    let served = limited(folder.path(), 256, &[]);
    let key = served.tenant("acme");
    let made = served.endpoint(&key, &format!("http://{target}/hook"));
    let mut events: Vec<String> = (0..20).map(|_| publish_later(&served, &key, 3)).collect();
    let mut held = Vec::new();
    for number in 0..400 {
        let address = if number % 2 == 0 { served.ingest.unwrap() } else { served.address };
        let Ok(mut stream) = TcpStream::connect(address) else { continue };
        let path = if number % 2 == 0 { "/webhooks/_health" } else { "/healthz" };
        let ask = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let _ = stream.write_all(ask.as_bytes());
        held.push(stream);
    }
    for _ in 0..20 {
        events.push(served.publish(&key, "a.b", "{}"));
    }
    arrived_at_once(&served, &key, made["id"].as_str().unwrap(), &events);
    drop(held);
    let log = served.stop();
    assert!(log.contains("open-file limit is lower"), "{log}");
    // Connections from outside may have to wait for a handle; deliveries never do.
    assert!(!log.contains("deferring deliveries"), "{log}");
}

/// faults.md 10: no handles are left for a while.
#[test]
fn without_file_handles_deliveries_wait_and_nobody_is_blamed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, _) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let draft =
        format!(r#"{{"url":"http://{target}/hook","events":["*"],"retry":{{"schedule":["1s"]}}}}"#);
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &draft);
    assert_eq!(made.status, 201, "{}", made.body);
    let webhook = made.json()["id"].as_str().unwrap().to_owned();
    let events: Vec<String> = (0..10).map(|_| publish_later(&served, &key, 2)).collect();
    // Fewer than are open already, so that nothing more can be opened.
    set_limit(&served, 5);
    until("it is said", || served.log.lock().unwrap().contains("deferring deliveries"));
    // New connections are not accepted meanwhile, and waiting for handles uses no CPU time.
    let waiting = TcpStream::connect(served.address).unwrap();
    let before = cpu_ticks(&served);
    // Sleeps to measure what is used meanwhile.
    thread::sleep(Duration::from_secs(2));
    let spent = cpu_ticks(&served) - before;
    assert!(spent < 100, "{spent} hundredths of a second of the processor in two");
    set_limit(&served, 4_096);
    arrived_at_once(&served, &key, &webhook, &events);
    let mut waiting = waiting;
    waiting.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut first = [0; 12];
    waiting.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let metrics = served.operator("GET", "/metrics", "").body;
    let deferred = metrics.lines().find(|line| {
        line.starts_with("gancho_deferred_total{lane=\"webhook\"}") && !line.ends_with(" 0")
    });
    assert!(deferred.is_some(), "{metrics}");
    served.stop();
}

/// Returns the CPU time of the process, in hundredths of a second.
fn cpu_ticks(served: &Gateway) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", served.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
