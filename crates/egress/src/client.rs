//! One request under one deadline.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{Code, TenantId};
use http::{HeaderMap, Method, Response, header::PROXY_AUTHORIZATION};
use hyper::body::Incoming;
use parking_lot::RwLock;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::{Position, Url};

use crate::{
    address::BLOCKED,
    answer::{
        BodyRead, MAX_STORED_RESPONSE, broken, header_lines, keep_for, read_body,
        was_refused_unread,
    },
    connect::Connector,
    connections::{ConnectionOwner, ExclusiveConnection, PooledConnection},
    handshake,
    outcome::{Answer, Outcome, RequestError},
    pool::Pool,
    request::{self, RequestParts, TargetForm},
    retry_after::RetryAfter,
    settings::{Settings, SetupError},
    url_policy::{Policy, Target, UrlError},
};

/// Cheap to clone; all clones share one pool.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    policy: RwLock<Arc<Policy>>,
    connector: Connector,
    pool: Arc<Pool>,
    tasks: TaskTracker,
    stopped: CancellationToken,
}

/// How soon after its response a connection must be ready for another request. Otherwise it is closed.
const SETTLES_WITHIN: Duration = Duration::from_secs(1);
const MAX_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

enum SendResult {
    Answered(Response<Incoming>),
    /// The peer has not read a byte of it, so it may be sent again.
    HandedBack(HeaderMap, RequestError),
}

impl Client {
    /// Must be called inside a Tokio runtime.
    pub fn new(settings: Settings) -> Result<Self, SetupError> {
        let pool = Arc::new(Pool::new(&settings));
        let inner = Inner {
            connector: Connector::new(&settings)?,
            policy: RwLock::new(Arc::new(settings.policy)),
            tasks: TaskTracker::new(),
            stopped: CancellationToken::new(),
            pool: pool.clone(),
        };
        let every = (settings.idle_timeout / 2).max(Duration::from_millis(10));
        let stopped = inner.stopped.clone();
        inner.tasks.spawn(async move {
            while timeout(every, stopped.cancelled()).await.is_err() {
                pool.sweep();
            }
        });
        Ok(Self(Arc::new(inner)))
    }

    /// Replaces the policy, also for connections that are already open.
    pub fn set_policy(&self, policy: Policy) {
        *self.0.policy.write() = Arc::new(policy);
    }

    pub fn policy(&self) -> Arc<Policy> {
        self.0.policy.read().clone()
    }

    /// Sends once and reads the response, all within `deadline`. Redirects are responses like any other.
    pub async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        deadline: Duration,
    ) -> Outcome {
        let ask = RequestParts { owner: None, method: Method::POST, url, body };
        self.ask(ask, headers, MAX_STORED_RESPONSE, deadline).await
    }

    /// Does the same for a tenant, which connections that stay open are counted for.
    pub async fn post_for(
        &self,
        tenant: TenantId,
        url: &Url,
        headers: HeaderMap,
        body: Bytes,
        deadline: Duration,
    ) -> Outcome {
        let ask = RequestParts { owner: Some(tenant), method: Method::POST, url, body };
        self.ask(ask, headers, MAX_STORED_RESPONSE, deadline).await
    }

    /// Fetches a short document under the same rules, and keeps at most this many bytes.
    pub async fn get(&self, url: &Url, deadline: Duration, max: usize) -> Outcome {
        let ask = RequestParts { owner: None, method: Method::GET, url, body: Bytes::new() };
        self.ask(ask, HeaderMap::new(), max, deadline).await
    }

    /// Sends any other request, and stores at most this many bytes of the response.
    pub async fn send(
        &self,
        request: http::Request<Bytes>,
        url: &Url,
        deadline: Duration,
        max: usize,
    ) -> Outcome {
        let (parts, body) = request.into_parts();
        let ask = RequestParts { owner: None, method: parts.method, url, body };
        self.ask(ask, parts.headers, max, deadline).await
    }

    async fn ask(
        &self,
        ask: RequestParts<'_>,
        headers: HeaderMap,
        max: usize,
        deadline: Duration,
    ) -> Outcome {
        let started = Instant::now();
        let until = started + deadline.min(MAX_DEADLINE);
        let answer = self.0.attempt(ask, headers, max, until).await;
        Outcome { answer, latency: started.elapsed() }
    }

    /// Returns the number of idle connections and of shared ones with free streams.
    pub fn kept_connections(&self) -> usize {
        self.0.pool.idle_count()
    }

    /// Closes idle connections and waits for requests in flight.
    pub async fn stop(&self) {
        self.0.pool.close();
        self.0.stopped.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stopped.cancel();
    }
}

