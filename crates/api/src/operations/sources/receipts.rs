//! `GET /v1/sources/{partner}/receipts`: newest first; and `GET …/{receipt_id}`: one receipt in full.

use gancho_domain::ReceiptId;
use gancho_inbound::{ReceiptFilter, ReceiptStatus, Receipts};

use super::{
    TAG, find,
    receipt_view::{ReceiptDetailView, ReceiptView},
};
use crate::{
    answer::Answer,
    codes,
    input::{
        Field, Kind, Values,
        field::Noun,
        query::{CURSOR, LIMIT},
    },
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

pub(super) const STATUS: Field = Field::new(
    "status",
    Kind::Choice(&["received", "dispatched", "failed", "dlq"]),
    "Only receipts with this status.",
);
pub(super) const EVENT_ID: Field = Field::new(
    "event_id",
    Kind::Text { min: 1, max: 256 },
    "Only receipts with this event id of the partner.",
);
pub(super) const SINCE: Field =
    Field::new("since", Kind::Time, "Only receipts received at or after this time.");
pub(super) const UNTIL: Field =
    Field::new("until", Kind::Time, "Only receipts received before this time.");

pub const LIST: Route = Route {
    path: "/sources/{partner}/receipts",
    needs: Needs::Operator,
    query: &[LIMIT, CURSOR, STATUS, EVENT_ID, SINCE, UNTIL],
    gives: Gives::ok::<List<ReceiptView>>("A page of receipts, newest first."),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "List a source's receipts",
    about: "With a filter, a page may have fewer items than `limit`, even none: continue until `next_cursor` is null.",
    run: |call| Box::pin(list(call)),
    ..Route::DEFAULT
};

pub const GET: Route = Route {
    path: "/sources/{partner}/receipts/{receipt_id}",
    needs: Needs::Operator,
    gives: Gives::ok::<ReceiptDetailView>(
        "The receipt, with the original request and all dispatch attempts.",
    ),
    refuses: &[&codes::RECEIVING_OFF],
    tag: TAG,
    summary: "Get a receipt",
    run: |call| Box::pin(get(call)),
    ..Route::DEFAULT
};

pub(super) fn filter(values: &Values<'_>) -> ReceiptFilter {
    ReceiptFilter {
        status: values.text("status").and_then(ReceiptStatus::from_name),
        event_id: values.string("event_id"),
        since: values.time("since"),
        until: values.time("until"),
    }
}

pub(super) fn receipts(call: &Call) -> Receipts {
    Receipts { store: call.api.store.clone() }
}

async fn list(call: Call) -> Result<Answer, Problem> {
    let (source, query) = (find(&call).await?, &call.query);
    let page = Page::of(&call, Some(source.tenant()))?;
    let found = receipts(&call).list(source.scope(), filter(query), page.request()?).await?;
    let data = found.rows.iter().map(|receipt| ReceiptView::of(receipt, &source)).collect();
    page.answer(data, found.next)
}

async fn get(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let found = receipts(&call).detail(source.scope(), id).await?;
    let detail = found.ok_or_else(|| Problem::not_found(Noun::Receipt))?;
    Answer::ok(&ReceiptDetailView::of(detail, &source))
}
