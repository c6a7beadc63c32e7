//! `POST /v1/sources/{partner}/receipts/{receipt_id}/retry` and `POST …/receipts/retry`: handed to the core
//! again, whatever became of them before.

use gancho_domain::{FieldError, Lane, ReceiptId};
use gancho_outbound::{
    Owner,
    replay::{NewReplay, ReplayFilter, ReplayOf},
};
use http::Method;

use super::{
    TAG, find,
    receipt_view::ReceiptView,
    receipts::{EVENT_ID, SINCE, STATUS, UNTIL, filter, receipts},
};
use crate::{
    answer::Answer,
    codes,
    input::{Field, Kind, field::Noun},
    operations::replays::{
        create::{DRY_RUN, RATE},
        view::ReplayJob,
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route, Takes},
};

pub const ONE: Route = Route {
    method: Method::POST,
    path: "/sources/{partner}/receipts/{receipt_id}/retry",
    needs: Needs::Operator,
    gives: Gives::accepted::<ReceiptView>("It is due now, at every target of the source."),
    refuses: &[&codes::RECEIVING_OFF, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Send a receipt again",
    about: "To each of the source's targets as they are now, whatever its status: one that had ended starts its retry plan from the beginning. `webhook-id` stays the receipt's id, so that the core can tell.",
    run: |call| Box::pin(one(call)),
    ..Route::PLAIN
};

pub const MANY: Route = Route {
    method: Method::POST,
    path: "/sources/{partner}/receipts/retry",
    needs: Needs::Operator,
    takes: Takes::Body(&[
        STATUS,
        EVENT_ID,
        SINCE,
        UNTIL,
        Field::new("all", Kind::Flag, "`true` where no filter is given and all are meant."),
        RATE,
        DRY_RUN,
    ]),
    gives: Gives::accepted::<ReplayJob>("The replay: its progress is at `GET /v1/replays/{id}`."),
    refuses: &[&codes::RECEIVING_OFF, &codes::MISSING_FIELD, &codes::STORAGE_FULL],
    tag: TAG,
    summary: "Send receipts again",
    about: "All that fit the filter, at a rate, in the background. Without a filter it asks for `all`. Test events are left out.",
    run: |call| Box::pin(many(call)),
    ..Route::PLAIN
};

async fn one(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let not_found = || Problem::not_found(Noun::Receipt);
    let (receipts, now) = (receipts(&call), call.api.clock.now());
    if !receipts.redeliver(&source, id, &call.api.ids, now).await? {
        return Err(not_found());
    }
    let receipt = receipts.get(source.scope(), id).await?.ok_or_else(not_found)?;
    Answer::accepted(&ReceiptView::of(&receipt, &source))
}

async fn many(call: Call) -> Result<Answer, Problem> {
    let values = call.values()?;
    let is_narrow = [STATUS, EVENT_ID, SINCE, UNTIL].iter().any(|it| values.is_given(it.name));
    if !is_narrow && values.flag("all") != Some(true) {
        let message = "no filter is given: add one, or `\"all\": true` to send every receipt again";
        return Err(Problem::faulty(vec![FieldError::new("missing_field", "/all", message)]));
    }
    let (source, filter) = (find(&call).await?, filter(&values));
    let new = NewReplay {
        filter: ReplayFilter {
            of: ReplayOf::Deliveries,
            lane: Some(Lane::Dispatch),
            tenant: Some(source.tenant()),
            status: filter.status.map(gancho_inbound::ReceiptStatus::of_delivery),
            external_id: filter.event_id,
            since: filter.since,
            until: filter.until,
            ..ReplayFilter::default()
        },
        to: None,
        rate: values.count("rate").map(|rate| rate as u32),
        dry_run: values.flag("dry_run").unwrap_or(false),
    };
    let replay = call.api.replays.create(Owner::Operator, new).await?;
    Answer::accepted(&ReplayJob::from(replay))
}
