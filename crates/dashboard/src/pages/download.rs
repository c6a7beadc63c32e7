//! A file of JSON lines, forwarded as the API sends it.

use axum::response::IntoResponse;
use http::{HeaderValue, header};

use crate::{handlers::PageResult, params::Link, visit::Visit};

/// Streams the file. `disposition` names it.
pub async fn json_lines(visit: &Visit, link: Link, disposition: &'static str) -> PageResult {
    let body = visit.stream(link).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
    ];
    Ok((headers, body).into_response())
}
