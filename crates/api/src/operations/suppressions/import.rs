//! `POST /v1/suppressions/import`: many addresses, all or none of them.

use gancho_access::Right;
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{REASON, TAG, reason};
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind},
    operations::emails,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

const FIELDS: &[Field] = &[
    Field::new(
        "addresses",
        Kind::Texts { most: gancho_mail::suppression::MAX_IMPORTED, longest: 600 },
        "At most 10,000 of them.",
    )
    .required(),
    REASON,
];

#[derive(Debug, Serialize, ToSchema)]
pub struct ImportedAddresses {
    /// How many were not on the list before.
    pub added: usize,
    /// How many were given.
    pub given: usize,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/suppressions/import",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Batch(FIELDS),
    gives: Gives::ok::<ImportedAddresses>("All of them are on the list."),
    refuses: &[&codes::EMAIL_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Suppress many addresses",
    about: "If one of them is no address, none is taken.",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let values = call.values()?;
    let reason = reason(&values);
    let given = values.texts("addresses").unwrap_or_default();
    let count = given.len();
    let list = &emails::desk(&call.api)?.suppressions;
    let rows = given.into_iter().map(|address| (address, reason)).collect();
    let added = list.import(scope, rows).await?;
    Answer::ok(&ImportedAddresses { added, given: count })
}
