//! E-mails with the real binary: whatever was acknowledged is sent and reported, however often the gateway is
//! killed. The mail server is a real one, of `crates/mail/tests/servers`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use data_encoding::BASE64;
use gancho_testkit::{python::PythonServer, until};
use serde_json::{Value, json};

use crate::{
    gateway::Gateway,
    http,
    receiver::{self, Seen},
};

const CONCURRENCY: usize = 32;

pub struct MailServer {
    server: PythonServer,
    port: u64,
}

impl MailServer {
    pub fn start() -> Self {
        let server = PythonServer::start("crates/mail/tests/servers/smtp.py", &[]).unwrap();
        let ports: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
        Self { server, port: ports["plain"].as_u64().unwrap() }
    }

    /// Returns the URL. `login` is `user:password@`, or empty.
    pub fn url(&self, login: &str) -> String {
        format!("smtp://{login}127.0.0.1:{}?tls=none", self.port)
    }

    /// Returns how often each was accepted, by its Message-ID, which begins with its outboxId.
    pub fn letters(&self) -> BTreeMap<String, usize> {
        let mut letters = BTreeMap::new();
        for line in self.server.lines() {
            let told: Value = serde_json::from_str(&line).unwrap();
            let Some(content) = told["content"].as_str() else { continue };
            let content = String::from_utf8(BASE64.decode(content.as_bytes()).unwrap()).unwrap();
            let mut lines = content.lines();
            let id = lines.find_map(|line| line.strip_prefix("Message-ID: <")).unwrap();
            *letters.entry(id.split('@').next().unwrap().to_owned()).or_default() += 1;
        }
        letters
    }
}

/// Returns the events that the tenant received about each e-mail: numbers and types, each event once.
fn told(seen: &Seen) -> BTreeMap<String, BTreeSet<(u64, String)>> {
    let mut told: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for id in seen.counts().into_keys() {
        let event: Value = serde_json::from_slice(&seen.body(&id).unwrap()).unwrap();
        let email = event["data"]["outboxId"].as_str().unwrap().to_owned();
        let number = event["sequenceNumber"].as_u64().unwrap();
        told.entry(email)
            .or_default()
            .insert((number, event["eventType"].as_str().unwrap().into()));
    }
    told
}

/// Submits as callers do: again, under the same key, until it is acknowledged.
fn insist(address: impl Fn() -> SocketAddr, key: &str, name: &str) -> String {
    let email = json!({
        "from": "Shop <shop@example.com>", "to": "ana@example.com", "subject": name, "text": "Hello",
        "idempotencyKey": name,
    });
    let mut id = None;
    until("an e-mail is taken", || {
        let headers = [("x-api-key", key)];
        let answer =
            http::try_call(address(), "POST", "/v1/email/send", &headers, &email.to_string());
        id = answer.filter(|answer| answer.status == 201).map(|answer| answer.json());
        id.is_some()
    });
    id.unwrap()["outboxId"].as_str().unwrap().to_owned()
}

fn start(folder: &Path, url: &str, database: Option<&str>) -> Gateway {
    let concurrency = CONCURRENCY.to_string();
    let mut variables = vec![
        ("GANCHO_SMTP_URL", url),
        ("GANCHO_EMAIL_RATE", "none"),
        ("GANCHO_EMAIL_CONCURRENCY", &concurrency),
    ];
    variables.extend(database.map(|url| ("GANCHO_DATABASE_URL", url)));
    Gateway::start(folder, &variables)
}

/// Kills the gateway again and again while e-mails are submitted without a pause.
fn survives(database: Option<&str>, kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (hook, seen) = receiver::start();
    let mail = MailServer::start();
    let start = || start(folder.path(), &mail.url(""), database);
    let mut served = start();
    let key = served.tenant("shop");
    let endpoint = json!({
        "url": format!("http://{hook}/hook"), "events": ["email.*"], "profile": "email-gateway",
    });
    let mine = [("x-api-key", key.as_str())];
    let made = http::call(served.address, "POST", "/v1/webhooks", &mine, &endpoint.to_string());
    assert_eq!(made.status, 201, "{}", made.body);

    let address = Arc::new(Mutex::new(served.address));
    let is_over = Arc::new(AtomicBool::new(false));
    let taken: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let callers: Vec<_> = (0..16)
        .map(|number| {
            let (address, is_over, taken) = (address.clone(), is_over.clone(), taken.clone());
            let key = key.clone();
            thread::spawn(move || {
                for turn in 0.. {
                    if is_over.load(Relaxed) {
                        return;
                    }
                    let name = format!("c{number}-{turn}");
                    let id = insist(|| *address.lock().unwrap(), &key, &name);
                    assert!(taken.lock().unwrap().insert(id), "each has an id of its own");
                }
            })
        })
        .collect();
    for cycle in 0..kills {
        let before = taken.lock().unwrap().len();
        until("some are taken", || taken.lock().unwrap().len() > before + 20);
        // Sleeps to be killed at another moment each time.
        thread::sleep(Duration::from_millis(cycle as u64 * 37 % 200));
        served.signal("KILL");
        drop(served);
        served = start();
        *address.lock().unwrap() = served.address;
    }
    is_over.store(true, Relaxed);
    for caller in callers {
        caller.join().unwrap();
    }

    let taken = std::mem::take(&mut *taken.lock().unwrap());
    let is_sent = |events: &BTreeSet<(u64, String)>| {
        events.iter().any(|(_, event_type)| event_type == "email.sent")
    };
    // Another process takes over what a killed one held when its lease has expired.
    until("the tenant is notified that all were sent", || {
        let told = told(&seen);
        taken.iter().all(|id| told.get(id).is_some_and(is_sent))
    });
    let letters = mail.letters();
    for id in &taken {
        assert!(letters.contains_key(id), "{id} was never sent");
        let shown =
            http::call(served.address, "GET", &format!("/v1/emails/{id}"), &mine, "").json();
        assert_eq!(shown["status"], "SENT", "{shown}");
    }
    // An e-mail that was accepted without an acknowledgment has the key of an acknowledged one: none is left.
    assert_eq!(letters.keys().collect::<Vec<_>>(), taken.iter().collect::<Vec<_>>());
    for (id, events) in told(&seen) {
        let numbers: Vec<u64> = events.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "{id}: {events:?}");
        let sent = events.iter().filter(|(_, event_type)| event_type == "email.sent").count();
        assert_eq!(sent, 1, "{id}: {events:?}");
    }
    // Only a kill causes duplicates: of e-mails that were in flight, or sent and not yet recorded.
    let repeats: usize = letters.values().map(|count| count - 1).sum();
    assert!(letters.values().all(|count| *count <= 1 + kills), "{letters:?}");
    served.stop();
    println!("{kills} kills: {} taken, all sent and told; {repeats} sent again", taken.len());
}

#[test]
fn no_e_mail_is_lost_to_kill_9_on_sqlite() {
    survives(None, 8);
}

#[test]
fn no_e_mail_is_lost_to_kill_9_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    survives(Some(&database.url()), 3);
}
