//! `GET /v1/sources/{partner}/receipts`: newest first; and `GET …/{receipt_id}`: one receipt in full.

use gancho_domain::{ReceiptId, Time};
use gancho_inbound::{ReceiptFilter, ReceiptStatus, Receipts};

use super::{
    TAG, find,
    receipt_view::{ReceiptDetailView, ReceiptView},
};
use crate::{
    answer::Answer,
    codes,
    input::{Request, field::ResourceKind, query::Paging, request},
    page::Page,
    problem::Problem,
    render::List,
    route::{Call, Gives, Needs, Route},
};

request! {
    /// The filters of receipts.
    #[derive(Default, PartialEq)]
    pub(super) struct ReceiptFilterQuery {
        /// Only receipts with this status.
        optional status: String as choice(&["received", "dispatched", "failed", "dlq"]),
        /// Only receipts with this event id of the partner.
        optional event_id: String as text(1, 256),
        /// Only receipts received at or after this time.
        optional since: Time as time(),
        /// Only receipts received before this time.
        optional until: Time as time(),
    }
}

request! {
    struct ReceiptsQuery {
        flatten page: Paging,
        flatten filter: ReceiptFilterQuery,
    }
}

pub const LIST: Route = Route {
    path: "/sources/{partner}/receipts",
    operation_id: "listReceipts",
    needs: Needs::Operator,
    query: ReceiptsQuery::FIELDS,
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
    operation_id: "getReceipt",
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

impl From<ReceiptFilterQuery> for ReceiptFilter {
    fn from(query: ReceiptFilterQuery) -> Self {
        Self {
            status: query.status.as_deref().and_then(ReceiptStatus::from_name),
            event_id: query.event_id,
            since: query.since,
            until: query.until,
        }
    }
}

pub(super) fn receipts(call: &Call) -> Receipts {
    Receipts { store: call.api.store.clone() }
}

async fn list(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let query: ReceiptsQuery = call.parse_query()?;
    let page = Page::of(&call, Some(source.tenant()), &query.page)?;
    let found = receipts(&call).list(source.scope(), query.filter.into(), page.request()?).await?;
    let data = found.rows.iter().map(|receipt| ReceiptView::of(receipt, &source)).collect();
    page.answer(data, found.next)
}

async fn get(call: Call) -> Result<Answer, Problem> {
    let source = find(&call).await?;
    let id: ReceiptId = call.id("receipt_id")?;
    let found = receipts(&call).detail(source.scope(), id).await?;
    let detail = found.ok_or_else(|| Problem::not_found(ResourceKind::Receipt))?;
    Answer::ok(&ReceiptDetailView::of(detail, &source))
}
