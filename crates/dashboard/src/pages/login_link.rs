//! `/ui/login/{token}`: signs in by a link that was made for it.

use std::sync::Arc;

use axum::{
    extract::{Path, State},
    response::Response,
};

use super::login::with_cookie;
use crate::{backend::Login, cookies, dashboard::Dashboard, page, sessions::MAX_AGE};

/// A link that is not valid leads to the login, as any page does for someone who is not signed in.
pub async fn open(State(dashboard): State<Arc<Dashboard>>, Path(token): Path<String>) -> Response {
    let now = dashboard.clock.now();
    let Some(operator) = dashboard.login_links.take(&token, now) else {
        return page::see_other("/ui/login");
    };
    let Ok(id) = dashboard.sessions.begin(Login { operator, stamp: None }, now) else {
        return page::see_other("/ui/login");
    };
    tracing::info!("signed in to the dashboard by a link");
    let cookie = cookies::write(cookies::SESSION, &id, MAX_AGE.as_secs(), dashboard.is_secure());
    with_cookie(page::see_other("/ui/"), cookie)
}
