//! `POST /v1/suppressions/import`: imports many addresses, all or none.

use gancho_access::Right;
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ReasonBody, TAG};
use crate::{
    answer::Answer,
    codes,
    input::{Request, request},
    operations::emails,
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct ImportBody {
        /// E-mail addresses, at most 10,000.
        required addresses: Vec<String> as texts(gancho_mail::suppression::MAX_IMPORTED, 600),
        flatten reason: ReasonBody,
    }
}

/// Result of an import of addresses.
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
    operation_id: "importSuppressions",
    needs: Needs::Tenant(Right::Manage),
    takes: Takes::Batch(ImportBody::FIELDS),
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
    let ImportBody { addresses, reason } = call.parse_body()?;
    let (reason, count) = (reason.reason(), addresses.len());
    let list = &emails::mail(&call.api)?.suppressions;
    let rows = addresses.into_iter().map(|address| (address, reason)).collect();
    let added = list.import(scope, rows).await?;
    Answer::ok(&ImportedAddresses { added, given: count })
}
