//! `/ui/live/deliveries`: streams rows as they change, for an open page. It renders the API's tail as the
//! list does, in at most four batches per second.
//!
//! It starts with the first page of the list, so that nothing is missed between the page and its stream, or
//! while the stream was lost. It reads the list again every few seconds, because the tail may leave things
//! out and the list does not. It ends with the session.

mod feed;

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::IntoResponse};
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderName, HeaderValue, header};
use http_body_util::BodyExt;
use tokio::time::{Instant, sleep_until};

use self::feed::LiveFeed;
use super::filter::Filter;
use crate::{
    event_stream::{EventReader, ServerEvent},
    handlers::PageResult,
    params::Link,
    visit::Visit,
};

/// Approximate maximum changes per second. Nobody can read more, and each costs the gateway something for
/// every open page.
const MAX_RATE: u32 = 20;
/// Time between two batches.
const PACE: Duration = Duration::from_millis(250);
/// How often the session and the store are checked. The page gets a message each time, and notices if none
/// arrives.
const CHECK: Duration = Duration::from_secs(5);
/// How many checks pass between two reads of the list, unless a flood has just ended.
const CHECKS_PER_LIST: u32 = 3;

pub async fn stream(visit: Visit) -> PageResult {
    let filter = Filter::read(&visit);
    // The tail is opened first, so that what happens while the list is read is in both.
    let body = visit.stream(filter.to_tail()).await?;
    let mut feed = LiveFeed::new(visit, filter);
    feed.read_list().await?;
    let now = Instant::now();
    let rows = LiveRows {
        feed,
        body,
        reader: EventReader::default(),
        flush_at: now,
        check_at: now + CHECK,
        checks: 0,
        has_missed: false,
        was_flooded: false,
        is_lost: false,
        is_over: false,
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    Ok((headers, Body::from_stream(rows.into_stream())).into_response())
}

#[expect(clippy::struct_excessive_bools, reason = "each says a thing of its own")]
struct LiveRows {
    feed: LiveFeed,
    body: Body,
    reader: EventReader,
    flush_at: Instant,
    check_at: Instant,
    checks: u32,
    /// Whether something was left out since the last check, and between the two before.
    has_missed: bool,
    was_flooded: bool,
    /// Whether the store could not be read at the last check.
    is_lost: bool,
    is_over: bool,
}

/// The message of each check.
const LIVE: &[u8] = b"event: state\ndata: live\n\n";
const LOST: &[u8] = b"event: state\ndata: lost\n\n";

enum Wake {
    Piece(Bytes),
    Flush,
    Check,
    End,
}

impl LiveRows {
    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(self, |mut this| async move {
            let text = this.next().await?;
            Some((Ok(text), this))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        while !self.is_over {
            match self.wake().await {
                Wake::Piece(piece) => {
                    for event in self.reader.read(&piece) {
                        self.is_over |= self.take(&event);
                    }
                }
                Wake::Flush => {
                    self.flush_at = Instant::now() + PACE;
                    if let Some(batch) = self.feed.batch().await {
                        return Some(format!("event: rows\ndata: {batch}\n\n").into());
                    }
                }
                Wake::Check if self.feed.has_session().await => {
                    self.checks += 1;
                    let is_flooded = std::mem::take(&mut self.has_missed);
                    let has_ended =
                        std::mem::replace(&mut self.was_flooded, is_flooded) && !is_flooded;
                    let is_due = has_ended || self.checks.is_multiple_of(CHECKS_PER_LIST);
                    // While the store is unavailable, each check tries to read the list.
                    let is_up = self.feed.check_store(is_due || self.is_lost).await;
                    self.is_lost = !is_up;
                    self.check_at = Instant::now() + CHECK;
                    return Some(Bytes::from_static(if is_up { LIVE } else { LOST }));
                }
                Wake::Check | Wake::End => self.is_over = true,
            }
        }
        None
    }

    async fn wake(&mut self) -> Wake {
        let is_waiting = self.feed.is_waiting();
        tokio::select! {
            biased;
            () = sleep_until(self.check_at) => Wake::Check,
            () = sleep_until(self.flush_at), if is_waiting => Wake::Flush,
            frame = self.body.frame() => match frame {
                Some(Ok(frame)) => Wake::Piece(frame.into_data().unwrap_or_default()),
                Some(Err(_)) | None => Wake::End,
            },
        }
    }

    /// Returns whether the tail has ended.
    fn take(&mut self, event: &ServerEvent) -> bool {
        match event.name.as_str() {
            "delivery" => self.feed.add(&event.data),
            "missed" => {
                self.has_missed = true;
                self.feed.miss(&event.data);
            }
            _ => return event.name == "end",
        }
        false
    }
}

impl Filter {
    /// Returns the changes that a page with this filter needs, including those of rows that no longer match.
    fn to_tail(&self) -> Link {
        Link::new("/v1/deliveries/tail")
            .with("max_rate", MAX_RATE)
            .maybe("event_type", self.event_type.as_deref())
            .maybe("webhook_id", self.endpoint.as_deref())
    }
}

/// Returns the URL of the stream of a page; `None` if nothing new can come.
pub fn address(visit: &Visit, filter: &Filter) -> Option<Link> {
    let is_first_page = visit.params.get("cursor").is_none() && filter.is_live();
    is_first_page.then(|| filter.link_to(visit, PATH))
}

const PATH: &str = "/live/deliveries";
