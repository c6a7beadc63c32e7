//! `GET /v1/sources/{partner}/receipts`: newest first.

use gancho_domain::ReceiptId;
use gancho_inbound::{ReceiptFilter, ReceiptStatus, Receipts};
use gancho_store::PageRequest;

use super::{TAG, find, view::ReceiptView};
use crate::{
    answer::Answer,
    cursor::Pages,
    input::{
        Field, Kind,
        field::Noun,
        query::{CURSOR, LIMIT, ROWS},
    },
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    show::List,
};

pub const LIST: Route = Route {
    path: "/sources/{partner}/receipts",
    needs: Needs::Operator,
    query: &[
        LIMIT,
        CURSOR,
        Field::new(
            "status",
            Kind::Choice(&["received", "dispatched", "failed", "dlq"]),
            "Only with this status.",
        ),
        Field::new("event_id", Kind::Text { least: 1, most: 256 }, "Only of the partner's event."),
        Field::new("since", Kind::Time, "Received at or after."),
        Field::new("until", Kind::Time, "Received before."),
    ],
    gives: Gives::ok::<List<ReceiptView>>("A page of them, newest first."),
    tag: TAG,
    summary: "List a source's receipts",
    about: "With a filter a page may hold fewer than `limit`, even none, and still have a next.",
    run: |call| Box::pin(list(call)),
    ..Route::PLAIN
};

pub const GET: Route = Route {
    path: "/sources/{partner}/receipts/{receipt_id}",
    needs: Needs::Operator,
    gives: Gives::ok::<ReceiptView>("The receipt."),
    tag: TAG,
    summary: "Show a receipt",
    run: |call| Box::pin(get(call)),
    ..Route::PLAIN
};

async fn list(call: Call) -> Result<Answer, Problem> {
    let (source, query) = (find(&call).await?, &call.query);
    let pages = Pages::of(call.route.path, Some(source.tenant()), query);
    let filter = ReceiptFilter {
        status: query.text("status").and_then(ReceiptStatus::from_name),
        event_id: query.string("event_id"),
        since: query.time("since"),
        until: query.time("until"),
    };
    let request = PageRequest {
        most: query.count("limit").unwrap_or(ROWS) as usize,
        after: call.api.cursors.place(&pages, query)?,
    };
    let page = receipts(&call).list(source.scope(), filter, request).await?;
    Answer::ok(&List {
        data: page.rows.into_iter().map(ReceiptView::from).collect(),
        next_cursor: page.next.map(|place| call.api.cursors.seal(&pages, &place)),
    })
}

async fn get(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let found = receipts(&call).get(source.scope(), id).await?;
    let receipt = found.ok_or_else(|| Problem::not_found(Noun::Receipt))?;
    Answer::ok(&ReceiptView::from(receipt))
}

fn receipts(call: &Call) -> Receipts {
    Receipts { store: call.api.store.clone() }
}
