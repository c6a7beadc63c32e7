//! `POST /v1/dlq/import`: brings dead letters back that were archived or exported.

use std::collections::HashSet;

use gancho_domain::{Lane, TenantId};
use gancho_store::{FullDeadLetter, ImportOutcome};
use http::Method;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    TAG,
    letter_input::{DeadLetterBody, InputLetter, read},
};
use crate::{
    answer::Answer,
    codes,
    input::{FieldErrors, Request, request},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const MAX_LETTERS: usize = 500;
/// Maximum per step of the store, so that no other writer waits long.
const STEP: usize = 50;

request! {
    struct ImportDeadLettersBody<'a> {
        /// Dead letters, as `GET /v1/dlq/export` writes them, or archived ones.
        required letters: Vec<&'a str> as objects::<DeadLetterBody>(1, MAX_LETTERS),
    }
}

/// Result of an import of dead letters.
#[derive(Debug, Default, Serialize, ToSchema)]
struct ImportedDeadLetters {
    /// Number of dead letters that were imported.
    imported: usize,
    /// Number of dead letters that were in the store already. They were not written again.
    present: usize,
    /// Dead letters that were not imported, with the reason.
    skipped: Vec<SkippedDeadLetter>,
}

/// A dead letter that was not imported.
#[derive(Debug, Serialize, ToSchema)]
struct SkippedDeadLetter {
    /// Index of the dead letter in the request, from 0.
    index: usize,
    /// Id of the dead letter: that of its delivery (`dlv_…`).
    id: String,
    /// Why the dead letter was not imported, in English.
    reason: &'static str,
}

pub const ROUTE: Route = Route {
    method: Method::POST,
    path: "/dlq/import",
    operation_id: "importDeadLetters",
    needs: Needs::Operator,
    takes: Takes::Large(ImportDeadLettersBody::FIELDS),
    gives: Gives::ok::<ImportedDeadLetters>("What was imported."),
    refuses: &[&codes::STORAGE_FULL],
    tag: TAG,
    summary: "Import dead letters",
    about: "Brings up to 500 archived or exported dead letters back, with their ids, times and attempts; they can be replayed then, and are archived again after `dead_letter_ttl`. The tenant or source must exist. If one of them is invalid, none is imported. Exported e-mails and receipts are skipped, since their data is masked: import archived ones. What is in the store already is not written again, so that a request can be repeated; what was delivered or erased since is skipped.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let items = call.parse_body::<ImportDeadLettersBody>()?.letters;
    let now = call.api.clock.now();
    let mut letters = Vec::with_capacity(items.len());
    let mut report = ImportedDeadLetters::default();
    for (index, item) in items.iter().enumerate() {
        match read(item, &format!("/letters/{index}"), now)? {
            InputLetter::Whole(letter) => letters.push((index, *letter)),
            InputLetter::Masked(id) => {
                let reason = "an export of this lane does not have all of its data; import the archived dead letter";
                report.skipped.push(SkippedDeadLetter { index, id, reason });
            }
        }
    }
    check_owners(&call, &letters).await?;
    for part in letters.chunks(STEP) {
        let step = part.iter().map(|(_, letter)| letter.clone()).collect();
        let outcomes = call.api.store.import_dead(step, now).await?;
        for ((index, one), outcome) in part.iter().zip(outcomes) {
            let reason = match outcome {
                ImportOutcome::Imported => {
                    report.imported += 1;
                    continue;
                }
                ImportOutcome::Present => {
                    report.present += 1;
                    continue;
                }
                ImportOutcome::Revived => "the delivery is due again, or was delivered",
                ImportOutcome::Erased => "the content was erased",
                ImportOutcome::Clash => "another tenant's delivery or event has this id",
            };
            let id = one.letter.delivery.to_string();
            report.skipped.push(SkippedDeadLetter { index: *index, id, reason });
        }
    }
    report.skipped.sort_by_key(|one| one.index);
    Answer::ok(&report)
}

/// Each must belong to a tenant or a source that exists: nobody else could see it.
async fn check_owners(call: &Call, letters: &[(usize, FullDeadLetter)]) -> Result<(), Problem> {
    let (mut known, mut unknown) = (HashSet::new(), HashSet::new());
    let mut errors = FieldErrors::default();
    for (index, one) in letters {
        let (tenant, is_receipt) = (one.letter.tenant, one.letter.lane == Lane::Dispatch);
        let key = (tenant, is_receipt);
        if !known.contains(&key) && !unknown.contains(&key) {
            let exists = exists(call, tenant, is_receipt).await?;
            if exists {
                known.insert(key)
            } else {
                unknown.insert(key)
            };
        }
        if unknown.contains(&key) {
            let what = if is_receipt { "source" } else { "tenant" };
            let message = format!(
                "no {what} has the id {tenant}; create it first, or leave this dead letter out"
            );
            errors.invalid(format!("/letters/{index}/tenant_id"), message);
        }
    }
    if errors.0.is_empty() { Ok(()) } else { Err(errors.into()) }
}

async fn exists(call: &Call, tenant: TenantId, is_receipt: bool) -> Result<bool, Problem> {
    if !is_receipt {
        return Ok(call.api.store.tenant(tenant).await?.is_some());
    }
    let Some(inbound) = &call.api.inbound else { return Ok(false) };
    Ok(inbound.inbound.sources.all().await?.of_tenant(tenant).is_some())
}
