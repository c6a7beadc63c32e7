//! The tower service of the API: checks the host, and passes requests to the router.

use std::{
    convert::Infallible,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{Router, body::Body};
use http::{Request, Response, header};
use http_body_util::Either;
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt};

use crate::{
    answer::AnswerBody,
    caller::Caller,
    host::Hosts,
    listener::{ListenSettings, Peer, accept_connections},
    response_budget::ResponseOwner,
    serve,
    state::Api,
};

/// Accepts connections until `stop`, and returns when the last one is closed.
pub async fn listen(
    listener: TcpListener,
    api: Api,
    router: Router,
    settings: ListenSettings,
    stop: CancellationToken,
) -> io::Result<()> {
    let is_local = listener.local_addr()?.ip().is_loopback();
    let hosts = is_local.then(|| Hosts::new(settings.allowed_hosts.clone()));
    let traffic = api.meter.traffic.clone();
    api.calls.set_max(settings.connections);
    let service = ApiService::new(api, router, hosts);
    accept_connections(listener, move |peer| service.for_peer(peer), traffic, settings, stop).await
}

#[derive(Clone)]
pub struct ApiService {
    api: Api,
    /// Set for each connection.
    peer: Option<Peer>,
    router: Router,
    /// Set when listening on the loopback interface.
    hosts: Option<Arc<Hosts>>,
}

impl ApiService {
    pub fn new(api: Api, router: Router, hosts: Option<Hosts>) -> Self {
        Self { api, peer: None, router, hosts: hosts.map(Arc::new) }
    }

    /// Returns the service of one connection.
    pub fn for_peer(&self, peer: Peer) -> Self {
        Self { peer: Some(peer), ..self.clone() }
    }
}

impl Service<Request<Incoming>> for ApiService {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let api = self.api.clone();
        let answering = self.peer.as_ref().map(|peer| peer.connection.answer());
        let caller = self.peer.as_ref().map(|peer| Caller::new(peer, request.headers()));
        let address = caller.as_ref().map(|caller| caller.address.block);
        if let Some(hosts) = &self.hosts
            && let Err(problem) = hosts.check(request.uri(), request.headers())
        {
            return Box::pin(async move {
                let refused = serve::refuse(&api, request, problem);
                api.refusal_limiter.delay(answering, address, refused.status()).await;
                Ok(refused)
            });
        }
        let fallback = address.map_or(ResponseOwner::Operator, ResponseOwner::Address);
        if let Some(caller) = caller {
            // For pages that are merged into the router and authenticate callers themselves.
            request.extensions_mut().insert(caller.address.block);
            request.extensions_mut().insert(caller);
        }
        let router = self.router.clone();
        let connection = self.peer.as_ref().map(|peer| peer.connection.clone());
        Box::pin(async move {
            match router.oneshot(request.map(Body::new)).await {
                Ok(response) => {
                    if let Some(connection) = connection.filter(|_| is_stream(&response)) {
                        connection.mark_stream();
                    }
                    api.refusal_limiter.delay(answering, address, response.status()).await;
                    let owner = response.extensions().get::<ResponseOwner>().copied();
                    let response = api.response_budget.pace(response, owner.unwrap_or(fallback));
                    Ok(response.map(Either::Right))
                }
                Err(never) => match never {},
            }
        })
    }
}

/// Whether a response does not end by itself.
fn is_stream(response: &Response<Body>) -> bool {
    let media_type = response.headers().get(header::CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
}
