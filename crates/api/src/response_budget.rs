//! Memory budget for responses that wait to be sent, because their clients read slowly or not at all.
//!
//! A response is passed to its connection in small pieces, as the client reads. The rest is held here and
//! counted for its owner. When all responses together hold too much, one is dropped, of an owner that holds
//! more than an equal share: the one whose owner holds the most, in proportion to how fast it is read. Its
//! memory is free at once, and its client sees that the response is incomplete. So a client that does not
//! read competes only with itself, however many connections it has.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use gancho_domain::{AddressBlock, TenantId};
use http::{Response, header::CACHE_CONTROL};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;

/// Bytes of a response in its connection, which are not counted.
const PIECE: usize = 16 * 1024;
/// Maximum bytes of all responses.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The assumed number of bytes read in the first second.
const ASSUMED_RATE: usize = 1024 * 1024;
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Marks a response whose body is the same for all, so that another one takes no memory.
#[derive(Debug, Clone, Copy)]
pub struct SharedBody;

/// The owner that the memory of a response counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResponseOwner {
    Operator,
    Tenant(TenantId),
    /// The address, for a page without a known caller.
    Address(AddressBlock),
}

pub struct ResponseBudget {
    max_bytes: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last_number: u64,
    bytes: usize,
    by_owner: HashMap<ResponseOwner, usize>,
    responses: HashMap<u64, PendingResponse>,
    dropped: DroppedCount,
}

struct PendingResponse {
    owner: ResponseOwner,
    body: Bytes,
    sent: usize,
    began: Instant,
}

impl PendingResponse {
    /// Returns the nanoseconds for each byte that was read. A new response starts with [`ASSUMED_RATE`],
    /// which counts less and less.
    fn slowness(&self, now: Instant) -> u128 {
        let age = now.saturating_duration_since(self.began) + Duration::from_secs(1);
        age.as_nanos() / (self.sent + ASSUMED_RATE) as u128
    }
}

/// Dropped responses, logged once a minute.
#[derive(Default)]
struct DroppedCount {
    logged_at: Option<Instant>,
    count: u64,
}

/// The response was dropped to make room for others.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response was dropped, because its client did not read it")]
struct ResponseDroppedError;

impl Default for ResponseBudget {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, table: Mutex::default() }
    }
}

impl ResponseBudget {
    /// Forwards a response in pieces, if it has more than one.
    pub fn pace(
        self: &Arc<Self>,
        response: Response<Body>,
        owner: ResponseOwner,
    ) -> Response<Body> {
        if is_shared(&response) || is_one_piece(response.body()) {
            return response;
        }
        let length = response.body().size_hint().exact();
        response.map(|mut inner| {
            // A complete body is held from the start, because the connection may never ask for it.
            let whole = length.and_then(|_| inner.frame().now_or_never()??.ok()?.into_data().ok());
            let held = whole.map(|whole| self.hold(owner, whole));
            Body::new(PacedBody { budget: self.clone(), owner, inner, held, length })
        })
    }

    fn hold(self: &Arc<Self>, owner: ResponseOwner, body: Bytes) -> HeldResponse {
        self.hold_at(Instant::now(), owner, body)
    }

    fn hold_at(self: &Arc<Self>, now: Instant, owner: ResponseOwner, body: Bytes) -> HeldResponse {
        let mut table = self.table.lock();
        table.last_number += 1;
        let number = table.last_number;
        table.bytes += body.len();
        *table.by_owner.entry(owner).or_default() += body.len();
        table.responses.insert(number, PendingResponse { owner, body, sent: 0, began: now });
        while table.bytes > self.max_bytes && table.responses.len() > 1 {
            table.drop_worst(now, self.max_bytes);
        }
        HeldResponse { budget: self.clone(), number }
    }
}

/// Whether the connection takes the whole body at once.
pub(crate) fn is_one_piece(body: &impl hyper::body::Body) -> bool {
    body.size_hint().exact().is_some_and(|length| length <= PIECE as u64)
}

