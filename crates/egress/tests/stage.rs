//! What the tests share: a client with short timeouts, a scripted resolver, and a way to post.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_egress::{Client, Outcome, Policy, Resolve, ResolveError, Settings};
use http::HeaderMap;
use url::Url;

/// Long enough for loopback, and short enough to wait for.
pub const DEADLINE: Duration = Duration::from_millis(300);
/// For tests that do not depend on time.
pub const AMPLE: Duration = Duration::from_secs(10);

pub const NAME: &str = "hooks.example.com";

/// Answers by a function of the number of earlier lookups.
pub struct Scripted {
    lookups: AtomicUsize,
    answers: Box<dyn Fn(usize) -> Vec<IpAddr> + Send + Sync>,
}

impl Scripted {
    pub fn new(answers: impl Fn(usize) -> Vec<IpAddr> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { lookups: AtomicUsize::new(0), answers: Box::new(answers) })
    }

    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Resolve for Scripted {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, ResolveError> {
        Ok((self.answers)(self.lookups.fetch_add(1, Ordering::SeqCst)))
    }
}

/// Settings that allow loopback and resolve every name to this machine, with short waits.
pub fn settings() -> Settings {
    Settings {
        policy: Policy { allow_http: true, ..Policy::for_dev() },
        resolver: Some(Scripted::new(|_| vec![Ipv4Addr::LOCALHOST.into()])),
        connect_timeout: Duration::from_millis(200),
        tls_timeout: Duration::from_millis(200),
        resolve_timeout: Duration::from_millis(200),
        ..Settings::default()
    }
}

pub fn client() -> Client {
    Client::new(settings()).unwrap()
}

pub fn http(port: u16) -> Url {
    format!("http://127.0.0.1:{port}/hook?a=b").parse().unwrap()
}

pub fn https(port: u16) -> Url {
    format!("https://{NAME}:{port}/hook").parse().unwrap()
}

pub async fn post(client: &Client, url: &Url, deadline: Duration) -> Outcome {
    client.post(url, HeaderMap::new(), Bytes::from_static(b"{\"a\":1}"), deadline).await
}

pub fn status(outcome: &Outcome) -> u16 {
    match &outcome.answer {
        Ok(answer) => answer.status,
        Err(miss) => panic!("no answer: {}", miss.failure),
    }
}

pub fn code(outcome: &Outcome) -> &str {
    match &outcome.answer {
        Ok(answer) => panic!("answered {}", answer.status),
        Err(miss) => miss.failure.code().as_str(),
    }
}

pub fn reason(outcome: &Outcome) -> &str {
    match &outcome.answer {
        Ok(answer) => panic!("answered {}", answer.status),
        Err(miss) => miss.failure.reason(),
    }
}
