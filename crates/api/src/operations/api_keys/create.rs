//! `POST /v1/tenants/{tenant}/api-keys`: creates a key, which is shown only here.

use gancho_access::{Right, Rights};
use gancho_domain::{Tenant, TenantScope, Time};
use http::Method;

use super::{
    TAG,
    view::{ApiKeyView, NewApiKey},
};
use crate::{
    answer::Answer,
    codes,
    input::{FieldErrors, Request, request},
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    /// A new API key.
    pub(super) struct ApiKeyBody {
        /// Display name, to tell keys apart. Default: empty.
        optional name: String as text(0, 128),
        /// What the key may be used for: `publish`, `read`, `manage`. Default: all of them.
        optional scopes: Vec<String> as texts(3, 16),
        /// When the key expires. Default: never.
        nullable expires_at: Time as time(),
    }
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/tenants/{tenant}/api-keys",
    operation_id: "createTenantApiKey",
    needs: Needs::Operator,
    takes: Takes::Maybe(ApiKeyBody::FIELDS),
    gives: Gives::created::<NewApiKey>("The new API key. Store it: it is not shown again."),
    refuses: &[
        &codes::UNKNOWN_TENANT,
        &codes::OPERATOR_ONLY,
        &codes::CONFLICT,
        &codes::STORAGE_FULL,
    ],
    tag: TAG,
    summary: "Create an API key",
    about: "A tenant has at most 500 keys that are neither revoked nor expired.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    reject_operator_tenant(&tenant)?;
    let scope = call.operator()?.act_for(tenant).scope();
    create(&call, scope, Rights::ALL).await
}

/// Creates a key with rights that are not above `max`.
pub(super) async fn create(
    call: &Call,
    scope: TenantScope,
    max: Rights,
) -> Result<Answer, Problem> {
    let body: ApiKeyBody = call.parse_body()?;
    let mut errors = FieldErrors::default();
    let rights = rights(body.scopes.as_deref(), max, &mut errors);
    if body.expires_at.is_some_and(|end| end <= call.api.clock.now()) {
        errors.invalid("/expires_at", "`expires_at` is in the past");
    }
    if !errors.0.is_empty() {
        return Err(errors.into());
    }
    let name = body.name.unwrap_or_default();
    let (key, text) = call.api.access.keys.create(scope, name, rights, body.expires_at).await?;
    Answer::created(&NewApiKey { view: ApiKeyView::of(&key, None), key: text.to_string() })
}

fn rights(names: Option<&[String]>, max: Rights, errors: &mut FieldErrors) -> Rights {
    let Some(names) = names else { return max };
    if names.is_empty() {
        errors.invalid(
            "/scopes",
            "`scopes` must not be empty; name at least one scope, or leave it out for all of them",
        );
    }
    let mut rights = Rights::default();
    for (index, name) in names.iter().enumerate() {
        match name.parse::<Right>() {
            Ok(right) if max.has(right) => rights = rights.with(right),
            Ok(right) => errors.invalid(
                format!("/scopes/{index}"),
                format!("`{right}` is not among your own scopes: {}", max.names().join(", ")),
            ),
            Err(error) => errors.invalid(format!("/scopes/{index}"), error),
        }
    }
    rights
}

/// The operator's own tenant has data about all tenants, so only the operator token may read it.
pub(crate) fn reject_operator_tenant(tenant: &Tenant) -> Result<(), Problem> {
    if tenant.is_operators() {
        let text =
            "the operator's own tenant has no API keys or portal links; use the operator token";
        return Err(Problem::new(&codes::OPERATOR_ONLY, text));
    }
    Ok(())
}
