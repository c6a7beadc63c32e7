//! `POST /v1/tenants/{tenant}/api-keys`: creates a key, which is shown only here.

use gancho_access::{Right, Rights};
use gancho_domain::Tenant;
use http::Method;

use super::{
    TAG,
    view::{ApiKeyView, NewApiKey},
};
use crate::{
    answer::Answer,
    codes,
    input::{Field, FieldErrors, Kind},
    operations::tenants,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const FIELDS: &[Field] = &[
    Field::new("name", Kind::Text { min: 0, max: 128 }, "Display name."),
    Field::new(
        "scopes",
        Kind::Texts { max: 3, max_length: 16 },
        "What the key may be used for: `publish`, `read`, `manage`. Default: all of them.",
    ),
    Field::new("expires_at", Kind::Time, "When the key expires. Default: never.").nullable(),
];

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/tenants/{tenant}/api-keys",
    needs: Needs::Operator,
    takes: Takes::Maybe(FIELDS),
    gives: Gives::created::<NewApiKey>("The new API key. Store it: it is not shown again."),
    refuses: &[&codes::UNKNOWN_TENANT, &codes::OPERATOR_ONLY, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Create an API key",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let tenant = tenants::find(&call).await?;
    reject_operator_tenant(&tenant)?;
    let values = call.values()?;
    let mut errors = FieldErrors::default();
    let rights = rights(values.texts("scopes"), &mut errors);
    let expires_at = values.time("expires_at");
    if expires_at.is_some_and(|end| end <= call.api.clock.now()) {
        errors.invalid("/expires_at", "`expires_at` is in the past");
    }
    if !errors.0.is_empty() {
        return Err(errors.into());
    }
    let scope = call.operator()?.act_for(tenant).scope();
    let name = values.string("name").unwrap_or_default();
    let (key, text) = call.api.access.keys.create(scope, name, rights, expires_at).await?;
    Answer::created(&NewApiKey { view: ApiKeyView::of(&key, None), key: text.to_string() })
}

fn rights(names: Option<Vec<String>>, errors: &mut FieldErrors) -> Rights {
    let Some(names) = names else { return Rights::ALL };
    if names.is_empty() {
        errors.invalid(
            "/scopes",
            "`scopes` must not be empty; name at least one scope, or leave it out for all of them",
        );
    }
    let mut rights = Rights::default();
    for (index, name) in names.iter().enumerate() {
        match name.parse::<Right>() {
            Ok(right) => rights = rights.with(right),
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
