//! Reads request bodies, and bounds the memory of those that do not arrive at once.
//!
//! A tenant may have [`TENANT_KIB`] of them in memory, from their first bytes until they are answered; its
//! further bodies wait unread. All of them together may take [`MAX_BYTES`]; beyond it, the slowest is
//! dropped, those of strangers first. While such a body is read, its connection can be closed to make room.

use std::{fmt::Display, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use gancho_domain::TenantId;
use gancho_engine::{TenantShare, TenantShares};
use http::HeaderMap;
use hyper::body::Body;

use crate::{
    body_budget::{BodyBudget, HeldBytes, Sender},
    caller::Caller,
    codes,
    input::content,
    problem::Problem,
};

const MAX_BYTES: usize = 256 * 1024 * 1024;
const TENANT_KIB: usize = 16 * 1024;
/// Bytes that have arrived when the body is read, which are not counted.
const UNCOUNTED: usize = 64 * 1024;
const UNKNOWN_LENGTH: usize = 256 * 1024;

pub struct RequestBodies {
    budget: Arc<BodyBudget>,
    shares: Arc<TenantShares>,
}

/// The sender of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyOwner {
    Operator,
    Tenant(TenantId),
    /// Someone who is logging in.
    Stranger,
}

/// The memory of a body, until it is answered.
pub struct HeldBody {
    _bytes: HeldBytes,
    _share: Option<TenantShare>,
}

impl Default for RequestBodies {
    fn default() -> Self {
        Self { budget: BodyBudget::new(MAX_BYTES), shares: TenantShares::new(TENANT_KIB) }
    }
}

impl RequestBodies {
    /// Reads the whole body. `caller` is `None` for a call from this process.
    pub async fn read<B>(
        &self,
        (owner, caller): (BodyOwner, Option<&Caller>),
        headers: &HeaderMap,
        body: &mut B,
        max: usize,
        within: Duration,
    ) -> Result<(Bytes, Option<HeldBody>), Problem>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Display,
    {
        content::check_length(headers, max)?;
        // Nearly all arrive with their head, in one piece, and are not counted.
        let mut start = BytesMut::new();
        while start.len() <= UNCOUNTED {
            match content::next(body).now_or_never().transpose()? {
                Some(Some(data)) if start.len() + data.len() > max => {
                    return Err(content::too_large(max));
                }
                Some(Some(data)) if start.is_empty() && body.is_end_stream() => {
                    return Ok((data, None));
                }
                Some(Some(data)) => start.extend_from_slice(&data),
                // The end of a chunked body is a separate piece.
                Some(None) => return Ok((start.freeze(), None)),
                None => break,
            }
            if body.is_end_stream() {
                return Ok((start.freeze(), None));
            }
        }
        let _reading = caller.map(|caller| caller.connection.read());
        let share = match owner {
            BodyOwner::Tenant(tenant) if caller.is_some() => {
                Some(self.share(tenant, headers, max, within).await?)
            }
            _ => None,
        };
        let reading = async {
            match caller {
                Some(caller) => {
                    let sender = sender(owner, caller);
                    let name = sender.partner.clone();
                    let incoming = self.budget.begin(sender, start.len())?;
                    let bytes =
                        incoming.read_rest(body, max, |data| start.extend_from_slice(data)).await?;
                    if owner != BodyOwner::Operator && !bytes.claim(&name) {
                        return Err(too_many_bytes());
                    }
                    Ok((start.freeze(), Some(HeldBody { _bytes: bytes, _share: share })))
                }
                None => Ok((content::collect(start, body, max).await?, None)),
            }
        };
        match tokio::time::timeout(within, reading).await {
            Ok(read) => read,
            Err(_) => Err(content::timed_out(within)),
        }
    }

    /// Waits for the tenant's other bodies. A body of unknown length counts little, because all of them
    /// together are bounded.
    async fn share(
        &self,
        tenant: TenantId,
        headers: &HeaderMap,
        max: usize,
        within: Duration,
    ) -> Result<TenantShare, Problem> {
        let length = content::announced_length(headers).map(|length| length as usize);
        let length = length.unwrap_or(max.min(UNKNOWN_LENGTH));
        let share = self.shares.acquire(tenant, length.div_ceil(1024));
        tokio::time::timeout(within, share).await.map_err(|_| {
            let detail = "other large request bodies of this tenant are still arriving; retry";
            Problem::new(&codes::RATE_LIMITED, detail).retry_after(Duration::from_secs(1))
        })
    }
}

fn sender(owner: BodyOwner, caller: &Caller) -> Sender {
    let name = match owner {
        BodyOwner::Operator => String::new(),
        BodyOwner::Tenant(tenant) => tenant.to_string(),
        BodyOwner::Stranger => "strangers".to_owned(),
    };
    Sender {
        address: caller.address,
        partner: name.into(),
        is_stored: true,
        is_known: owner != BodyOwner::Stranger,
    }
}

fn too_many_bytes() -> Problem {
    let detail = "other large requests of this caller are still being answered; retry";
    Problem::new(&codes::RATE_LIMITED, detail).retry_after(Duration::from_secs(1))
}
