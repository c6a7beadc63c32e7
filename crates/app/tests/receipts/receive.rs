//! Webhooks of partners, with the real binary: received, dispatched, monitored, and never lost by a kill.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use gancho_testkit::until;

use crate::{
    gateway::{Gateway, command},
    partner::{self, SECRET},
    receiver::{self, Seen},
};

fn body(event: &str) -> String {
    format!(r#"{{"event_id":"{event}","amount":4200}}"#)
}

/// Returns the events that the core has received, by the id that their partner gave them.
fn events(seen: &Seen) -> BTreeSet<String> {
    let ids = seen.counts().into_keys();
    ids.filter_map(|id| {
        let got: serde_json::Value = serde_json::from_slice(&seen.body(&id)?).ok()?;
        Some(got["event_id"].as_str()?.to_owned())
    })
    .collect()
}

/// On the wire too: a sender gives up after a 4xx, and sends again after a 503.
#[test]
fn a_paused_source_asks_the_partner_to_send_again() {
    let folder = tempfile::tempdir().unwrap();
    let (core, _seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    let pause = |is_active: bool| {
        let body = format!(r#"{{"is_active":{is_active}}}"#);
        assert_eq!(served.operator("PATCH", "/v1/sources/acme", &body).status, 200);
    };
    pause(false);
    let ingest = served.ingest.unwrap();
    let refused = partner::post(ingest, &body("e1"));
    assert_eq!((refused.status, &refused.json()["code"]), (503, &"source_paused".into()));
    assert!(refused.head.contains("retry-after: 60"), "{}", refused.head);
    let forged = crate::http::call(ingest, "POST", "/webhooks/acme", &[], &body("e1"));
    assert_eq!(forged.status, 403, "a stranger is not told");
    pause(true);
    partner::insist(|| ingest, &body("e1"));
}

#[test]
fn a_partners_webhook_reaches_the_core_and_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (core, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    let ingest = served.ingest.unwrap();
    let taken = partner::post(ingest, &body("e1"));
    assert_eq!(taken.status, 204, "{}", taken.body);
    assert!(taken.head.contains("x-policy-sign: ed25519="), "{}", taken.head);
    assert_eq!(partner::post(ingest, &body("e1")).status, 204, "a repeat is taken as well");
    let forged = crate::http::call(ingest, "POST", "/webhooks/acme", &[], &body("e2"));
    assert_eq!(forged.status, 403);
    until("the core has it", || events(&seen).contains("e1"));
    assert_eq!(seen.counts().len(), 1, "and once");

    let ready = served.operator("GET", "/readyz", "").json();
    assert_eq!(ready["policy"].as_str().unwrap().len(), 64);
    let metrics = || served.operator("GET", "/metrics", "").body;
    let delivered = r#"gancho_deliveries_total{lane="dispatch",outcome="delivered"} 1"#;
    until("its result is stored", || metrics().contains(delivered));
    let metrics = metrics();
    for line in [
        r#"webhook_received_total{partner="acme"} 1"#,
        r#"gancho_webhook_repeats_total{partner="acme"} 1"#,
        r#"policy_deny_total{reason="policy_fail"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    served.stop();
    let signed = std::fs::read_dir(folder.path().join("data/checkpoints")).unwrap().count();
    assert!(signed > 0, "what was received is signed for at the latest when it stops");
}

#[test]
fn the_policy_is_read_again_on_sighup() {
    let folder = tempfile::tempdir().unwrap();
    let pack = folder.path().join("pack.json");
    let open = r#"{"version":1,"bits":["P_Webhook_Verified","P_Rate_Bucket_OK"],
        "wires":[{"name":"W_Webhook_Trusted","when":["P_Webhook_Verified","P_Rate_Bucket_OK"],
        "then":"allow_webhook"}],"else":"deny_invalid_access"}"#;
    std::fs::write(&pack, open).unwrap();
    let served = Gateway::start(folder.path(), &[("GANCHO_POLICY_FILE", pack.to_str().unwrap())]);
    served.source("acme", SECRET, "http://127.0.0.1:9458/core");
    let ingest = served.ingest.unwrap();
    assert_eq!(partner::post(ingest, &body("e1")).status, 204);
    let closed = r#"{"version":1,"bits":[],"wires":[],"else":"deny_invalid_access"}"#;
    std::fs::write(&pack, closed).unwrap();
    served.signal("HUP");
    let refused = |event| partner::post(ingest, &body(event)).status == 403;
    until("it is closed", || refused("e2"));
    // An invalid pack changes nothing, and is reported.
    std::fs::write(&pack, "nonsense").unwrap();
    served.signal("HUP");
    until("it is reported", || {
        served.log.lock().unwrap().contains("the previous one stays active")
    });
    assert!(refused("e3"));
    std::fs::write(&pack, open).unwrap();
    served.signal("HUP");
    until("it is open again", || !refused("e4"));
    // Nor does a valid one with invalid settings: both are reloaded, or neither.
    std::fs::write(&pack, closed).unwrap();
    let config = folder.path().join("gancho.toml");
    std::fs::write(&config, "concurrency = 0\n").unwrap();
    served.signal("HUP");
    let stays = "could not reload the settings; the previous ones stay active";
    until("it is reported", || served.log.lock().unwrap().contains(stays));
    assert!(!refused("e5"));
    served.stop();
}

#[test]
fn a_node_may_receive_alone_and_another_hands_it_on() {
    let folder = tempfile::tempdir().unwrap();
    let (core, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    served.stop();

    let alone = Gateway::of(command(&["serve", "--role", "ingest"], folder.path()));
    assert_eq!(partner::post(alone.ingest.unwrap(), &body("e1")).status, 204);
    assert_eq!(alone.operator("GET", "/v1/sources", "").status, 404);
    // It reports what it alone knows, and reads its own records again.
    let forged = crate::http::call(alone.ingest.unwrap(), "POST", "/webhooks/acme", &[], "{}");
    assert_eq!(forged.status, 403);
    let seen_here = alone.operator("GET", "/v1/sources/acme/rejections", "").json();
    assert_eq!(seen_here["data"][0]["reason"], "missing_header", "{seen_here}");
    assert_eq!(alone.operator("POST", "/v1/_reload", "").status, 200);
    let stranger = crate::http::call(alone.address, "POST", "/v1/_reload", &[], "");
    assert_eq!(stranger.status, 401);
    assert_eq!(alone.operator("GET", "/readyz", "").status, 200);
    alone.stop();
    assert!(events(&seen).is_empty());

    let worker = Gateway::of(command(&["serve", "--role", "worker"], folder.path()));
    assert!(worker.ingest.is_none());
    until("it is handed on", || events(&seen).contains("e1"));
    worker.stop();
}

/// faults.md B14: roles on separate nodes see the same; the policy's hash is in the log.
#[test]
fn an_api_node_sees_what_an_ingest_node_saw() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let url = database.url();
    let ring = folders[0].path().join("data/master.key");
    let start = |folder: &std::path::Path, role: &str| {
        let mut command = command(&["serve", "--role", role], folder);
        command.env("GANCHO_DATABASE_URL", &url);
        // Both must have the ring that encrypts the secrets; the first creates it.
        if ring.exists() {
            command.env("GANCHO_MASTER_KEY_FILE", &ring);
        }
        Gateway::of(command)
    };
    let api = start(folders[0].path(), "api");
    api.source("acme", SECRET, "http://127.0.0.1:9458/core");
    let ingest = start(folders[1].path(), "ingest");
    assert_eq!(partner::post(ingest.ingest.unwrap(), &body("e1")).status, 204);
    assert_eq!(partner::post(ingest.ingest.unwrap(), &body("e1")).status, 204);
    for path in ["/webhooks/acme", "/webhooks/nobody"] {
        let forged = crate::http::call(ingest.ingest.unwrap(), "POST", path, &[], "{}");
        assert_eq!(forged.status, 403);
    }
    let rejections = |api: &Gateway, path: &str| {
        let list = api.operator("GET", path, "").json()["data"].as_array().unwrap().clone();
        list.into_iter().map(|one| one["partner"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let agrees = |api: &Gateway| {
        let counts = api.operator("GET", "/v1/sources/acme", "").json()["counts"].clone();
        counts["received"] == 1
            && counts["repeats"] == 1
            && rejections(api, "/v1/sources/acme/rejections") == ["acme"]
            && rejections(api, "/v1/rejections") == ["nobody"]
    };
    until("the other node sees it", || agrees(&api));
    let log = ingest.stop();
    assert!(log.contains("policy pack loaded"), "{log}");
    // What it signed for at its stop is known too, and all of it exists after a restart.
    let checkpoint =
        |api: &Gateway| api.operator("GET", "/v1/ledger", "").json()["checkpoint"].clone();
    assert_eq!(checkpoint(&api)["size"], 1);
    api.stop();
    let api = start(folders[0].path(), "api");
    assert!(agrees(&api));
    assert_eq!(checkpoint(&api)["size"], 1);
    api.stop();
}

/// Killed at one of the calls that read, write, sync, answer and dispatch a webhook. What was acknowledged
/// arrives; what was not is posted again, as partners do, and arrives too.
#[test]
fn killed_between_any_two_steps_nothing_is_lost_and_nothing_suppressed() {
    let folder = tempfile::tempdir().unwrap();
    let (core, seen) = receiver::start();
    let served = Gateway::start(folder.path(), &[]);
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    served.stop();
    let calls = ["accept4", "recvfrom", "pwrite64", "fdatasync", "sendto,write,writev", "connect"];
    let mut killed = 0;
    for calls in calls {
        for when in 1..=4 {
            let event = format!("{}-{when}", calls.replace(',', "-"));
            let served = Gateway::start(folder.path(), &[]);
            let ingest = served.ingest.unwrap();
            let mut tracer = attach(&served, calls, when);
            // Several, so that the call is reached even if a step was saved.
            for number in 0..3 {
                let _ = partner::try_post(ingest, &body(&format!("{event}-{number}")));
            }
            // Sleeps because the last steps come after the response, where they are not visible.
            thread::sleep(Duration::from_millis(100));
            killed += u64::from(!is_alive(&served));
            let _ = tracer.kill();
            let _ = tracer.wait();
            drop(served);
            let served = Gateway::start(folder.path(), &[]);
            for number in 0..3 {
                let event = format!("{event}-{number}");
                partner::insist(|| served.ingest.unwrap(), &body(&event));
                until("it arrives", || events(&seen).contains(&event));
            }
            served.stop();
        }
    }
    assert!(killed >= 12, "only {killed} of 24 were killed in the middle");
    // One receipt for each, whatever happened in between.
    assert_eq!(seen.counts().len(), 24 * 3);
}

fn is_alive(served: &Gateway) -> bool {
    crate::http::try_call(served.address, "GET", "/healthz", &[], "").is_some()
}

fn attach(served: &Gateway, calls: &str, when: u32) -> std::process::Child {
    let (trace, inject) =
        (format!("trace={calls}"), format!("inject={calls}:signal=KILL:when={when}"));
    let id = served.id().to_string();
    let tracer = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-p", &id, "-e", &trace, "-e", &inject])
        .spawn()
        .expect("this test needs strace: apt-get install strace");
    let status = format!("/proc/{id}/status");
    // Or killed already, because the store also syncs by itself.
    until("it is traced", || {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        !told.contains("TracerPid:\t0\n") || told.contains("State:\tZ")
    });
    tracer
}

/// Killed again and again while partners post without a pause.
fn survives(database: Option<&str>, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (core, seen) = receiver::start();
    let start = || {
        let url = database.map(|url| ("GANCHO_DATABASE_URL", url));
        Gateway::start(folder.path(), url.as_slice())
    };
    let mut served = start();
    served.source("acme", SECRET, &format!("http://{core}/hooks"));
    let ingest: Arc<Mutex<SocketAddr>> = Arc::new(Mutex::new(served.ingest.unwrap()));
    let (is_over, taken) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let partners: Vec<_> = (0..8)
        .map(|number| {
            let (ingest, is_over, taken) = (ingest.clone(), is_over.clone(), taken.clone());
            thread::spawn(move || {
                for turn in 0.. {
                    if is_over.load(Relaxed) {
                        return;
                    }
                    let event = format!("p{number}-{turn}");
                    partner::insist(|| *ingest.lock().unwrap(), &body(&event));
                    taken.lock().unwrap().push(event);
                }
            })
        })
        .collect();
    for cycle in 0..kills {
        let before = taken.lock().unwrap().len();
        until("some are taken", || taken.lock().unwrap().len() > before + 20);
        // Sleeps to be killed at another moment each time.
        thread::sleep(Duration::from_millis(cycle * 37 % 200));
        served.signal("KILL");
        drop(served);
        served = start();
        *ingest.lock().unwrap() = served.ingest.unwrap();
    }
    is_over.store(true, Relaxed);
    for partner in partners {
        partner.join().unwrap();
    }
    let taken: BTreeSet<String> = taken.lock().unwrap().drain(..).collect();
    until("all arrive", || events(&seen).is_superset(&taken));
    assert_eq!(seen.counts().len(), events(&seen).len(), "an event has one receipt");
    served.stop();
    println!("{kills} kills: {} taken, all arrived", taken.len());
}

#[test]
fn nothing_taken_is_lost_to_kill_9_on_sqlite() {
    survives(None, 8);
}

#[test]
fn nothing_taken_is_lost_to_kill_9_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    survives(Some(&database.url()), 4);
}

/// The same webhook at two nodes at the same moment is one receipt.
#[test]
fn two_nodes_make_one_receipt() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let (core, seen) = receiver::start();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let url = database.url();
    let first = Gateway::start(folders[0].path(), &[("GANCHO_DATABASE_URL", &url)]);
    // Both must have the ring that encrypts the secrets.
    let ring = folders[0].path().join("data/master.key");
    let ring = ("GANCHO_MASTER_KEY_FILE", ring.to_str().unwrap());
    let second = Gateway::start(folders[1].path(), &[("GANCHO_DATABASE_URL", &url), ring]);
    first.source("acme", SECRET, &format!("http://{core}/hooks"));
    // A node reads new sources every few seconds.
    let knows =
        |served: &Gateway| partner::post(served.ingest.unwrap(), &body("warm")).status == 204;
    until("both know the partner", || knows(&first) && knows(&second));
    for round in 0..50 {
        let body = body(&format!("e{round}"));
        let posts: Vec<_> = [&first, &second, &first, &second]
            .map(|node| {
                let (ingest, body) = (node.ingest.unwrap(), body.clone());
                thread::spawn(move || partner::post(ingest, &body).status)
            })
            .into_iter()
            .collect();
        for post in posts {
            assert_eq!(post.join().unwrap(), 204);
        }
    }
    until("all arrive", || events(&seen).len() == 51);
    // Once all existing ones have been dispatched, no other can arrive. (faults.md E5)
    let receipts = || {
        let page = first.operator("GET", "/v1/sources/acme/receipts?limit=100", "").json();
        assert!(page["next_cursor"].is_null(), "{page}");
        page["data"].as_array().unwrap().clone()
    };
    until("all are dispatched", || receipts().iter().all(|row| row["status"] == "dispatched"));
    assert_eq!((receipts().len(), seen.counts().len()), (51, 51), "an event has one receipt");
    first.stop();
    second.stop();
}
