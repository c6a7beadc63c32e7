//! The endpoints of monitoring: `/healthz`, `/readyz` and `/metrics`. Their content comes from `watch`.

use axum::{
    Router,
    extract::Request,
    response::{IntoResponse, Response},
    routing::get,
};
use http::header;

use crate::{
    answer::into_axum,
    auth,
    caller::Caller,
    route::Needs,
    serve,
    state::{Api, MetricsAccess},
    watch::Page,
};

pub fn router(api: &Api) -> Router {
    let (health, ready, metrics) = (api.clone(), api.clone(), api.clone());
    Router::new()
        .route("/healthz", get(move || async move { render(health.watch.healthz()) }))
        .route("/readyz", get(move || async move { render(ready.watch.readyz().await) }))
        .route(
            "/metrics",
            get(move |request: Request| async move { metrics_page(&metrics, request).await }),
        )
}

async fn metrics_page(api: &Api, request: Request) -> Response {
    let (headers, caller) = (request.headers(), request.extensions().get::<Caller>());
    let is_open = match api.settings.metrics_for {
        MetricsAccess::Anyone => true,
        MetricsAccess::ThisMachine => caller.is_some_and(|caller| caller.is_local),
        MetricsAccess::Operator => false,
    };
    if !is_open && let Err(problem) = auth::authorize(api, headers, caller, Needs::Operator).await {
        return into_axum(serve::refuse(api, request, problem));
    }
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    render(api.watch.metrics(&api.meter, accept).await)
}

fn render(page: Page) -> Response {
    let headers = [
        (header::CONTENT_TYPE, page.content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (page.status, headers, page.body).into_response()
}
