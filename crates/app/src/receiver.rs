//! The built-in receiver: takes webhooks, checks them as a customer would, and can be told to fail.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use gancho_domain::{Clock, SystemClock};
use gancho_wire::{DEFAULT_TOLERANCE, Profile, Recipe, SigningKey, VerifyingKey};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::task::TaskTracker;

/// One webhook as it came in.
#[derive(Debug)]
pub struct Arrival {
    pub id: String,
    pub body: Bytes,
    /// Why it would not have been trusted, if so.
    pub refusal: Option<&'static str>,
    pub answered: u16,
}

pub struct Receiver {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    recipe: Recipe,
    key: VerifyingKey,
    arrivals: mpsc::UnboundedSender<Arrival>,
    fail_next: AtomicU32,
}

impl Receiver {
    /// Listens on a free port of this machine. Arrivals come out of the channel.
    pub async fn start(
        secret: &str,
        tasks: &TaskTracker,
    ) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<Arrival>)> {
        let profile = Profile::standard();
        let key = SigningKey::for_profile(&profile, secret)?.verifying_key();
        let (arrivals, seen) = mpsc::unbounded_channel();
        let state = Arc::new(State {
            recipe: Recipe::for_profile(&profile)?,
            key,
            arrivals,
            fail_next: AtomicU32::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tasks.spawn(accept(listener, state.clone(), tasks.clone()));
        Ok((Self { address, state }, seen))
    }

    /// The next so many are answered with 500.
    pub fn fail_next(&self, count: u32) {
        self.state.fail_next.store(count, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, tasks: TaskTracker) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let state = state.clone();
        let serve = service_fn(move |request| {
            let state = state.clone();
            async move { Ok::<_, Infallible>(state.take(request).await) }
        });
        tasks.spawn(async move {
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new());
            // A client that goes away is not worth a word.
            let _ = server.serve_connection(TokioIo::new(stream), serve).await;
        });
    }
}

const LARGEST: usize = 2 << 20;

impl State {
    async fn take(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            return answer(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let body = body.to_bytes();
        let headers: Vec<(&str, &[u8])> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let now = SystemClock.now();
        let keys = std::slice::from_ref(&self.key);
        let refusal = self
            .recipe
            .verify(keys, &headers, &body, now, DEFAULT_TOLERANCE)
            .err()
            .map(gancho_wire::Refusal::code);
        let fail = self
            .fail_next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok();
        let status = match (refusal, fail) {
            (Some(_), _) => StatusCode::UNAUTHORIZED,
            (None, true) => StatusCode::INTERNAL_SERVER_ERROR,
            (None, false) => StatusCode::OK,
        };
        let id = parts.headers.get("webhook-id").and_then(|id| id.to_str().ok());
        let _ = self.arrivals.send(Arrival {
            id: id.unwrap_or_default().to_owned(),
            body,
            refusal,
            answered: status.as_u16(),
        });
        answer(status)
    }
}

fn answer(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = status;
    response
}
