//! Reads the body of a form.

use axum::body::Body;
use gancho_access::Principal;
use http::{StatusCode, request::Parts};

use crate::{backend::RequestGuard, dashboard::Dashboard, params::Params, problem::Problem};

/// Maximum size of a form. The largest have a JSON Schema.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum size of a form of someone without a session: a login, or a form that is stored until then.
pub const MAX_STRANGER_BYTES: usize = 16 * 1024;

/// A form, and what it holds of the gateway's memory.
pub struct FormBody {
    pub form: Params,
    pub guard: RequestGuard,
}

/// `sender` is `None` for someone without a session.
pub async fn read(
    dashboard: &Dashboard,
    sender: Option<&Principal>,
    parts: &Parts,
    body: Body,
) -> Result<FormBody, Problem> {
    let max = if sender.is_some() { MAX_BYTES } else { MAX_STRANGER_BYTES };
    let read = dashboard.backend.read_form(sender, parts, body, max).await;
    let (bytes, guard) = read.map_err(|response| Problem::of_response(&response))?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "bad_request", ""))?;
    Ok(FormBody { form: Params::parse(text), guard })
}
