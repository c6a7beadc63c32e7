//! `GET /v1/dlq/export`: a stream of JSON lines.

use gancho_access::Right;
use gancho_store::{DeadFilter, PageRequest};

use super::{
    TAG,
    filter::{self, DeadLetterFilter},
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    json_lines,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    state::Api,
};

const PAGE: usize = 200;
const PAGE_BYTES: usize = 256 * 1024;

pub const ROUTE: Route = Route {
    path: "/dlq/export",
    operation_id: "exportDeadLetters",
    needs: Needs::Anyone(Right::Read),
    query: DeadLetterFilter::FIELDS,
    refuses: &[&codes::NOT_FOUND, &codes::RECEIVING_OFF, &codes::RATE_LIMITED],
    gives: Gives {
        media_type: json_lines::MEDIA_TYPE,
        ..Gives::ok::<DeadLetterRow>(
            "Dead letters as JSON lines, newest first. A response that breaks off is incomplete.",
        )
    },
    tag: TAG,
    summary: "Export dead letters",
    about: "At most 8 exports per tenant, and 8 of the operator, are open on a node; further requests get 429 with `Retry-After`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter::filter(&call, call.parse_query()?).await?;
    let slot = call.api.exports.take(call.limited_tenant())?;
    let api = call.api.clone();
    json_lines::stream(slot, move |after| page(api.clone(), filter.clone(), after)).await
}

async fn page(
    api: Api,
    filter: DeadFilter,
    after: Option<[u8; 32]>,
) -> Result<(Vec<DeadLetterRow>, Option<[u8; 32]>), Problem> {
    let request = PageRequest::new(PAGE, after).within(PAGE_BYTES);
    let page = api.reader.dead_letters(filter, request).await?;
    Ok((DeadLetterRows::new(&api).all(page.rows).await?, page.next))
}
