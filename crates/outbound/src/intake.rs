//! Accepts events that applications have published with `gancho.publish` in their own transactions: takes
//! them from the store's intake and publishes them as the API does, with the same checks and limits.
//!
//! A rejection cannot reach the caller, whose transaction is over. A rejected event stays in the intake with
//! the error code of the API, until it is retried or deleted. An event beyond the rate limit waits.

mod tenant_tasks;

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, EventId, EventType, Tenant, TenantId, TenantScope};
use gancho_store::{IntakeBatch, IntakeEvent, IntakeSettings, Result, Store, StoreError};
use gancho_wire::strict_json;
use tokio_util::sync::CancellationToken;

use self::tenant_tasks::TenantTasks;
use crate::{NewEvent, PublishError, Publisher, event_types::catalog};

/// How often the intake is polled. Usually a wake-up from the store comes first.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait after an error of the store.
const REST: Duration = Duration::from_secs(1);

/// Maximum tenants whose events are accepted at the same time.
const MAX_TENANTS: usize = 16;
const BATCH: IntakeBatch = IntakeBatch {
    max_tenants: MAX_TENANTS,
    max_events: 100,
    max_bytes: 4 << 20,
    lease: Duration::from_secs(15),
};

#[derive(Clone)]
pub struct IntakeMover {
    pub store: Arc<dyn Store>,
    pub publisher: Arc<Publisher>,
    pub clock: Arc<dyn Clock>,
}

/// Why an event was not accepted.
enum IntakeError {
    Rejected { code: &'static str, reason: String },
    Postponed(Duration),
}

impl IntakeMover {
    /// Stores what `gancho.publish` needs for its own checks.
    pub async fn describe(&self, max_bytes: u64) -> Result<()> {
        let plans = &self.publisher.plans;
        let limit = |name: &str| Some((name.to_owned(), plans.get(name)?.events?));
        self.store
            .describe_intake(IntakeSettings {
                max_bytes,
                plans: plans.names().filter_map(limit).collect(),
                event_types: catalog::names().map(str::to_owned).collect(),
            })
            .await
    }

