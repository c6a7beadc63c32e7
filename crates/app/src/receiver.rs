//! The built-in receiver: accepts webhooks, verifies them as a customer would, and fails on request.
//!
//! `POST /control {"mode": "ok" | "fail" | "slow", "count": 1}` sets how it responds from now on, or for a
//! number of requests; `GET /control` returns the current mode. Every other request is a webhook.

mod control;

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use gancho_domain::{Clock, SystemClock};
use gancho_wire::{DEFAULT_TOLERANCE, Profile, Recipe, SigningKey, VerifyingKey};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HeaderValue},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::task::TaskTracker;

pub use control::{Control, Mode};

/// A webhook as received.
#[derive(Debug)]
pub struct ReceivedWebhook {
    pub id: String,
    pub body: Bytes,
    /// Why a customer would not have trusted it.
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
    arrivals: mpsc::UnboundedSender<ReceivedWebhook>,
    control: Control,
}

/// The response time of the slow mode, which is within every profile's timeout.
const SLOW: Duration = Duration::from_secs(3);
const MAX_SIZE: usize = 2 << 20;
const CONTROL: &str = "/control";

impl Receiver {
    /// Serves the listener, and sends arrivals to the channel.
    pub fn start(
        listener: TcpListener,
        secret: &str,
        tasks: &TaskTracker,
    ) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<ReceivedWebhook>)> {
        let profile = Profile::standard();
        let key = SigningKey::for_profile(&profile, secret)?.verifying_key();
        let (arrivals, seen) = mpsc::unbounded_channel();
        let recipe = Recipe::for_profile(&profile)?;
        let state = Arc::new(State { recipe, key, arrivals, control: Control::default() });
        let address = listener.local_addr().context("cannot read the receiver's address")?;
        tasks.spawn(accept(listener, state.clone(), tasks.clone()));
        Ok((Self { address, state }, seen))
    }

    /// Returns the control of its behavior.
    pub fn control(&self) -> &Control {
        &self.state.control
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
            // A client that disconnects is ignored.
            let _ = server.serve_connection(TokioIo::new(stream), serve).await;
        });
    }
}

impl State {
    async fn take(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, MAX_SIZE).collect().await else {
            return answer(StatusCode::PAYLOAD_TOO_LARGE, "");
        };
        let body = body.to_bytes();
        if parts.uri.path() == CONTROL {
            return self.controlled(&parts.method, &body);
        }
        if parts.method != Method::POST {
            return answer(StatusCode::METHOD_NOT_ALLOWED, "method not allowed: use POST\n");
        }
        let headers: Vec<(&str, &[u8])> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let now = SystemClock.now();
        let keys = std::slice::from_ref(&self.key);
        let refusal = self
            .recipe
            .verify(keys, &headers, &body, now, DEFAULT_TOLERANCE)
            .err()
            .map(gancho_wire::VerifyError::code);
        let mode = self.control.take();
        if mode == Mode::Slow {
            tokio::time::sleep(SLOW).await;
        }
        let status = match (refusal, mode) {
            (Some(_), _) => StatusCode::UNAUTHORIZED,
            (None, Mode::Fail) => StatusCode::INTERNAL_SERVER_ERROR,
            (None, Mode::Ok | Mode::Slow) => StatusCode::OK,
        };
        let id = parts.headers.get("webhook-id").and_then(|id| id.to_str().ok());
        let _ = self.arrivals.send(ReceivedWebhook {
            id: id.unwrap_or_default().to_owned(),
            body,
            refusal,
            answered: status.as_u16(),
        });
        answer(status, "")
    }

    fn controlled(&self, method: &Method, body: &[u8]) -> Response<Full<Bytes>> {
        if *method == Method::POST
            && let Err(error) = self.control.set_from_json(body)
        {
            return answer(StatusCode::UNPROCESSABLE_ENTITY, &format!("{error}\n"));
        }
        let mut response = answer(StatusCode::OK, &format!("{}\n", self.control.as_json()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

fn answer(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text.to_owned())));
    *response.status_mut() = status;
    response
}
