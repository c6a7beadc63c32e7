//! `POST /v1/suppressions/import`: imports many addresses, all or none.

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
        Kind::Texts { max: gancho_mail::suppression::MOST_IMPORTED, max_length: 600 },
        "E-mail addresses, at most 10,000.",
    )
    .required(),
    REASON,
];

#[derive(Debug, Serialize, ToSchema)]
pub struct ImportedAddresses {
    /// Number of addresses that were not suppressed before.
    pub added: usize,
    /// Number of addresses in the request.
    pub given: usize,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/suppressions/import",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Batch(FIELDS),
    gives: Gives::ok::<ImportedAddresses>("All addresses are suppressed."),
    refuses: &[&codes::EMAIL_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Import suppressed addresses",
    about: "If one address is invalid, none is imported.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let scope = call.tenant()?.scope();
    let values = call.values()?;
    let reason = reason(&values);
    let given = values.texts("addresses").unwrap_or_default();
    let count = given.len();
    let list = &emails::mail(&call.api)?.suppressions;
    let rows = given.into_iter().map(|address| (address, reason)).collect();
    let added = list.import(scope, rows).await?;
    Answer::ok(&ImportedAddresses { added, given: count })
}
