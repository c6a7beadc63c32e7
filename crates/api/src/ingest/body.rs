//! Reads a partner's body, within its time and its room. Nobody is proved before it is there.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};
use gancho_inbound::Lookup;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming as Body};

use super::{
    Ingest,
    body_budget::{Full, Held, Incoming, Lost, Sender},
};
use crate::{codes, input::content, listener::Peer, problem::Problem};

/// What stands for a body that was thrown away. It is as long, so that refusing it takes as long.
static ZEROS: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; 256 * 1024]));

impl Ingest {
    /// The whole body, with its room until it is answered.
    pub(super) async fn read<'a>(
        &'a self,
        peer: &Peer,
        partner: &str,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<(Bytes, Held<'a>), Problem> {
        let most = self.inbound.limits.body_bytes;
        content::check_length(headers, most)?;
        let _reading = peer.standing.read();
        let within = self.settings.body_deadline;
        let reading = self.read_frames(peer, partner, headers, body, most);
        match tokio::time::timeout(within, reading).await {
            Ok(read) => read,
            Err(_) => Err(content::slow(within)),
        }
    }

    async fn read_frames<'a>(
        &'a self,
        peer: &Peer,
        partner: &str,
        headers: &HeaderMap,
        body: &mut Body,
        most: usize,
    ) -> Result<(Bytes, Held<'a>), Problem> {
        let first = next(body).await?.unwrap_or_default();
        if first.len() > most {
            return Err(content::too_large(most));
        }
        if body.is_end_stream() {
            let held = self.budget.hold(first.len()).map_err(|Full| full())?;
            return Ok((first, held));
        }
        let sender = self.sender(peer, partner, headers).await?;
        let mut kept = Acceptance::new(&sender);
        kept.add(&first);
        let incoming = self.budget.begin(sender, first.len()).map_err(|Lost| lost())?;
        drop(first);
        while let Some(data) = next_or_lost(body, &incoming).await? {
            if kept.length + data.len() > most {
                return Err(content::too_large(most));
            }
            incoming.add(data.len()).map_err(|Lost| lost())?;
            kept.add(&data);
        }
        let held = incoming.finish().map_err(|Lost| lost())?;
        Ok((kept.whole(), held))
    }

    /// Only asked for bodies that come in pieces: all others take no more room than their connection.
    async fn sender(
        &self,
        peer: &Peer,
        partner: &str,
        headers: &HeaderMap,
    ) -> Result<Sender, Problem> {
        let found = self.inbound.sources.find(partner).await?;
        let address = peer.trusted_proxies.client(peer.address.ip(), headers);
        Ok(Sender {
            address,
            partner: partner.into(),
            is_kept: !matches!(found, Lookup::Nobody),
            is_familiar: self.familiar.knows(&address),
        })
    }
}

/// What is there of a body: its bytes, or how many they were.
struct Acceptance {
    bytes: Option<BytesMut>,
    length: usize,
}

impl Acceptance {
    fn new(sender: &Sender) -> Self {
        Self { bytes: sender.is_kept.then(BytesMut::new), length: 0 }
    }

    fn add(&mut self, data: &Bytes) {
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

async fn next_or_lost(body: &mut Body, incoming: &Incoming<'_>) -> Result<Option<Bytes>, Problem> {
    tokio::select! {
        biased;
        Lost = incoming.lost() => Err(lost()),
        data = next(body) => data,
    }
}

/// The next bytes; nothing at the end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        match frame.map_err(|fault| content::broken_off(&fault))?.into_data() {
            Ok(data) if !data.is_empty() => return Ok(Some(data)),
            _ => {}
        }
    }
    Ok(None)
}

fn lost() -> Problem {
    let detail = "the body came too slowly while many others were coming: send it again, faster";
    again_soon(Problem::new(&codes::SLOW_BODY, detail))
}

fn full() -> Problem {
    let detail = "too many webhooks are being stored: send it again in a moment";
    again_soon(Problem::new(&codes::UNAVAILABLE, detail))
}

fn again_soon(problem: Problem) -> Problem {
    problem.with(header::RETRY_AFTER, HeaderValue::from_static("1"))
}
