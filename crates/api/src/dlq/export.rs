//! `GET /v1/dlq/export`: all of them, one JSON document a line, as a stream: neither side holds more
//! than a page.

use axum::body::Body;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::try_unfold;
use gancho_store::{DeadFilter, PageRequest};

use super::{
    TAG,
    filter::{self, FIELDS, REFUSALS},
    view::{DeadLetterRow, DeadLetterRows},
};
use crate::{
    answer::Answer,
    auth::Right,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
    state::Api,
};

const MEDIA_TYPE: &str = "application/x-ndjson";
const PAGE: usize = 200;

pub const ROUTE: Route = Route {
    path: "/dlq/export",
    needs: Needs::Anyone(Right::Read),
    query: FIELDS,
    refuses: REFUSALS,
    gives: Gives {
        media_type: MEDIA_TYPE,
        ..Gives::ok::<DeadLetterRow>(
            "Newest first, one a line. An answer that breaks off is not complete.",
        )
    },
    tag: TAG,
    summary: "Export dead letters",
    run: |call| Box::pin(run(call)),
    ..Route::PLAIN
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let filter = filter::filter(&call, &call.query).await?;
    // The first page is read before anything is answered: what goes wrong here has a status.
    let first = page(&call.api, &filter, None).await?;
    let (api, filter) = (call.api.clone(), filter);
    let lines = try_unfold(Some(first), move |ready| {
        let (api, filter) = (api.clone(), filter.clone());
        async move {
            let Some((bytes, next)) = ready else { return Ok(None) };
            let following = match next {
                Some(place) => Some(
                    page(&api, &filter, Some(place)).await.map_err(|problem| broken(&problem))?,
                ),
                None => None,
            };
            Ok::<_, std::io::Error>(Some((bytes, following)))
        }
    });
    Ok(Answer::stream(MEDIA_TYPE, Body::from_stream(lines)))
}

type Lines = (Bytes, Option<[u8; 32]>);

async fn page(api: &Api, filter: &DeadFilter, after: Option<[u8; 32]>) -> Result<Lines, Problem> {
    let request = PageRequest::new(PAGE, after);
    let page = api.store.dead_letters(filter.clone(), request).await?;
    let mut lines = BytesMut::new();
    let mut shown = DeadLetterRows::new(api);
    for letter in page.rows {
        let row = shown.row(letter).await?;
        serde_json::to_writer((&mut lines).writer(), &row).map_err(Problem::internal)?;
        lines.put_u8(b'\n');
    }
    Ok((lines.freeze(), page.next))
}

/// The stream breaks off, which the caller sees: a short export must not look like a whole one.
fn broken(problem: &Problem) -> std::io::Error {
    std::io::Error::other(problem.code().code)
}
