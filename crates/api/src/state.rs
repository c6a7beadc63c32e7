//! What every request may use. Made once, shared by all.

use std::{ops::Deref, sync::Arc, time::Duration};

use gancho_access::{Access, AdminToken, Throttle};
use gancho_domain::{Clock, IdMaker};
use gancho_engine::Engine;
use gancho_inbound::{Checkpointer, Inbound, SourceService};
use gancho_mail::{Outbox, Sink, Suppressions};
use gancho_outbound::{EndpointService, EventTypes, Plans, Publisher, Registry, Replays};
use gancho_store::Store;
use gancho_vault::KeyRing;
use tokio_util::task::TaskTracker;

use crate::{
    cursor::CursorSeal, exports::Exports, key_keeper::KeyKeeper, meter::Meter, watch::Watch,
};

/// Given by whoever puts the gateway together.
pub struct ApiSetup {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub publisher: Arc<Publisher>,
    pub endpoints: Arc<EndpointService>,
    pub event_types: Arc<EventTypes>,
    pub plans: Arc<Plans>,
    pub replays: Arc<Replays>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub watch: Arc<Watch>,
    /// Nothing where the key ring cannot be rotated from here.
    pub key_keeper: Option<Arc<dyn KeyKeeper>>,
    /// Nothing where no e-mails are sent.
    pub mail: Option<MailDesk>,
    /// Nothing where no webhooks are received.
    pub inbound: Option<InboundParts>,
    pub settings: Settings,
}

/// What the calls about e-mails use.
#[derive(Clone)]
pub struct MailDesk {
    pub outbox: Arc<Outbox>,
    pub suppressions: Arc<Suppressions>,
    /// Where letters are caught instead of sent.
    pub sink: Option<Arc<Sink>>,
}

/// What receives webhooks, as far as the operator works with it.
#[derive(Clone)]
pub struct InboundParts {
    pub desk: Arc<SourceService>,
    pub inbound: Arc<Inbound>,
    pub checkpointer: Arc<Checkpointer>,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// The longest body,
    pub body_bytes: usize,
    /// and the longest with many events in it.
    pub batch_bytes: usize,
    /// and the longest with files in it.
    pub email_bytes: usize,
    /// A body must come within this.
    pub body_deadline: Duration,
    /// Where the gateway is reached from outside, without a slash at its end: for portal links.
    pub public_url: String,
    pub metrics_for: MetricsFor,
    /// From where deliveries leave, for tenants to know.
    pub egress_addresses: Vec<String>,
}

/// Who may read `/metrics` without the operator's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsFor {
    Anyone,
    /// Callers on this machine that do not say that they speak for others.
    ThisMachine,
    /// Nobody else.
    Operator,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            batch_bytes: 8 * 1024 * 1024,
            email_bytes: 20 * 1024 * 1024,
            body_deadline: Duration::from_secs(30),
            public_url: "http://127.0.0.1:3000".to_owned(),
            metrics_for: MetricsFor::Operator,
            egress_addresses: Vec::new(),
        }
    }
}

#[derive(Clone)]
pub struct Api(Arc<State>);

/// What was given, and what the API makes for itself.
pub struct State {
    setup: ApiSetup,
    pub access: Access,
    pub throttle: Throttle,
    pub cursors: CursorSeal,
    pub meter: Meter,
    pub exports: Exports,
    /// Whatever is done beside a request; stopping waits for it.
    pub tasks: TaskTracker,
}

impl Deref for Api {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl Deref for State {
    type Target = ApiSetup;

    fn deref(&self) -> &ApiSetup {
        &self.setup
    }
}

impl Api {
    /// `admin` and `ring` are secrets, and are not to be had from it again.
    pub fn new(setup: ApiSetup, admin: AdminToken, ring: Arc<KeyRing>) -> Self {
        let tasks = TaskTracker::new();
        let access = Access::new(
            admin,
            setup.store.clone(),
            ring.clone(),
            setup.ids.clone(),
            setup.clock.clone(),
            tasks.clone(),
        );
        Self(Arc::new(State {
            setup,
            access,
            throttle: Throttle::default(),
            cursors: CursorSeal::new(ring),
            meter: Meter::default(),
            exports: Exports::default(),
            tasks,
        }))
    }

    /// Waits for what is done beside requests. To be called when none come any more.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
