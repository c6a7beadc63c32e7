//! The state that all requests share.

use std::{ops::Deref, sync::Arc, time::Duration};

use gancho_access::{Access, OperatorToken, Throttle};
use gancho_alerts::AlertService;
use gancho_domain::{Clock, IdMaker};
use gancho_engine::{Engine, TenantShares};
use gancho_inbound::{Checkpointer, Inbound, SourceService};
use gancho_mail::{Outbox, Sink, Suppressions};
use gancho_outbound::{EndpointService, EventTypes, Plans, Publisher, Registry, Replays};
use gancho_store::Store;
use gancho_vault::KeyRing;
use tokio_util::task::TaskTracker;

use crate::{
    audit::limits::AuditLimits, call_slots::CallSlots, caller_slots::CallerSlots,
    cells::CellService, cursor::CursorSeal, key_ring::KeyRingService, meter::Meter,
    refusal_limiter::RefusalLimiter, reload::ReloadService, request_bodies::RequestBodies,
    response_budget::ResponseBudget, tails::Tails, watch::Watch,
};

/// What the API needs from the rest of the gateway.
pub struct ApiSetup {
    pub store: Arc<dyn Store>,
    /// For lists and statistics, which may be some seconds old.
    pub reader: Arc<dyn Store>,
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
    /// `None` if the key ring cannot be rotated on this node.
    pub key_ring: Option<Arc<dyn KeyRingService>>,
    /// `None` if the store can have no cells.
    pub cells: Option<Arc<dyn CellService>>,
    /// `None` if e-mail is disabled.
    pub mail: Option<MailParts>,
    /// `None` if receiving is disabled.
    pub inbound: Option<InboundParts>,
    /// `None` if alerts are off.
    pub alerts: Option<Arc<AlertService>>,
    /// `None` if the settings cannot be reloaded.
    pub reloader: Option<Arc<dyn ReloadService>>,
    pub settings: Settings,
}

/// The parts of `gancho_mail` that operations use.
#[derive(Clone)]
pub struct MailParts {
    pub outbox: Arc<Outbox>,
    pub suppressions: Arc<Suppressions>,
    /// Captures e-mails instead of sending them, for development.
    pub sink: Option<Arc<Sink>>,
}

/// The parts of `gancho_inbound` that operations use.
#[derive(Clone)]
pub struct InboundParts {
    pub sources: Arc<SourceService>,
    pub inbound: Arc<Inbound>,
    pub checkpointer: Arc<Checkpointer>,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Maximum size of a request body.
    pub body_bytes: usize,
    /// Maximum size of the body of a batch.
    pub batch_bytes: usize,
    /// Maximum size of the body of an e-mail.
    pub email_bytes: usize,
    /// Time limit for a request body.
    pub body_deadline: Duration,
    /// Public URL of the gateway without a trailing slash, for portal links.
    pub public_url: String,
    pub metrics_for: MetricsAccess,
    /// The addresses that deliveries come from, shown to tenants.
    pub egress_addresses: Vec<String>,
    /// How long entries of the audit log are stored.
    pub audit_retention: Duration,
}

/// Who may read `/metrics` without the operator token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAccess {
    Anyone,
    /// Callers on this machine, except through a proxy.
    ThisMachine,
    /// Only the operator.
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
            metrics_for: MetricsAccess::Operator,
            egress_addresses: Vec::new(),
            audit_retention: Duration::from_hours(24 * 365),
        }
    }
}

#[derive(Clone)]
pub struct Api(Arc<State>);

/// The setup, and what the API creates itself.
pub struct State {
    setup: ApiSetup,
    pub access: Access,
    pub throttle: Throttle,
    pub refusal_limiter: RefusalLimiter,
    /// Throttles guesses of passwords, by account.
    pub account_throttle: Throttle,
    pub audit: AuditLimits,
    pub cursors: CursorSeal,
    pub meter: Meter,
    /// Calls in progress.
    pub calls: CallSlots,
    /// Running tests of webhooks, which wait for the response.
    pub tests: CallerSlots,
    /// Running exports.
    pub exports: CallerSlots,
    /// Running searches for content to erase. Each may read everybody's parcels for some seconds.
    pub erasure_searches: CallerSlots,
    pub tails: Tails,
    pub response_budget: Arc<ResponseBudget>,
    pub request_bodies: RequestBodies,
    /// Limits the batches of a tenant that are read and stored at a time. Reading one takes as long as
    /// hundreds of single calls.
    pub batches: Arc<TenantShares>,
    /// Background tasks of requests; shutdown waits for them.
    pub tasks: TaskTracker,
}

/// Maximum concurrent tests of one tenant.
const MAX_TESTS: usize = 8;

/// Maximum concurrent exports of one tenant, or of the operator.
const MAX_EXPORTS: usize = 8;

/// Maximum concurrent searches for content to erase of one tenant.
const MAX_ERASURE_SEARCHES: usize = 2;

/// One is read while the one before is stored.
const MAX_BATCHES: usize = 2;

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
    /// Creates the API. `admin` and `ring` are secrets; the API does not expose them.
    pub fn new(setup: ApiSetup, admin: OperatorToken, ring: Arc<KeyRing>) -> Self {
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
            refusal_limiter: RefusalLimiter::default(),
            account_throttle: Throttle::default(),
            audit: AuditLimits::default(),
            cursors: CursorSeal::new(ring),
            meter: Meter::default(),
            calls: CallSlots::default(),
            tests: CallerSlots::new("tests of webhooks", MAX_TESTS, 4 * MAX_TESTS),
            exports: CallerSlots::new("exports", MAX_EXPORTS, MAX_EXPORTS),
            erasure_searches: CallerSlots::new(
                "searches for content to erase",
                MAX_ERASURE_SEARCHES,
                4 * MAX_ERASURE_SEARCHES,
            ),
            tails: Tails::default(),
            response_budget: Arc::default(),
            request_bodies: RequestBodies::default(),
            batches: TenantShares::new(MAX_BATCHES),
            tasks,
        }))
    }

    /// Waits for the background tasks. Call it after the last request.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
