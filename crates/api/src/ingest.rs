//! The ingest listener: the one that is meant for the Internet. It knows five paths, and nothing of the
//! API: `POST /webhooks/{partner}` (and `GET`, for senders that greet so), `GET /webhooks/_health`,
//! `POST /webhooks/_simulate` for this machine alone, the public keys at `/.well-known/jwks.json`, and the
//! pages about its refusals at `/docs/errors/{code}`.
//!
//! `front` chooses the path, `body` reads a webhook's body within the `body_budget`, `receive` brings it to
//! [`gancho_inbound`] and its outcome back, `simulate` sends a test event. The loop under it, with its deadlines and caps, is [`crate::listener`]'s.

mod body;
mod body_budget;
mod receive;
mod service;
mod simulate;

use std::{io, ops::Deref, sync::Arc, time::Duration};

use gancho_access::{AdminToken, SeenSet, Throttle};
use gancho_domain::IdMaker;
use gancho_inbound::Inbound;
use gancho_vault::KeyRing;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::{body_budget::BodyBudget, service::IngestService};
use crate::{
    listener::{ListenSettings, accept_connections},
    meter::Traffic,
};

/// What every request may use. Made once, shared by all.
#[derive(Clone)]
pub struct Ingest(Arc<IngestState>);

pub struct IngestState {
    pub inbound: Arc<Inbound>,
    pub ring: Arc<KeyRing>,
    pub ids: Arc<IdMaker>,
    pub traffic: Arc<Traffic>,
    budget: BodyBudget,
    /// Addresses that have proved something.
    verified_addresses: SeenSet,
    /// For the operator's token.
    throttle: Throttle,
    pub settings: IngestSettings,
}

#[derive(Clone)]
pub struct IngestSettings {
    /// A body must come within this.
    pub body_deadline: Duration,
    pub simulator: Simulator,
    /// Memory for all bodies together, from their first byte to their answer.
    pub body_bytes: usize,
}

/// Whom `/webhooks/_simulate` answers. Only ever callers on this machine, but whatever stands before the
/// gateway on this machine looks like one of them too.
#[derive(Clone)]
pub enum Simulator {
    Nobody,
    /// Whoever has the operator's token.
    Operator(AdminToken),
    /// For development.
    Anyone,
}

impl Default for IngestSettings {
    fn default() -> Self {
        Self {
            body_deadline: Duration::from_secs(10),
            simulator: Simulator::Nobody,
            body_bytes: 128 * 1024 * 1024,
        }
    }
}

impl Deref for Ingest {
    type Target = IngestState;

    fn deref(&self) -> &IngestState {
        &self.0
    }
}

impl Ingest {
    pub fn new(
        inbound: Arc<Inbound>,
        ring: Arc<KeyRing>,
        ids: Arc<IdMaker>,
        settings: IngestSettings,
    ) -> Self {
        Self(Arc::new(IngestState {
            inbound,
            ring,
            ids,
            traffic: Arc::default(),
            budget: BodyBudget::new(settings.body_bytes),
            verified_addresses: SeenSet::default(),
            throttle: Throttle::default(),
            settings,
        }))
    }

    /// Takes connections until `stop`; comes back when the last one has ended.
    pub async fn listen(
        &self,
        listener: TcpListener,
        settings: ListenSettings,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let ingest = self.clone();
        let service = move |peer| IngestService::new(ingest.clone(), peer);
        // What stands before it speaks HTTP/1 to it, where every connection has its deadlines.
        let settings = ListenSettings { http2: false, ..settings };
        accept_connections(listener, service, self.traffic.clone(), settings, stop).await
    }
}