/// Whether the body is the same for all requests: the documentation, and files that never change.
fn is_shared(response: &Response<Body>) -> bool {
    let caching = response.headers().get(CACHE_CONTROL);
    response.extensions().get::<SharedBody>().is_some()
        || caching.is_some_and(|value| value.as_bytes().ends_with(b"immutable"))
}

impl Table {
    fn remove(&mut self, number: u64) -> Option<PendingResponse> {
        let removed = self.responses.remove(&number)?;
        self.bytes -= removed.body.len();
        if let Some(bytes) = self.by_owner.get_mut(&removed.owner) {
            *bytes -= removed.body.len();
            if *bytes == 0 {
                self.by_owner.remove(&removed.owner);
            }
        }
        Some(removed)
    }

    fn drop_worst(&mut self, now: Instant, max_bytes: usize) {
        let share = max_bytes / self.by_owner.len().max(1);
        let rank = |one: &PendingResponse| {
            let of_owner = self.by_owner.get(&one.owner).copied().unwrap_or(0);
            (of_owner > share, of_owner as u128 * one.slowness(now))
        };
        // The oldest of equal ones.
        let worst =
            self.responses.iter().max_by_key(|(number, one)| (rank(one), u64::MAX - *number));
        if let Some((number, _)) = worst {
            let number = *number;
            if let Some(dropped) = self.remove(number) {
                self.dropped.log(now, dropped.owner);
            }
        }
    }
}

impl DroppedCount {
    fn log(&mut self, now: Instant, owner: ResponseOwner) {
        self.count += 1;
        if self.logged_at.is_some_and(|at| now.saturating_duration_since(at) < LOG_INTERVAL) {
            return;
        }
        let tenant = match owner {
            ResponseOwner::Tenant(tenant) => Some(tenant.to_string()),
            ResponseOwner::Operator | ResponseOwner::Address(_) => None,
        };
        tracing::warn!(
            count = self.count,
            tenant,
            "dropped responses that their clients did not read, to free memory"
        );
        *self = Self { logged_at: Some(now), count: 0 };
    }
}

/// A response in the table, until it is dropped.
struct HeldResponse {
    budget: Arc<ResponseBudget>,
    number: u64,
}

impl HeldResponse {
    /// Returns the next piece, as a copy, so that the connection keeps nothing of the rest in memory. `None`
    /// after the last piece.
    fn next_piece(&self) -> Result<Option<Bytes>, ResponseDroppedError> {
        let mut table = self.budget.table.lock();
        let held = table.responses.get_mut(&self.number).ok_or(ResponseDroppedError)?;
        let rest = &held.body[held.sent..];
        let piece = &rest[..rest.len().min(PIECE)];
        if piece.is_empty() {
            return Ok(None);
        }
        let piece = Bytes::copy_from_slice(piece);
        held.sent += piece.len();
        Ok(Some(piece))
    }
}

impl Drop for HeldResponse {
    fn drop(&mut self) {
        let removed = self.budget.table.lock().remove(self.number);
        drop(removed);
    }
}

/// The body of a response that is forwarded in pieces.
struct PacedBody {
    budget: Arc<ResponseBudget>,
    owner: ResponseOwner,
    inner: Body,
    held: Option<HeldResponse>,
    /// The remaining bytes, if known.
    length: Option<u64>,
}

impl hyper::body::Body for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(held) = &this.held {
                match held.next_piece() {
                    Ok(Some(piece)) => return Poll::Ready(Some(Ok(this.passing_on(piece)))),
                    Ok(None) => this.held = None,
                    Err(error) => return Poll::Ready(Some(Err(axum::Error::new(error)))),
                }
            }
            let Some(frame) = ready!(Pin::new(&mut this.inner).poll_frame(context)?) else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(data) if data.len() > PIECE => {
                    this.held = Some(this.budget.hold(this.owner, data));
                }
                Ok(data) => return Poll::Ready(Some(Ok(this.passing_on(data)))),
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl PacedBody {
    fn passing_on(&mut self, piece: Bytes) -> Frame<Bytes> {
        self.length = self.length.map(|length| length.saturating_sub(piece.len() as u64));
        Frame::data(piece)
    }
}

#[cfg(test)]
mod tests;
