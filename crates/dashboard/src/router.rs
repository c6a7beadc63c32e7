//! The URLs of all pages, below `/ui` and `/portal`.

use std::sync::Arc;

use axum::{
    Router, extract::Request, middleware::map_response_with_state, response::Redirect, routing::get,
};

use crate::{
    assets,
    dashboard::{Dashboard, Setup},
    handlers::{miss, page, refuse_method, with_headers},
    pages, portal_routes,
};

/// Routes all pages, below `/ui` and `/portal`.
pub fn router(setup: Setup) -> Router {
    let dashboard = Arc::new(Dashboard::new(setup));
    let pages = pages::router()
        .route("/ui/{*path}", page(miss))
        .method_not_allowed_fallback(refuse_method)
        .layer(map_response_with_state(dashboard.clone(), with_headers));
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/ui/") }))
        .route("/ui", get(to_start))
        .route("/admin/queues", get(|| async { Redirect::permanent("/ui/queues") }))
        .merge(assets::router())
        .merge(pages)
        .merge(portal_routes::router(&dashboard))
        .with_state(dashboard)
}

async fn to_start(request: Request) -> Redirect {
    match request.uri().query() {
        Some(query) => Redirect::permanent(&format!("/ui/?{query}")),
        None => Redirect::permanent("/ui/"),
    }
}
