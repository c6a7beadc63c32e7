//! The receivers: one listener that responds, responds slowly or hangs by the path, and records arrivals.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::task::TaskTracker;

#[derive(Debug, Clone, Copy)]
pub enum SinkBehavior {
    Answers,
    /// Responds after a second.
    Dawdles,
    Hangs,
}

/// The marker before the number in events and webhooks.
pub const NUMBERED: &str = "\"n\":";

pub struct Sink {
    pub address: SocketAddr,
    marker: &'static str,
    began: Instant,
    /// The times by number of the event, in nanoseconds since the start; zero before it happens.
    sent: Vec<AtomicU64>,
    came: Vec<AtomicU64>,
    count: AtomicUsize,
    news: Notify,
}

impl Sink {
    /// Starts the receivers. In a request, the number follows the marker.
    pub async fn start(
        events: usize,
        marker: &'static str,
        tasks: &TaskTracker,
    ) -> anyhow::Result<Arc<Self>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let empty = || (0..events).map(|_| AtomicU64::new(0)).collect();
        let sink = Arc::new(Self {
            address: listener.local_addr()?,
            marker,
            began: Instant::now(),
            sent: empty(),
            came: empty(),
            count: AtomicUsize::new(0),
            news: Notify::new(),
        });
        let (mine, connections) = (sink.clone(), tasks.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let sink = mine.clone();
                let _ = stream.set_nodelay(true);
                connections.spawn(async move {
                    let answer = service_fn(move |request| take(sink.clone(), request));
                    let serve = hyper::server::conn::http1::Builder::new();
                    let _ = serve.serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        Ok(sink)
    }

    pub fn url(&self, manner: SinkBehavior) -> String {
        let path = match manner {
            SinkBehavior::Answers => "answers",
            SinkBehavior::Dawdles => "dawdles",
            SinkBehavior::Hangs => "hangs",
        };
        format!("http://{}/{path}", self.address)
    }

    /// Returns how many are counted: those with smaller numbers.
    pub fn counted(&self) -> usize {
        self.sent.len()
    }

    pub fn sent(&self, number: usize) {
        if let Some(at) = self.sent.get(number) {
            at.store(self.now(), Relaxed);
        }
    }

    fn came(&self, number: usize) {
        if let Some(at) = self.came.get(number)
            && at.compare_exchange(0, self.now(), Relaxed, Relaxed).is_ok()
        {
            self.count.fetch_add(1, Relaxed);
            self.news.notify_one();
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Returns when this many events have arrived.
    pub async fn arrived(&self, count: usize, patience: Duration) -> anyhow::Result<()> {
        while self.count.load(Relaxed) < count {
            let news = tokio::time::timeout(patience, self.news.notified()).await;
            let so_far = self.count.load(Relaxed);
            anyhow::ensure!(news.is_ok(), "only {so_far} of {count} events arrived");
        }
        Ok(())
    }

    pub fn latencies(&self) -> Vec<Duration> {
        let times = self.sent.iter().zip(&self.came);
        times
            .map(|(sent, came)| (sent.load(Relaxed), came.load(Relaxed)))
            .filter(|(_, came)| *came > 0)
            .map(|(sent, came)| Duration::from_nanos(came.saturating_sub(sent)))
            .collect()
    }

    /// Starts over.
    pub fn forget(&self) {
        self.came.iter().for_each(|at| at.store(0, Relaxed));
        self.count.store(0, Relaxed);
    }
}

async fn take(
    sink: Arc<Sink>,
    request: Request<Incoming>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let Ok(body) = request.into_body().collect().await else {
        return Ok(Response::new(Empty::new()));
    };
    match path.as_str() {
        "/dawdles" => tokio::time::sleep(Duration::from_secs(1)).await,
        "/hangs" => std::future::pending().await,
        _ => {
            if let Some(number) = number(&body.to_bytes(), sink.marker.as_bytes()) {
                sink.came(number);
            }
        }
    }
    Ok(Response::new(Empty::new()))
}

/// Returns the number after the first marker.
pub fn number(body: &[u8], marker: &[u8]) -> Option<usize> {
    let at = body.windows(marker.len()).position(|window| window == marker)? + marker.len();
    let digits = body[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&body[at..at + digits]).ok()?.parse().ok()
}
