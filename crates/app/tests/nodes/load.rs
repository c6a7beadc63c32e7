//! Publishes events, and posts a partner's webhooks, without end while nodes fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use gancho_testkit::until;

use crate::{http, partner};

/// Publishes without end to the current API addresses, and remembers what was acknowledged.
pub struct Load {
    apis: Arc<Mutex<Vec<SocketAddr>>>,
    acked: Arc<Mutex<BTreeSet<String>>>,
    refused: Arc<Mutex<BTreeMap<u16, usize>>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub fn start(key: &str, apis: Vec<SocketAddr>) -> Self {
        let (apis, acked) = (Arc::new(Mutex::new(apis)), Arc::new(Mutex::new(BTreeSet::new())));
        let refused = Arc::new(Mutex::new(BTreeMap::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let threads = (0..4).map(|number| {
            let (apis, acked, is_over) = (apis.clone(), acked.clone(), is_over.clone());
            let refused = refused.clone();
            let key = key.to_owned();
            thread::spawn(move || {
                let mut turn: usize = number;
                while !is_over.load(Ordering::SeqCst) {
                    turn += 1;
                    let api = {
                        let apis = apis.lock().unwrap();
                        apis[turn % apis.len()]
                    };
                    let body = format!(r#"{{"type":"a.b","data":{{"n":{turn}}}}}"#);
                    let headers = [("x-api-key", key.as_str())];
                    let answer = http::try_call(api, "POST", "/v1/events", &headers, &body);
                    match answer {
                        Some(answer) if answer.status == 202 => {
                            let id = answer.json()["id"].as_str().unwrap().to_owned();
                            acked.lock().unwrap().insert(id);
                        }
                        Some(answer) => {
                            *refused.lock().unwrap().entry(answer.status).or_default() += 1;
                        }
                        None => {}
                    }
                    // Sleeps as a publisher does between two events: the machine is not what is tested.
                    thread::sleep(Duration::from_millis(10));
                }
            })
        });
        Self { threads: threads.collect(), apis, acked, refused, is_over }
    }

    pub fn count(&self) -> usize {
        self.acked.lock().unwrap().len()
    }

    /// Replaces one API address by another.
    pub fn turn_to(&self, place: usize, api: SocketAddr) {
        self.apis.lock().unwrap()[place] = api;
    }

    /// Returns responses other than 202, by their status.
    pub fn refusals(&self) -> BTreeMap<u16, usize> {
        self.refused.lock().unwrap().clone()
    }

    /// Checks that it continues while nodes fail.
    pub fn goes_on(&self) {
        let before = self.count();
        until("events are accepted", || self.count() > before + 20);
    }

    pub fn stop(self) -> BTreeSet<String> {
        self.is_over.store(true, Ordering::SeqCst);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        self.acked.lock().unwrap().clone()
    }
}

/// Posts one webhook after another, each until it is acknowledged, as partners do.
pub struct PartnerLoad {
    posted: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl PartnerLoad {
    /// Starts the load. `ingest` has the current addresses.
    pub fn start(ingest: Arc<Mutex<Vec<SocketAddr>>>) -> Self {
        let (posted, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (posted.clone(), is_over.clone());
        let thread = thread::spawn(move || {
            let mut turn = 0;
            while !end.load(Ordering::SeqCst) {
                let number = count.load(Ordering::SeqCst);
                let next = || {
                    turn += 1;
                    let ingest = ingest.lock().unwrap();
                    ingest[turn % ingest.len()]
                };
                partner::insist(next, &format!(r#"{{"event_id":"event-{number}"}}"#));
                count.fetch_add(1, Ordering::SeqCst);
                // Sleeps as a partner does between two events: the machine is not what is tested.
                thread::sleep(Duration::from_millis(10));
            }
        });
        Self { posted, is_over, thread }
    }

    /// Checks that it continues while nodes fail.
    pub fn goes_on(&self) {
        let before = self.posted.load(Ordering::SeqCst);
        until("webhooks are acknowledged", || self.posted.load(Ordering::SeqCst) > before + 5);
    }

    /// Stops the load. Returns how many were acknowledged.
    pub fn stop(self) -> usize {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap();
        self.posted.load(Ordering::SeqCst)
    }
}
