//! `GET /v1/deliveries/export`: a stream of JSON lines. A page is read when the client has read the one before, so that an
//! export that nobody reads holds no more than a small page.

use std::{io, sync::Arc};

use axum::body::Body;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::try_unfold;
use gancho_access::Right;
use gancho_store::PageRequest;

use super::{
    TAG,
    select::{DeliverySelection, Selected},
    view::Delivery,
};
use crate::{
    answer::Answer,
    codes,
    input::Request,
    problem::Problem,
    route::{Call, Gives, Needs, Route},
};

const MEDIA_TYPE: &str = "application/x-ndjson";
const PAGE: usize = 200;

pub const ROUTE: Route = Route {
    path: "/deliveries/export",
    operation_id: "exportDeliveries",
    needs: Needs::Anyone(Right::Read),
    query: DeliverySelection::FIELDS,
    refuses: &[
        &codes::TENANT_REQUIRED,
        &codes::NOT_FOUND,
        &codes::RECEIVING_OFF,
        &codes::RATE_LIMITED,
    ],
    gives: Gives {
        media_type: MEDIA_TYPE,
        ..Gives::ok::<Delivery>(
            "Deliveries as JSON lines, newest first. A response that breaks off is incomplete.",
        )
    },
    tag: TAG,
    summary: "Export deliveries",
    about: "Takes the filters of the list, and returns all that match, without payloads and attempts. At most 8 exports per tenant, and 8 of the operator, are open on a node, those of dead letters included; further requests get 429 with `Retry-After`.",
    run: |call| Box::pin(run(call)),
    ..Route::DEFAULT
};

async fn run(call: Call) -> Result<Answer, Problem> {
    let query: DeliverySelection = call.parse_query()?;
    let selected = Arc::new(query.resolve()?);
    let slot = call.api.exports.take(call.limited_tenant())?;
    // The first page is read before the response begins, so that its errors have a status.
    let first = lines(&call, &selected, None).await?;
    let call = Arc::new(call);
    let pages = try_unfold(Next::Lines(first), move |mut next| {
        // Held as long as the stream.
        let _slot = &slot;
        let (call, selected) = (call.clone(), selected.clone());
        async move {
            // A page scans a limited number of rows, and may be empty.
            loop {
                let (bytes, place) = match next {
                    Next::End => return Ok(None),
                    Next::Lines(page) => page,
                    // Read after the previous page was sent, so that one page is held at a time.
                    Next::Page(place) => lines(&call, &selected, Some(place))
                        .await
                        .map_err(|problem| broken(&problem))?,
                };
                next = place.map_or(Next::End, Next::Page);
                if !bytes.is_empty() {
                    return Ok::<_, io::Error>(Some((bytes, next)));
                }
            }
        }
    });
    Ok(Answer::stream(MEDIA_TYPE, Body::from_stream(pages)))
}

enum Next {
    Lines(Lines),
    Page([u8; 32]),
    End,
}

/// The lines of a page, and the position of the next one.
type Lines = (Bytes, Option<[u8; 32]>);

async fn lines(
    call: &Call,
    selected: &Selected,
    after: Option<[u8; 32]>,
) -> Result<Lines, Problem> {
    let (rows, next) = selected.page(call, PageRequest::new(PAGE, after)).await?;
    let mut lines = BytesMut::new();
    for row in &rows {
        serde_json::to_writer((&mut lines).writer(), row).map_err(Problem::internal)?;
        lines.put_u8(b'\n');
    }
    Ok((lines.freeze(), next))
}

/// Breaks the stream off, so that an incomplete export cannot look complete.
fn broken(problem: &Problem) -> io::Error {
    io::Error::other(problem.code().code)
}
