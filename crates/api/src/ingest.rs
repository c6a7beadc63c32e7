//! The ingest listener, which faces the Internet. It serves five paths, and nothing of the API: `POST
//! /webhooks/{partner}` (and `GET`, for handshakes), `GET /webhooks/_health`, `POST /webhooks/_simulate` for
//! callers on this machine, the public keys at `/.well-known/jwks.json`, and the pages of its error codes at
//! `/docs/errors/{code}`.
//!
//! `service` routes requests, `body` reads a body within the [`crate::body_budget`], `receive` passes it to
//! [`gancho_inbound`] and turns the outcome into a response, `simulate` sends a test event.
//! [`crate::listener`] accepts the connections.

mod body;
mod receive;
mod service;
mod simulate;

use std::{io, ops::Deref, sync::Arc, time::Duration};

use gancho_access::{OperatorToken, RecentSet, Throttle};
use gancho_domain::IdMaker;
use gancho_inbound::Inbound;
use gancho_vault::KeyRing;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::service::IngestService;
use crate::{
    body_budget::BodyBudget,
    listener::{ListenSettings, accept_connections},
    meter::ConnectionCounters,
    refusal_limiter::RefusalLimiter,
};

/// The state that all requests share.
#[derive(Clone)]
pub struct Ingest(Arc<IngestState>);

pub struct IngestState {
    pub inbound: Arc<Inbound>,
    pub ring: Arc<KeyRing>,
    pub ids: Arc<IdMaker>,
    pub traffic: Arc<ConnectionCounters>,
    budget: Arc<BodyBudget>,
    /// Addresses that sent a verified webhook.
    verified_addresses: RecentSet,
    /// Throttles guesses of the operator token.
    throttle: Throttle,
    refusal_limiter: RefusalLimiter,
    pub settings: IngestSettings,
}

#[derive(Clone)]
pub struct IngestSettings {
    /// Time limit for a request body.
    pub body_deadline: Duration,
    pub simulator: Simulator,
    /// Memory limit for all bodies, from their first byte to their response.
    pub body_bytes: usize,
}

/// Who may call `/webhooks/_simulate`. Callers must be on this machine, but a reverse proxy on this machine
/// looks like one of them.
#[derive(Clone)]
pub enum Simulator {
    Nobody,
    /// Callers with the operator token.
    Operator(OperatorToken),
    /// All callers on this machine, for development.
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
            verified_addresses: RecentSet::default(),
            throttle: Throttle::default(),
            refusal_limiter: RefusalLimiter::default(),
            settings,
        }))
    }

    /// Accepts connections until `stop`, and returns when the last one is closed.
    pub async fn listen(
        &self,
        listener: TcpListener,
        settings: ListenSettings,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let ingest = self.clone();
        let service = move |peer| IngestService::new(ingest.clone(), peer);
        accept_connections(listener, service, self.traffic.clone(), settings, stop).await
    }
}