impl Inner {
    async fn attempt(
        &self,
        ask: RequestParts<'_>,
        mut headers: HeaderMap,
        max: usize,
        until: Instant,
    ) -> Result<Answer, RequestError> {
        let url = ask.url;
        let policy = self.policy.read().clone();
        let target = policy.check(url).map_err(|refused| match refused {
            UrlError::Address => RequestError::refused(BLOCKED),
            other => RequestError::refused(other.to_string()),
        })?;
        let origin = &url[..Position::BeforePath];
        request::clean(&mut headers);
        let fits = |peer| policy.admit((peer, target.port).into()).is_ok();
        let mut idle = self.pool.take(origin, ask.owner, fits);
        loop {
            let is_new = idle.is_none();
            let mut held = match idle.take() {
                Some(held) => held,
                // Boxed, so that the future of an attempt stays small: most attempts use an open connection.
                None => timeout_at(until, Box::pin(self.open(origin, ask.owner, target, &policy)))
                    .await
                    .unwrap_or_else(|_| Err(timeout_error("while connecting")))?,
            };
            match self.send(&mut held, ask.clone(), headers, until).await? {
                SendResult::Answered(response) => {
                    return Ok(self.finish(origin, held, response, max, until).await);
                }
                SendResult::HandedBack(_, failure) if is_new => return Err(failure),
                SendResult::HandedBack(back, _) => headers = back,
            }
        }
    }

    async fn open(
        &self,
        origin: &str,
        owner: ConnectionOwner,
        target: Target<'_>,
        policy: &Policy,
    ) -> Result<PooledConnection, RequestError> {
        let opened = self.connector.open(target, policy).await?;
        let sender = handshake::start(opened.stream, &self.tasks).await?;
        Ok(self.pool.hold(origin, owner, sender, opened.peer))
    }

    /// Sends the request and waits for the response headers.
    async fn send(
        &self,
        held: &mut PooledConnection,
        ask: RequestParts<'_>,
        headers: HeaderMap,
        until: Instant,
    ) -> Result<SendResult, RequestError> {
        let misshapen = |error: http::Error| RequestError::refused(error.to_string());
        let (sent, spare) = match held {
            PooledConnection::ExclusiveConnection(own) => {
                let request = self.shape_h1(ask, headers).map_err(misshapen)?;
                (timeout_at(until, own.sender.try_send_request(request)).await, None)
            }
            PooledConnection::SharedConnection(ticket) => {
                let spare = headers.clone();
                let request = request::shape(ask, TargetForm::Http2, headers).map_err(misshapen)?;
                (timeout_at(until, ticket.sender().try_send_request(request)).await, Some(spare))
            }
        };
        match sent {
            Err(_) => Err(timeout_error("before a response arrived")),
            Ok(Ok(response)) => Ok(SendResult::Answered(response)),
            Ok(Err(mut error)) => {
                let back = error.take_message().map(|request| request.into_parts().0.headers);
                let error = error.into_error();
                let refused = spare.filter(|_| was_refused_unread(&error));
                match back.or(refused) {
                    Some(headers) => Ok(SendResult::HandedBack(headers, broken(&error))),
                    None => Err(broken(&error)),
                }
            }
        }
    }

    fn shape_h1(
        &self,
        ask: RequestParts<'_>,
        mut headers: HeaderMap,
    ) -> Result<http::Request<handshake::Body>, http::Error> {
        match self.connector.proxy() {
            Some(proxy) if ask.url.scheme() == "http" => {
                if let Some(value) = &proxy.authorization {
                    headers.insert(PROXY_AUTHORIZATION, value.clone());
                }
                request::shape(ask, TargetForm::Absolute, headers)
            }
            _ => request::shape(ask, TargetForm::Origin, headers),
        }
    }

    async fn finish(
        &self,
        origin: &str,
        held: PooledConnection,
        response: Response<Incoming>,
        max: usize,
        until: Instant,
    ) -> Answer {
        let (parts, body) = response.into_parts();
        let BodyRead { start, ended, is_whole } = read_body(body, max, until).await;
        if let (PooledConnection::ExclusiveConnection(own), true) = (held, ended) {
            self.keep(origin, own, keep_for(&parts.headers));
        }
        Answer {
            status: parts.status.as_u16(),
            headers: header_lines(&parts.headers),
            body: start,
            is_whole,
            retry_after: RetryAfter::of(&parts.headers),
        }
    }

    /// Keeps a connection that is ready for another request: not one that is still busy, or has unexpected
    /// data to read.
    fn keep(&self, origin: &str, mut own: ExclusiveConnection, keep_for: Option<Duration>) {
        if own.sender.is_ready() {
            self.pool.put_back(origin, own, keep_for);
        } else if !own.sender.is_closed() {
            let (pool, origin) = (self.pool.clone(), origin.to_owned());
            self.tasks.spawn(async move {
                if let Ok(Ok(())) = timeout(SETTLES_WITHIN, own.sender.ready()).await {
                    pool.put_back(&origin, own, keep_for);
                }
            });
        }
    }
}

fn timeout_error(when: &str) -> RequestError {
    RequestError::new(Code::TIMEOUT, format!("timed out {when}"))
}
