//! The intake: events that applications have stored with `gancho.publish`, in their own transactions, until a node
//! accepts or rejects them. Only PostgreSQL has one.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{EventId, TenantId, TenantScope, Time};
use tokio::sync::Notify;

use crate::{AcceptOutcome, NewParcel, NodeId, Result};

/// An event that waits in the intake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeEvent {
    pub tenant: TenantId,
    pub id: EventId,
    pub event_type: String,
    pub subject: Option<Box<str>>,
    pub external_id: Option<Box<str>>,
    pub idempotency_key: Option<Box<str>>,
    pub deliver_at: Option<Time>,
    pub data: Bytes,
}

/// An event of the intake that no node accepts. It stays until it is retried or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedEvent {
    pub event: IntakeEvent,
    /// The error code of the API.
    pub code: String,
    pub reason: String,
    pub published_at: Time,
    pub rejected_at: Time,
}

/// What `gancho.publish` needs for its own checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntakeSettings {
    /// Maximum size of an event's data.
    pub max_bytes: u64,
    /// Events per month, by plan. Plans without a limit are left out.
    pub plans: Vec<(String, u64)>,
    /// Event types that every tenant has.
    pub event_types: Vec<String>,
}

/// The bounds of one [`Intake::take_intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeBatch {
    pub max_tenants: usize,
    /// Maximum events per tenant.
    pub max_events: usize,
    /// Maximum bytes per tenant, unless one event alone is larger.
    pub max_bytes: usize,
    /// How long no other call takes events of these tenants.
    pub lease: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntakeCounts {
    /// Events that wait, counted up to [`IntakeCounts::MAX`].
    pub waiting: u64,
    pub rejected: u64,
}

impl IntakeCounts {
    pub const MAX: u64 = 100_000;
}

/// A store without an intake uses the default implementations.
#[async_trait]
pub trait Intake: Send + Sync + 'static {
    /// Rings when events arrive. `None` without an intake.
    fn intake_bell(&self) -> Option<Arc<Notify>> {
        None
    }

    /// Stores what `gancho.publish` checks. The last node to start decides.
    async fn describe_intake(&self, settings: IntakeSettings) -> Result<()> {
        let _ = settings;
        Ok(())
    }

    /// Takes the oldest events of the next tenants after `after`, those of a tenant in order. No other call
    /// takes events of these tenants before the lease ends, or until all taken events are accepted, rejected
    /// or postponed.
    async fn take_intake(
        &self,
        after: Option<TenantId>,
        batch: IntakeBatch,
    ) -> Result<Vec<IntakeEvent>> {
        let _ = (after, batch);
        Ok(Vec::new())
    }

    /// Accepts parcels as [`crate::Accept::accept`] does, and removes them from the intake in the same
    /// transaction. Returns [`AcceptOutcome::Again`] with its own id for one that is no longer there. One
    /// that clashes stays.
    async fn accept_intake(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        let _ = (parcels, holder);
        Ok(Vec::new())
    }

    /// Postpones events: they are taken again after this time, and no event of the tenant before.
    async fn postpone_intake(
        &self,
        scope: TenantScope,
        events: &[EventId],
        delay: Duration,
    ) -> Result<()> {
        let _ = (scope, events, delay);
        Ok(())
    }

    /// Rejects a waiting event. Returns whether it was waiting.
    async fn reject_intake(
        &self,
        scope: TenantScope,
        event: EventId,
        code: &str,
        reason: &str,
        now: Time,
    ) -> Result<bool> {
        let _ = (scope, event, code, reason, now);
        Ok(false)
    }

    /// Returns at most `max` rejected events, newest first, after `after`. Without a tenant those of all
    /// tenants.
    async fn rejected_events(
        &self,
        tenant: Option<TenantId>,
        after: Option<EventId>,
        max: usize,
    ) -> Result<Vec<RejectedEvent>> {
        let _ = (tenant, after, max);
        Ok(Vec::new())
    }

    /// Makes a rejected event wait again. Returns whether it existed. Fails with [`crate::StoreError::Taken`]
    /// if another event with its idempotency key waits.
    async fn retry_rejected_event(&self, tenant: Option<TenantId>, event: EventId) -> Result<bool> {
        let _ = (tenant, event);
        Ok(false)
    }

    /// Deletes a rejected event. Returns whether it existed.
    async fn delete_rejected_event(
        &self,
        tenant: Option<TenantId>,
        event: EventId,
    ) -> Result<bool> {
        let _ = (tenant, event);
        Ok(false)
    }

    async fn intake_counts(&self) -> Result<IntakeCounts> {
        Ok(IntakeCounts::default())
    }
}
