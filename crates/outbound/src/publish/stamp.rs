//! Before the events are accepted, each gets an id, a time and its deliveries; afterwards, each gets a
//! result.

use std::sync::Arc;

use gancho_domain::{EventId, Parcel, ParcelKind, TenantScope, Time};
use gancho_store::{AcceptOutcome, IdempotencyKey, NewParcel, StoreError};
use tracing::instrument;

use super::{AcceptedEvent, NewEvent, PublishError, PublishResult, Publisher, REMEMBERED};
use crate::{
    fan_out::{Audience, fan_out},
    registry::Targets,
};

impl Publisher {
    /// Builds the parcels to accept.
    #[instrument(level = "debug", skip_all)]
    pub(super) fn stamp_and_fan_out(
        &self,
        scope: TenantScope,
        events: Vec<NewEvent>,
        targets: &Targets,
        to: Audience,
    ) -> Vec<NewParcel> {
        events.into_iter().map(|event| self.stamp(scope, event, targets, to)).collect()
    }

    /// Builds the result of each event.
    pub(super) async fn answer(
        &self,
        scope: TenantScope,
        published: Vec<AcceptedEvent>,
        accepted: Vec<Result<AcceptOutcome, StoreError>>,
    ) -> Vec<PublishResult> {
        let mut answers = Vec::with_capacity(published.len());
        for (published, accepted) in published.into_iter().zip(accepted) {
            answers.push(match accepted {
                Ok(AcceptOutcome::New { .. }) => Ok(published),
                Ok(AcceptOutcome::Again { first }) => Box::pin(self.repeat(scope, first)).await,
                Ok(AcceptOutcome::Clash { first }) => Err(PublishError::KeyClash { first }),
                Err(error) => Err(error.into()),
            });
        }
        answers
    }

    /// Assigns an id and a time, and selects the endpoints.
    fn stamp(
        &self,
        scope: TenantScope,
        event: NewEvent,
        targets: &Targets,
        to: Audience,
    ) -> NewParcel {
        let now = self.clock.now();
        let once = event.idempotency_key.as_deref().map(|key| once(key, &event, now));
        let parcel = Arc::new(Parcel {
            id: event.intake_id.unwrap_or_else(|| self.ids.make()),
            tenant: scope.tenant(),
            kind: ParcelKind::Event,
            event_type: event.event_type.as_str().into(),
            subject: event.subject,
            external_id: event.external_id,
            is_test: event.is_test,
            body: event.data,
            created_at: now,
            trace: event.trace,
            erased_at: None,
        });
        let due_at = event.deliver_at.unwrap_or(now).max(now);
        let mut deliveries = fan_out(targets, to, &parcel.event_type, due_at, &self.ids);
        for delivery in &mut deliveries {
            delivery.hold = targets.get(delivery.target).is_some();
        }
        NewParcel { parcel, once, ledger: None, deliveries }
    }

    async fn repeat(&self, scope: TenantScope, first: EventId) -> PublishResult {
        let view = self.store.event(scope, first).await?;
        Ok(AcceptedEvent {
            id: first,
            created_at: view.as_ref().map_or_else(|| first.time(), |view| view.parcel.created_at),
            deliveries: view.map_or(0, |view| view.deliveries.len()),
            is_repeat: true,
            rate: None,
        })
    }
}

/// Returns the idempotency key. The same key with an event that differs in one of these fields is a conflict.
fn once(key: &str, event: &NewEvent, now: Time) -> IdempotencyKey {
    let deliver_at = event.deliver_at.map(|at| at.micros().to_string());
    IdempotencyKey::new(
        &[Some(b"publish"), Some(key.as_bytes())],
        &[
            Some(event.event_type.as_str().as_bytes()),
            Some(&event.data),
            event.subject.as_deref().map(str::as_bytes),
            event.external_id.as_deref().map(str::as_bytes),
            deliver_at.as_deref().map(str::as_bytes),
        ],
        now + REMEMBERED,
    )
}

impl AcceptedEvent {
    pub(super) fn of(new: &NewParcel) -> Self {
        Self {
            id: new.parcel.id,
            created_at: new.parcel.created_at,
            deliveries: new.deliveries.len(),
            is_repeat: false,
            rate: None,
        }
    }
}
