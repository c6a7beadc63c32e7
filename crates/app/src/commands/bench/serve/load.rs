//! Publishes from many connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::ensure;
use tokio::{task::JoinSet, time::Instant};

use super::super::{
    http_connection::HttpConnection,
    sink::{Sink, SinkBehavior},
};

/// Where to post, with which header.
#[derive(Debug, Clone)]
pub struct Route {
    pub path: String,
    pub header: String,
}

impl Route {
    /// Publishes as the tenant of that header.
    pub fn publish(header: String) -> Self {
        Self { path: "/v1/events".into(), header }
    }

    /// Posts to the receiver directly.
    pub fn direct(sink: &Sink) -> Self {
        let url = sink.url(SinkBehavior::Answers);
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        Self { path: format!("/{path}"), header: "x-direct: yes".into() }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum LoadModel {
    /// Each connection sends after the response to its last event.
    Closed,
    /// This many per second, independent of the response times.
    Open(u32),
}

#[derive(Clone)]
pub struct Load {
    pub gateway: SocketAddr,
    pub sink: Arc<Sink>,
    /// Bytes in a body.
    pub body: usize,
    /// The number of its first event.
    pub first: usize,
}

impl Load {
    /// The same load, whose arrivals are not counted: its numbers are beyond the counted ones.
    pub fn uncounted(&self) -> Self {
        Self { first: self.sink.counted(), ..self.clone() }
    }

    pub async fn run(
        &self,
        routes: &[Route],
        events: usize,
        connections: usize,
        pace: LoadModel,
    ) -> anyhow::Result<()> {
        let routes: Arc<[Route]> = routes.into();
        let begin = Instant::now();
        let mut senders = JoinSet::new();
        for sender in 0..connections {
            let (load, routes) = (self.clone(), routes.clone());
            senders.spawn(async move {
                let mut line = HttpConnection::open(load.gateway).await?;
                for turn in (sender..events).step_by(connections) {
                    if let LoadModel::Open(rate) = pace {
                        let due = Duration::from_secs_f64(turn as f64 / f64::from(rate));
                        tokio::time::sleep_until(begin + due).await;
                    }
                    let number = load.first + turn;
                    let route = &routes[number % routes.len()];
                    let body = event(number, load.body);
                    load.sink.sent(number);
                    let (status, answer) =
                        line.post(&route.path, &route.header, body.as_bytes()).await?;
                    ensure!(
                        status < 300,
                        "answered {status}: {}",
                        String::from_utf8_lossy(&answer)
                    );
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = senders.join_next().await {
            done??;
        }
        Ok(())
    }
}

/// Returns an event. Its number comes first, so that the sink finds it quickly.
fn event(number: usize, size: usize) -> String {
    let filler = "x".repeat(size.saturating_sub(30));
    format!(r#"{{"type":"bench.event","data":{{"n":{number},"text":"{filler}"}}}}"#)
}
