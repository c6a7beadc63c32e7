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

use crate::{answer::AnswerBody, host::Hosts, router, serve, state::Api};

#[derive(Clone)]
pub struct Front {
    api: Api,
    router: Router,
    /// Where only names of this machine are answered to.
    hosts: Option<Arc<Hosts>>,
    publishes: bool,
}

impl Front {
    pub fn new(api: Api, router: Router, hosts: Option<Hosts>, publishes: bool) -> Self {
        Self { api, router, hosts: hosts.map(Arc::new), publishes }
    }
}

impl Service<Request<Incoming>> for Front {
    type Response = Response<AnswerBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let api = self.api.clone();
        if let Some(hosts) = &self.hosts
            && let Err(problem) = hosts.check(request.uri(), request.headers())
        {
            let refused = serve::refuse(&api, request.headers(), problem);
            return Box::pin(std::future::ready(Ok(refused)));
        }
        if self.publishes && *request.method() == Method::POST && is_publish(request.uri().path()) {
            const PUBLISH: &[usize] = &[router::PUBLISH];
            return Box::pin(async move {
                Ok(serve::serve(&api, PUBLISH, Some(Vec::new()), request).await)
            });
        }
        let router = self.router.clone();
        Box::pin(async move {
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
