//! `POST /v1/portal-links`: creates a link to the dashboard, limited to one tenant and a short time.

use gancho_access::{PortalTokens, portal};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind, field::Noun},
    operations::api_keys::create::reject_operator_tenant,
    problem::Problem,
    render::Timestamp,
    route::{Call, Gives, Needs, Route, Takes},
};

#[derive(Serialize, ToSchema)]
pub struct PortalLink {
    pub url: String,
    /// The token in the link. Also valid as `Authorization: Bearer` until it expires.
    pub token: String,
    pub tenant_id: String,
    pub scopes: Vec<&'static str>,
    pub expires_at: Timestamp,
}

const FIELDS: &[Field] = &[
    Field::new("tenant", Kind::Id(Noun::Tenant), "Slug or id of the tenant.").required(),
    Field::new(
        "expires_in",
        Kind::Span,
        "How long the link is valid. Default: `1h`; at most `24h`.",
    ),
];

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/portal-links",
    needs: Needs::Operator,
    takes: Takes::Body(FIELDS),
    gives: Gives::created::<PortalLink>("The portal link."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::OPERATOR_ONLY],
    tag: "Tenants",
    summary: "Create a portal link",
    about: "Anyone with the link can read and manage the tenant's data, but cannot publish events.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let values = call.values()?;
    let found = call.api.access.tenants.find(values.text("tenant").unwrap_or_default()).await?;
    let tenant = found.ok_or_else(|| {
        Problem::new(
            &codes::UNKNOWN_TENANT,
            "no tenant has this slug or id; list tenants with `GET /v1/tenants`",
        )
    })?;
    reject_operator_tenant(&tenant)?;
    let span = values.span("expires_in").unwrap_or(portal::DEFAULT_TTL);
    if span.as_secs() == 0 || span > portal::MAX_TTL {
        return Err(Problem::field("/expires_in", "`expires_in` must be between 1s and 24h"));
    }
    let (until, rights) = (call.api.clock.now() + span, PortalTokens::rights());
    let token = call.api.access.portal.make(tenant.id, until, rights);
    Answer::created(&PortalLink {
        url: format!("{}/portal/{token}", call.api.settings.public_url),
        token,
        tenant_id: tenant.id.to_string(),
        scopes: rights.names(),
        expires_at: Timestamp(until),
    })
}
