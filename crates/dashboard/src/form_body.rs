//! Reads the body of a form.

use std::time::Duration;

use axum::body::Body;
use http::StatusCode;
use http_body_util::{BodyExt, Limited};

use crate::{params::Params, problem::Problem};

/// Maximum size of a form.
const MAX_BYTES: usize = 1024 * 1024;
const READ_TIMEOUT: Duration = Duration::from_secs(30);

pub async fn read(body: Body) -> Result<Params, Problem> {
    let too_large = || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "");
    let reading = Limited::new(body, MAX_BYTES).collect();
    let read = tokio::time::timeout(READ_TIMEOUT, reading).await;
    let read = read.map_err(|_| Problem::new(StatusCode::REQUEST_TIMEOUT, "slow_body", ""))?;
    let bytes = read.map_err(|_| too_large())?.to_bytes();
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "bad_request", ""))?;
    Ok(Params::parse(text))
}
