//! `GET /v1/dlq/export`: a stream of JSON lines. A page is read when the client has read the one before, so that an export
//! that nobody reads holds no more than a small page.

use axum::body::Body;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::try_unfold;
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
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    state::Api,
};

const MEDIA_TYPE: &str = "application/x-ndjson";
const PAGE: usize = 200;
const PAGE_BYTES: usize = 256 * 1024;

pub const ROUTE: Route = Route {
    path: "/dlq/export",
    operation_id: "exportDeadLetters",
    needs: Needs::Anyone(Right::Read),
    query: DeadLetterFilter::FIELDS,
    refuses: &[&codes::NOT_FOUND, &codes::RECEIVING_OFF, &codes::RATE_LIMITED],
    gives: Gives {
        media_type: MEDIA_TYPE,
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
    // The first page is read before the response begins, so that its errors have a status.
    let first = lines(&call.api, &filter, None).await?;
    let (api, filter) = (call.api.clone(), filter);
    let pages = try_unfold(Some(Next::Lines(first)), move |next| {
        // Held as long as the stream.
        let _slot = &slot;
        let (api, filter) = (api.clone(), filter.clone());
        async move {
            let (bytes, place) = match next {
                None => return Ok(None),
                Some(Next::Lines(lines)) => lines,
                // Read after the previous page was sent, so that one page is held at a time.
                Some(Next::Page(place)) => {
                    lines(&api, &filter, Some(place)).await.map_err(|problem| broken(&problem))?
                }
            };
            Ok::<_, std::io::Error>(Some((bytes, place.map(Next::Page))))
        }
    });
    Ok(Answer::stream(MEDIA_TYPE, Body::from_stream(pages)))
}

enum Next {
    Lines(Lines),
    Page([u8; 32]),
}

type Lines = (Bytes, Option<[u8; 32]>);

/// The lines of the next page that is not empty. A page scans a limited number of rows, and may be empty.
async fn lines(
    api: &Api,
    filter: &DeadFilter,
    mut after: Option<[u8; 32]>,
) -> Result<Lines, Problem> {
    loop {
        let request = PageRequest::new(PAGE, after).within(PAGE_BYTES);
        let page = api.reader.dead_letters(filter.clone(), request).await?;
        let mut lines = BytesMut::new();
        let mut rows = DeadLetterRows::new(api);
        for letter in page.rows {
            let row = rows.row(letter).await?;
            serde_json::to_writer((&mut lines).writer(), &row).map_err(Problem::internal)?;
            lines.put_u8(b'\n');
        }
        if !lines.is_empty() || page.next.is_none() {
            return Ok((lines.freeze(), page.next));
        }
        after = page.next;
    }
}

/// Breaks the stream off, so that an incomplete export cannot look complete.
fn broken(problem: &Problem) -> std::io::Error {
    std::io::Error::other(problem.code().code)
}
