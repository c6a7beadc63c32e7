//! Reads the body of a webhook, within its deadline and the memory budget. The sender is not verified before
//! the body is complete.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use gancho_inbound::SourceLookup;
use http::{HeaderMap, HeaderValue, header};
use hyper::body::{Body as _, Incoming as Body};

use super::Ingest;
use crate::{
    body_budget::{BudgetFullError, HeldBytes, Sender},
    caller::Caller,
    client_address::ClientAddress,
    codes,
    input::content,
    problem::Problem,
};

/// Replaces a body that was dropped. It has the same length, so that refusing it takes the same time.
static ZEROS: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; 256 * 1024]));

impl Ingest {
    /// Reads the whole body. Its memory is held until it is answered.
    pub(super) async fn read(
        &self,
        caller: &Caller,
        partner: &str,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<(Bytes, HeldBytes), Problem> {
        let max = self.inbound.limits.body_bytes;
        content::check_length(headers, max)?;
        let _reading = caller.connection.read();
        let within = self.settings.body_deadline;
        let reading = self.read_frames(caller, partner, body, max);
        match tokio::time::timeout(within, reading).await {
            Ok(read) => read,
            Err(_) => Err(content::timed_out(within)),
        }
    }

    async fn read_frames(
        &self,
        caller: &Caller,
        partner: &str,
        body: &mut Body,
        max: usize,
    ) -> Result<(Bytes, HeldBytes), Problem> {
        let first = content::next(body).await?.unwrap_or_default();
        if first.len() > max {
            return Err(content::too_large(max));
        }
        if body.is_end_stream() {
            let held = self.budget.hold(first.len()).map_err(|BudgetFullError| budget_full())?;
            return Ok((first, held));
        }
        let sender = self.sender(caller.address, partner).await?;
        let mut buffer = BodyBuffer::new(&sender);
        buffer.add(&first);
        let incoming = self.budget.begin(sender, first.len())?;
        drop(first);
        let held = incoming.read_rest(body, max, |data| buffer.add(data)).await?;
        Ok((buffer.whole(), held))
    }

    /// Reads what is known about the sender. Only needed for bodies that arrive in pieces; all others take no
    /// more memory than their connection.
    async fn sender(&self, address: ClientAddress, partner: &str) -> Result<Sender, Problem> {
        let found = self.inbound.sources.find(partner).await?;
        Ok(Sender {
            address,
            partner: partner.into(),
            is_stored: !matches!(found, SourceLookup::Nobody),
            is_known: self.verified_addresses.contains(&address),
        })
    }
}

/// The bytes of a body, or only their number.
struct BodyBuffer {
    bytes: Option<BytesMut>,
    length: usize,
}

impl BodyBuffer {
    fn new(sender: &Sender) -> Self {
        Self { bytes: sender.is_stored.then(BytesMut::new), length: 0 }
    }

    fn add(&mut self, data: &[u8]) {
        self.length += data.len();
        if let Some(bytes) = &mut self.bytes {
            bytes.extend_from_slice(data);
        }
    }

    fn whole(self) -> Bytes {
        match self.bytes {
            Some(bytes) => bytes.freeze(),
            None if self.length <= ZEROS.len() => ZEROS.slice(..self.length),
            None => Bytes::from(vec![0; self.length]),
        }
    }
}

fn budget_full() -> Problem {
    let detail = "too many webhooks are being processed; retry in a moment";
    retry_soon(Problem::new(&codes::UNAVAILABLE, detail))
}

fn retry_soon(problem: Problem) -> Problem {
    problem.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
}
