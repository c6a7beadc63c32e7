//! `POST /v1/sources/{partner}/receipts/{receipt_id}/retry` and `POST …/receipts/retry`: dispatches receipts
//! again, whatever their status.

use gancho_domain::{FieldError, Lane, ReceiptId};
use gancho_inbound::ReceiptFilter;
use gancho_outbound::{
    Owner,
    replay::{NewReplay, ReplayFilter, ReplayItems},
};
use http::Method;

use super::{
    TAG, find,
    receipt_view::ReceiptView,
    receipts::{ReceiptFilterQuery, receipts},
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, request},
    operations::replays::{create::ReplayOptions, view::ReplayJob},
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

request! {
    struct RetryReceiptsBody {
        flatten filter: ReceiptFilterQuery,
        /// `true` to retry all receipts. Required if no filter is given.
        optional all: bool as flag(),
        flatten options: ReplayOptions,
    }
}

pub const ONE: Route = Route {
    method: Method::POST,
    path: "/sources/{partner}/receipts/{receipt_id}/retry",
    operation_id: "retryReceipt",
    needs: Needs::Operator,
    gives: Gives::accepted::<ReceiptView>("The receipt is due now, at every target of the source."),
    refuses: &[&codes::RECEIVING_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Retry a receipt",
    about: "Dispatches the receipt again to each current target of the source, whatever its status; finished deliveries start their retry schedule from the beginning. `webhook-id` remains the receipt id, so that the receiver can deduplicate.",
    run: |call| Box::pin(one(call)),
    ..Route::DEFAULT
};

pub const MANY: Route = Route {
    method: Method::POST,
    path: "/sources/{partner}/receipts/retry",
    operation_id: "retryReceipts",
    needs: Needs::Operator,
    takes: Takes::Body(RetryReceiptsBody::FIELDS),
    gives: Gives::accepted::<ReplayJob>(
        "The replay job; follow its progress at `GET /v1/replays/{id}`.",
    ),
    refuses: &[&codes::RECEIVING_OFF, &codes::MISSING_FIELD, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Retry receipts",
    about: "Starts a background job that dispatches the receipts that match the filter again, at the given rate. Without a filter, `all` is required. Test events are skipped.",
    run: |call| Box::pin(many(call)),
    ..Route::DEFAULT
};

async fn one(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let not_found = || Problem::not_found(ResourceKind::Receipt);
    let (receipts, now) = (receipts(&call), call.api.clock.now());
    if !receipts.redeliver(&source, id, &call.api.ids, now).await? {
        return Err(not_found());
    }
    let receipt = receipts.get(source.scope(), id).await?.ok_or_else(not_found)?;
    Answer::accepted(&ReceiptView::of(&receipt, &source))
}

async fn many(call: Call) -> Result<Answer, Problem> {
    let RetryReceiptsBody { filter, all, options } = call.parse_body()?;
    if filter == ReceiptFilterQuery::default() && all != Some(true) {
        let message = "no filter given; add one, or `\"all\": true` to retry all receipts";
        return Err(Problem::invalid_fields(vec![FieldError::new(
            "missing_field",
            "/all",
            message,
        )]));
    }
    let (source, filter) = (find(&call).await?, ReceiptFilter::from(filter));
    let new = NewReplay {
        filter: ReplayFilter {
            of: ReplayItems::Deliveries,
            lane: Some(Lane::Dispatch),
            tenant: Some(source.tenant()),
            status: filter.status.map(gancho_inbound::ReceiptStatus::of_delivery),
            external_id: filter.event_id,
            since: filter.since,
            until: filter.until,
            ..ReplayFilter::default()
        },
        to: None,
        rate: options.rate,
        dry_run: options.dry_run.unwrap_or(false),
    };
    let replay = call.api.replays.create(Owner::Operator, new).await?;
    ReplayJob::from(replay).accepted()
}
