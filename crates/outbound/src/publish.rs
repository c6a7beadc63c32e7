//! Accepts events. When an answer is `Ok`, every matching endpoint has a stored delivery.
//!
//! admit (rate limit, event types) → charge (the plan) → look up the endpoints → stamp and fan out → accept
//! (one transaction) → results. A batch is accepted like a single event, with one result per event.

mod admit;
mod charge;
mod stamp;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{
    Clock, EndpointId, EventId, EventType, FieldError, IdMaker, Tenant, TenantScope, Time,
    TraceContext, field_error::joined,
};
use gancho_engine::Engine;
use gancho_store::{Store, StoreError};
use thiserror::Error;
use tracing::{Instrument, debug_span};

use self::{admit::Admission, charge::Allowance};

use crate::{
    EventTypes, PlanLimit, Plans, PublishRates, fan_out::Audience, limits::RateLimitStatus,
    registry::Registry,
};

pub struct Publisher {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    pub types: Arc<EventTypes>,
    pub plans: Arc<Plans>,
    pub rates: Arc<PublishRates>,
}

/// An event to publish.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub event_type: EventType,
    /// A JSON value, stored byte for byte. The caller has checked that it is valid JSON.
    pub data: Bytes,
    pub subject: Option<Box<str>>,
    pub external_id: Option<Box<str>>,
    /// Idempotency key. Another event with the same key within [`REMEMBERED`] is a duplicate.
    pub idempotency_key: Option<Box<str>>,
    pub deliver_at: Option<Time>,
    pub is_test: bool,
    /// The publisher's position in its trace. Not compared if an idempotency key is repeated.
    pub trace: Option<TraceContext>,
    /// The id under which `gancho.publish` has stored it. The transaction that accepts it removes it from the
    /// intake. Either all events of a batch are from the intake, or none.
    pub intake_id: Option<EventId>,
}

/// How long idempotency keys are remembered.
pub const REMEMBERED: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedEvent {
    pub id: EventId,
    pub created_at: Time,
    /// The number of endpoints that get the event.
    pub deliveries: usize,
    /// Whether it is a duplicate; the id is then that of the first event.
    pub is_repeat: bool,
    /// The state of the rate limit; `None` if the tenant is not limited.
    pub rate: Option<RateLimitStatus>,
}

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum PublishError {
    #[error("the idempotency key was already used for another event ({first}): use a new key")]
    KeyClash { first: EventId },
    #[error("{0}")]
    PlanLimit(PlanLimit),
    #[error("publish rate of {limit} exceeded: try again in {} s", retry_after.as_secs() + 1)]
    TooFast { retry_after: Duration, limit: u32, remaining: u32, reset: Duration },
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

type PublishResult = Result<AcceptedEvent, PublishError>;

impl Publisher {
    /// Publishes one event. A caller that disconnects does not interrupt it.
    pub async fn publish(
        self: &Arc<Self>,
        scope: TenantScope,
        tenant: &Tenant,
        event: NewEvent,
    ) -> PublishResult {
        only(self.publish_all(scope, tenant, vec![event]).await)
    }

    /// Publishes a batch. Returns one result for each event, in order.
    pub async fn publish_all(
        self: &Arc<Self>,
        scope: TenantScope,
        tenant: &Tenant,
        events: Vec<NewEvent>,
    ) -> Vec<PublishResult> {
        // Not an attribute, which would make the future twice as large.
        let span = debug_span!("publish", tenant = tenant.slug);
        let steps = async {
            let admit = self.admit(scope, tenant, events).instrument(debug_span!("admit"));
            let Admission { events, refusals } = admit.await;
            let answers = match self.allowance(tenant) {
                _ if events.is_empty() => Vec::new(),
                None => self.accept(scope, events, Audience::Wanting).await,
                Some(allowance) => self.charge_and_accept(allowance, scope, events).await,
            };
            refusals.merge(answers)
        };
        steps.instrument(span).await
    }

    /// Charges the plan and accepts the events. Must run to completion, because unused charges are refunded
    /// at the end.
    async fn charge_and_accept(
        self: &Arc<Self>,
        allowance: Allowance,
        scope: TenantScope,
        mut events: Vec<NewEvent>,
    ) -> Vec<PublishResult> {
        let this = self.clone();
        let steps = async move {
            let charge = match this.charge(scope, allowance, events.len()).await {
                Ok(charge) => charge,
                Err(error) => return vec![Err(error.into()); events.len()],
            };
            events.truncate(charge.granted());
            let answers = this.accept(scope, events, Audience::Wanting).await;
            this.refund(scope, &charge, &answers).await;
            charge.fill(answers)
        };
        self.engine.run_to_completion(steps).await.unwrap_or_default()
    }

    /// Looks up the endpoints, and stores the events and their deliveries. Returns one result for each event,
    /// in order.
    async fn accept(
        &self,
        scope: TenantScope,
        events: Vec<NewEvent>,
        to: Audience,
    ) -> Vec<PublishResult> {
        let count = events.len();
        if count == 0 {
            return Vec::new();
        }
        let steps = async {
            let targets = self.registry.of(scope.tenant()).await?;
            let is_intake = events.iter().any(|event| event.intake_id.is_some());
            let parcels = self.stamp_and_fan_out(scope, events, &targets, to);
            let published: Vec<AcceptedEvent> = parcels.iter().map(AcceptedEvent::of).collect();
            let accepted = if is_intake {
                self.engine.accept_intake(parcels).await
            } else {
                self.engine.accept(parcels).await
            };
            Ok::<_, StoreError>(self.answer(scope, published, accepted).await)
        };
        let answers = steps.instrument(debug_span!("accept")).await;
        answers.unwrap_or_else(|error| vec![Err(error.into()); count])
    }

    /// Publishes to one endpoint only, whatever it subscribes to. The rate limit applies, the quota does not.
    pub(crate) async fn publish_to(
        self: &Arc<Self>,
        scope: TenantScope,
        tenant: &Tenant,
        endpoint: EndpointId,
        event: NewEvent,
    ) -> PublishResult {
        self.within_rate(tenant)?;
        only(self.accept(scope, vec![event], Audience::Only(endpoint)).await)
    }
}

fn only(mut answers: Vec<PublishResult>) -> PublishResult {
    answers.pop().unwrap_or_else(|| Err(stopped()))
}

fn stopped() -> PublishError {
    StoreError::Unavailable("the gateway is stopping".into()).into()
}
