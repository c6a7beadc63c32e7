//! What supervisors and collectors ask: `/healthz`, `/readyz` and `/metrics`. What they are told is
//! `watch`'s business.

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
    routing::get,
};
use http::header;

use crate::{auth, route::Needs, router::into_axum, serve, state::Api, watch::Page};

pub fn router(api: &Api) -> Router {
    let (health, ready, metrics) = (api.clone(), api.clone(), api.clone());
    Router::new()
        .route("/healthz", get(move || async move { shown(health.watch.healthz()) }))
        .route("/readyz", get(move || async move { shown(ready.watch.readyz().await) }))
        .route(
            "/metrics",
            get(move |request: Request| async move { measured(&metrics, request).await }),
        )
}

async fn measured(api: &Api, request: Request) -> Response {
    let headers = request.headers();
    if !api.settings.metrics_open
        && let Err(problem) = auth::authorize(api, headers, Needs::Operator).await
    {
        return into_axum(serve::refuse(api, headers, problem));
    }
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    shown(api.watch.metrics(&api.meter, accept).await)
}

fn shown(page: Page) -> Response {
    let headers = [
        (header::CONTENT_TYPE, page.content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (page.status, headers, page.body).into_response()
}
