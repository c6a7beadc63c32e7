//! Reads request bodies, and bounds the memory of those that do not arrive at once.
//!
//! A tenant may have [`TENANT_KIB`] of them in memory, from their first bytes until they are answered; further ones wait
//! unread for its others. All of them together may take [`MAX_BYTES`]; beyond it, the slowest is dropped. While such a body
//! is read, its connection can be closed to make room.

use std::{fmt::Display, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use gancho_domain::TenantId;
use gancho_engine::{TenantShare, TenantShares};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::{
    caller::Caller,
    ingest::body_budget::{BodyBudget, EvictedError, HeldBytes, Sender},
    input::content,
    problem::Problem,
};

const MAX_BYTES: usize = 256 * 1024 * 1024;
const TENANT_KIB: usize = 16 * 1024;

pub struct RequestBodies {
    budget: BodyBudget,
    shares: Arc<TenantShares>,
}

/// The memory of a body, until it is answered.
pub struct HeldBody<'a> {
    _bytes: HeldBytes<'a>,
    _share: Option<TenantShare>,
}

impl Default for RequestBodies {
    fn default() -> Self {
        Self { budget: BodyBudget::new(MAX_BYTES), shares: TenantShares::new(TENANT_KIB) }
    }
}

impl RequestBodies {
    /// Reads the whole body. `tenant` is `None` for the operator, `caller` for a call from this process.
    pub async fn read<'a, B>(
        &'a self,
        (tenant, caller): (Option<TenantId>, Option<&Caller>),
        headers: &HeaderMap,
        body: &mut B,
        max: usize,
        within: Duration,
    ) -> Result<(Bytes, Option<HeldBody<'a>>), Problem>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Display,
    {
        content::check_length(headers, max)?;
        // Nearly all arrive in one piece, with their head, and are not counted.
        let first = match body.frame().now_or_never() {
            Some(Some(frame)) => {
                let frame = frame.map_err(|error| content::incomplete(&error))?;
                frame.into_data().unwrap_or_default()
            }
            Some(None) => return Ok((Bytes::new(), None)),
            None => Bytes::new(),
        };
        if first.len() > max {
            return Err(content::too_large(max));
        }
        if body.is_end_stream() {
            return Ok((first, None));
        }
        let reading = async {
            match caller {
                Some(caller) => {
                    let _reading = caller.connection.read();
                    let (whole, held) =
                        self.read_rest((tenant, caller), headers, first, body, max).await?;
                    Ok((whole, Some(held)))
                }
                None => Ok((content::collect(first, body, max).await?, None)),
            }
        };
        match tokio::time::timeout(within, reading).await {
            Ok(read) => read,
            Err(_) => Err(content::timed_out(within)),
        }
    }

    async fn read_rest<'a, B>(
        &'a self,
        (tenant, caller): (Option<TenantId>, &Caller),
        headers: &HeaderMap,
        first: Bytes,
        body: &mut B,
        max: usize,
    ) -> Result<(Bytes, HeldBody<'a>), Problem>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Display,
    {
        let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = announced.and_then(|text| text.parse().ok()).unwrap_or(max);
        let share = match tenant {
            Some(tenant) => Some(self.shares.acquire(tenant, announced.div_ceil(1024)).await),
            None => None,
        };
        let sender = Sender {
            address: caller.address,
            partner: tenant.map_or_else(String::new, |tenant| tenant.to_string()).into(),
            is_stored: true,
            is_known: true,
        };
        let begun = self.budget.begin(sender, first.len());
        let incoming = begun.map_err(|EvictedError| content::evicted())?;
        let mut whole = BytesMut::from(first);
        loop {
            let next = tokio::select! {
                biased;
                EvictedError = incoming.evicted() => return Err(content::evicted()),
                next = content::next(body) => next?,
            };
            let Some(data) = next else { break };
            if whole.len() + data.len() > max {
                return Err(content::too_large(max));
            }
            incoming.add(data.len()).map_err(|EvictedError| content::evicted())?;
            whole.extend_from_slice(&data);
        }
        let held = incoming.finish().map_err(|EvictedError| content::evicted())?;
        Ok((whole.freeze(), HeldBody { _bytes: held, _share: share }))
    }
}
