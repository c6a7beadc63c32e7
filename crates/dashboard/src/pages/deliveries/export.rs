//! `/ui/deliveries/export`: the deliveries of the filter as a file of JSON lines.

use axum::response::IntoResponse;
use http::{HeaderValue, header};

use super::filter::Filter;
use crate::{dashboard::PageResult, visit::Visit};

pub async fn download(visit: Visit) -> PageResult {
    let body = visit.stream(Filter::read(&visit).to_api("/v1/deliveries/export")).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson")),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"deliveries.ndjson\""),
        ),
    ];
    Ok((headers, body).into_response())
}
