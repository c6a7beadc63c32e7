//! `/ui/login/{token}`: signs in by a link.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State},
    response::Response,
};
use gancho_domain::AddressBlock;
use http::Method;

use super::login::{session_cookie, with_cookie};
use crate::{backend::Login, dashboard::Dashboard, page};

/// Opens a link. An invalid one leads to the login, as any page does for someone who is not signed in.
pub async fn open(
    State(dashboard): State<Arc<Dashboard>>,
    Path(token): Path<String>,
    address: Option<Extension<AddressBlock>>,
    method: Method,
) -> Response {
    // A program that previews links sends HEAD, which must not use it up.
    if method != Method::GET {
        return page::see_other("/ui/login");
    }
    let now = dashboard.clock.now();
    let Some(operator) = dashboard.login_links.take(&token, now) else {
        return page::see_other("/ui/login?ended=link");
    };
    if let Some(Extension(from)) = address {
        dashboard.backend.record_login(&operator, from).await;
    }
    let Ok(id) = dashboard.backend.begin_session(&Login::Operator).await else {
        return page::see_other("/ui/login");
    };
    tracing::info!("signed in to the dashboard by a link");
    with_cookie(page::see_other("/ui/"), session_cookie(&dashboard, &id))
}
