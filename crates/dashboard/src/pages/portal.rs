//! The pages of the portal: those about a tenant's objects, and its own.

use std::sync::Arc;

use axum::Router;

use super::{api_keys, of_tenants, plan, portal_start};
use crate::{
    base::Base,
    dashboard::Dashboard,
    handlers::{form, page},
};

pub fn router() -> Router<Arc<Dashboard>> {
    of_tenants(Base::Portal)
        .route("/portal/", page(portal_start::show))
        .route("/portal/plan", page(plan::show))
        .route("/portal/keys", page(api_keys::show).merge(form(api_keys::create)))
        .route(
            "/portal/keys/{key}/revoke",
            page(api_keys::ask_revoke).merge(form(api_keys::revoke)),
        )
}
