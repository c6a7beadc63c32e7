//! The first to see a request: turns away what was meant for another host, sends an event to be
//! published straight on, and leaves the rest to the router.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{Router, body::Body};
use http::{Method, Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use tower::{Service, ServiceExt};

use super::Peer;
use crate::{answer::AnswerBody, caller::Caller, host::Hosts, router, serve, state::Api};

#[derive(Clone)]
pub struct Front {
    api: Api,
    /// Nothing before there is a connection.
    peer: Option<Peer>,
    router: Router,
    /// Where only names of this machine are answered to.
    hosts: Option<Arc<Hosts>>,
    publishes: bool,
}

impl Front {
    pub fn new(api: Api, router: Router, hosts: Option<Hosts>, publishes: bool) -> Self {
        Self { api, peer: None, router, hosts: hosts.map(Arc::new), publishes }
    }

    /// For one connection.
    pub fn of(&self, peer: Peer) -> Self {
        Self { peer: Some(peer), ..self.clone() }
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let api = self.api.clone();
        let answering = self.peer.as_ref().map(|peer| peer.standing.answer());
        if let Some(peer) = &self.peer {
            let caller = Caller::new(peer, request.headers());
            request.extensions_mut().insert(caller);
        }
        if let Some(hosts) = &self.hosts
            && let Err(problem) = hosts.check(request.uri(), request.headers())
        {
            let refused = serve::refuse(&api, request, problem);
            return Box::pin(std::future::ready(Ok(refused)));
        }
        if self.publishes && *request.method() == Method::POST && is_publish(request.uri().path()) {
            const PUBLISH: &[usize] = &[router::PUBLISH];
            return Box::pin(async move {
                let _answering = answering;
                Ok(serve::serve(&api, PUBLISH, Some(Vec::new()), request).await)
            });
        }
        let router = self.router.clone();
        Box::pin(async move {
            let _answering = answering;
            match router.oneshot(request.map(Body::new)).await {
                Ok(response) => Ok(response.map(Either::Right)),
                Err(never) => match never {},
            }
        })
    }
}

fn is_publish(path: &str) -> bool {
    path == "/v1/events" || path == "/events"
}
