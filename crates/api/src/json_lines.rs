//! Streams JSON lines, for exports. A page is read when the client has read the one before, so that an export
//! that nobody reads holds at most one page.

use std::{io, sync::Arc};

use axum::body::Body;
use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::try_unfold;
use serde::Serialize;

use crate::{answer::Answer, caller_slots::CallerSlot, problem::Problem};

pub const MEDIA_TYPE: &str = "application/x-ndjson";

/// A position between two pages.
type PageCursor = [u8; 32];
/// The lines of a page, and the position of the next one.
type Lines = (Bytes, Option<PageCursor>);

enum StreamStep {
    Lines(Lines),
    Page(PageCursor),
}

/// Streams the rows of all pages. `read` returns the rows after a position, and the position of the next page. The slot is
/// held as long as the stream.
pub(crate) async fn stream<R, F>(
    slot: CallerSlot,
    read: impl Fn(Option<PageCursor>) -> F + Send + Sync + 'static,
) -> Result<Answer, Problem>
where
    R: Serialize,
    F: Future<Output = Result<(Vec<R>, Option<PageCursor>), Problem>> + Send,
{
    // The first page is read before the response begins, so that its errors have a status.
    let first = lines(&read, None).await?;
    let read = Arc::new(read);
    let pages = try_unfold(Some(StreamStep::Lines(first)), move |next| {
        let _slot = &slot;
        let read = read.clone();
        async move {
            let (bytes, place) = match next {
                None => return Ok(None),
                Some(StreamStep::Lines(lines)) => lines,
                // Read after the previous page was sent, so that one page is held at a time.
                Some(StreamStep::Page(place)) => {
                    lines(&*read, Some(place)).await.map_err(|problem| broken(&problem))?
                }
            };
            Ok::<_, io::Error>(Some((bytes, place.map(StreamStep::Page))))
        }
    });
    Ok(Answer::stream(MEDIA_TYPE, Body::from_stream(pages)))
}

/// Returns the lines of the next page that is not empty. A page scans a limited number of rows, and may be
/// empty.
async fn lines<R, F>(
    read: &impl Fn(Option<PageCursor>) -> F,
    mut after: Option<PageCursor>,
) -> Result<Lines, Problem>
where
    R: Serialize,
    F: Future<Output = Result<(Vec<R>, Option<PageCursor>), Problem>>,
{
    loop {
        let (rows, next) = read(after).await?;
        let mut lines = BytesMut::new();
        for row in &rows {
            serde_json::to_writer((&mut lines).writer(), row).map_err(Problem::internal)?;
            lines.put_u8(b'\n');
        }
        if !lines.is_empty() || next.is_none() {
            return Ok((lines.freeze(), next));
        }
        after = next;
    }
}

/// Breaks the stream, so that an incomplete export cannot look complete.
fn broken(problem: &Problem) -> io::Error {
    io::Error::other(problem.code().code)
}
