//! `POST /v1/portal-links`: creates a link to the dashboard, limited to one tenant and a short time.

use std::time::Duration;

use gancho_access::{PortalTokens, portal};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    operations::api_keys::create::reject_operator_tenant,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route, Takes},
};

/// A link to the customer portal for one tenant, valid for a short time.
#[derive(Serialize, ToSchema)]
pub struct PortalLink {
    /// URL of the portal. Anyone who has it can use the portal until it expires.
    pub url: String,
    /// The token in the link. Also valid as `Authorization: Bearer` until it expires.
    pub token: String,
    /// Id of the tenant.
    pub tenant_id: String,
    /// What the link may be used for: `read` and `manage`.
    pub scopes: Vec<&'static str>,
    /// When the link expires.
    pub expires_at: Timestamp,
}

request! {
    struct PortalLinkBody {
        /// Slug or id of the tenant.
        required tenant: String as id(ResourceKind::Tenant),
        /// How long the link is valid. Default: `1h`; at most `24h`.
        optional expires_in: Duration as span(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/portal-links",
    operation_id: "createPortalLink",
    needs: Needs::Operator,
    takes: Takes::Body(PortalLinkBody::FIELDS),
    gives: Gives::created::<PortalLink>("The portal link."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::OPERATOR_ONLY],
    tag: "Tenants",
    summary: "Create a portal link",
    about: "Anyone with the link can read and manage the tenant's data, but cannot publish events.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let body: PortalLinkBody = call.parse_body()?;
    let found = call.api.access.tenants.find(&body.tenant).await?;
    let tenant = found.ok_or_else(|| {
        Problem::new(
            &codes::UNKNOWN_TENANT,
            "no tenant has this slug or id; list tenants with `GET /v1/tenants`",
        )
    })?;
    reject_operator_tenant(&tenant)?;
    let span = body.expires_in.unwrap_or(portal::DEFAULT_TTL);
    if span.as_secs() == 0 || span > portal::MAX_TTL {
        return Err(Problem::field("/expires_in", "`expires_in` must be between 1s and 24h"));
    }
    let (until, rights) = (call.api.clock.now() + span, PortalTokens::rights());
    let token = call.api.access.portal.make(tenant.id, until, rights);
    let answer = Answer::created(&PortalLink {
        url: format!("{}/portal/{token}", call.api.settings.public_url),
        token,
        tenant_id: tenant.id.to_string(),
        scopes: rights.names(),
        expires_at: Timestamp(until),
    })?;
    Ok(answer.about(tenant.id))
}