    /// Runs until it is stopped. Returns at once if the store has no intake.
    pub async fn run(&self, stop: CancellationToken) {
        let Some(bell) = self.store.intake_bell() else { return };
        let mut accepting = TenantTasks::default();
        let mut after = None;
        while !stop.is_cancelled() {
            accepting.forget_ended();
            let room = MAX_TENANTS.saturating_sub(accepting.len());
            let wait = match self.step(&mut after, room, &mut accepting).await {
                Ok(0) => POLL_INTERVAL,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!(%error, "could not read the intake; will retry");
                    REST
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = accepting.next_end() => {}
                () = bell.notified(), if room > 0 => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        accepting.end_all().await;
    }

    /// Starts to accept the oldest events of the next tenants, for which there is `room`. Returns how many were taken.
    /// A tenant whose events take long to accept holds back no other.
    async fn step(
        &self,
        after: &mut Option<TenantId>,
        room: usize,
        accepting: &mut TenantTasks,
    ) -> Result<usize> {
        if room == 0 {
            return Ok(0);
        }
        let batch = IntakeBatch { max_tenants: room, ..BATCH };
        let taken = self.store.take_intake(*after, batch).await?;
        *after = taken.last().map(|last| last.tenant).or(*after);
        for events in taken.chunk_by(|one, next| one.tenant == next.tenant) {
            let (mover, events) = (self.clone(), events.to_vec());
            let Some(first) = events.first() else { continue };
            accepting.start(first.tenant, async move { mover.accept(events).await });
        }
        Ok(taken.len())
    }

    /// Accepts the events of one tenant.
    async fn accept(&self, events: Vec<IntakeEvent>) {
        let Some(id) = events.first().map(|event| event.tenant) else { return };
        let scope = TenantScope::internal(id);
        let ids: Vec<EventId> = events.iter().map(|event| event.id).collect();
        let refused = match self.store.tenant(id).await {
            Ok(Some(tenant)) => self.publish(scope, &tenant, events).await,
            Ok(None) => {
                let reason = "the tenant was deleted".to_owned();
                let gone = |id| {
                    (id, IntakeError::Rejected { code: "unknown_tenant", reason: reason.clone() })
                };
                ids.into_iter().map(gone).collect()
            }
            Err(error) => ids.into_iter().map(|id| (id, of_store(&error))).collect(),
        };
        for (event, refusal) in refused {
            let noted = match refusal {
                IntakeError::Postponed(delay) => {
                    self.store.postpone_intake(scope, &[event], delay).await
                }
                IntakeError::Rejected { code, reason } => {
                    self.reject(scope, event, code, &reason).await
                }
            };
            if let Err(error) = noted {
                // Its lease ends, and it is tried again.
                tracing::debug!(%error, %event, "could not note a refused event of the intake");
            }
        }
    }

    /// Publishes the events, and returns those that were refused.
    async fn publish(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        events: Vec<IntakeEvent>,
    ) -> Vec<(EventId, IntakeError)> {
        let mut refused = Vec::new();
        let (mut ids, mut valid) = (Vec::new(), Vec::new());
        for event in events {
            let id = event.id;
            match new_event(event) {
                Ok(event) => {
                    ids.push(id);
                    valid.push(event);
                }
                Err(refusal) => refused.push((id, refusal)),
            }
        }
        let answers = self.publisher.publish_all(scope, tenant, valid).await;
        for (id, answer) in ids.into_iter().zip(answers) {
            if let Err(error) = answer {
                refused.push((id, IntakeError::of(&error)));
            }
        }
        refused
    }

    async fn reject(
        &self,
        scope: TenantScope,
        event: EventId,
        code: &str,
        reason: &str,
    ) -> Result<()> {
        if self.store.reject_intake(scope, event, code, reason, self.clock.now()).await? {
            let tenant = scope.tenant();
            tracing::warn!(%tenant, %event, code, reason, "rejected an event that was published from SQL");
        }
        Ok(())
    }
}

/// Builds the event. The SQL function has checked most of it; JSON that only PostgreSQL accepts is found
/// here.
fn new_event(event: IntakeEvent) -> Result<NewEvent, IntakeError> {
    let rejected = |code, reason| IntakeError::Rejected { code, reason };
    let event_type: EventType = event.event_type.parse().map_err(
        |error: gancho_domain::event_type::EventTypeParseError| {
            rejected("invalid_field", error.to_string())
        },
    )?;
    strict_json::check(&event.data, None)
        .map_err(|error| rejected("bad_json", error.to_string()))?;
    Ok(NewEvent {
        event_type,
        data: event.data,
        subject: event.subject,
        external_id: event.external_id,
        idempotency_key: event.idempotency_key,
        deliver_at: event.deliver_at,
        is_test: false,
        trace: None,
        intake_id: Some(event.id),
    })
}

impl IntakeError {
    fn of(error: &PublishError) -> Self {
        let code = match error {
            PublishError::Store(error) => return of_store(error),
            PublishError::TooFast { retry_after, .. } => return Self::Postponed(*retry_after),
            PublishError::KeyClash { .. } => "idempotency_mismatch",
            PublishError::PlanLimit(_) => "plan_limit",
            PublishError::Faulty(errors) => {
                let has_code = |code: &&str| {
                    ["schema_mismatch", "unknown_event_type", "reserved_event_type"].contains(code)
                };
                errors.first().map(|error| error.code).filter(has_code).unwrap_or("invalid_field")
            }
        };
        Self::Rejected { code, reason: error.to_string() }
    }
}

fn of_store(error: &StoreError) -> IntakeError {
    if error.is_permanent() {
        return IntakeError::Rejected { code: "internal", reason: error.to_string() };
    }
    IntakeError::Postponed(REST)
}
