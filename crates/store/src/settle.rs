//! Writes the result of an attempt: the attempt, the next state and what follows, in one transaction. Refused
//! if the lease was lost.

use std::time::Instant;

use async_trait::async_trait;
use gancho_domain::{Attempt, DeliveryId, NextStep, TenantId, Time};

use crate::{AcceptOutcome, Job, NewParcel, NodeId, Result};

#[derive(Debug, Clone)]
pub struct Settlement {
    pub tenant: TenantId,
    pub delivery: DeliveryId,
    /// See [`Lease::since`](crate::Lease::since).
    pub leased_at: Option<Instant>,
    /// When the result was decided.
    pub at: Time,
    /// `None` if no attempt was made, for instance because the delivery expired.
    pub attempt: Option<Attempt>,
    pub next: NextStep,
    /// Whether a dead letter waits for the outcome, and is removed on success.
    pub is_replay: bool,
    /// Whether it is ordered: when it ends, the next of its subject moves up.
    pub in_order: bool,
    /// The parcels that are published in the same transaction, such as `email.sent`.
    pub follow: Vec<NewParcel>,
}

impl Settlement {
    /// Returns when its attempt ended or, if none was made, when that was decided.
    pub fn ended_at(&self) -> Time {
        self.attempt.as_ref().map_or(self.at, |attempt| attempt.started_at + attempt.latency)
    }

    pub fn of(job: &Job, at: Time, attempt: Option<Attempt>, next: NextStep) -> Self {
        Self {
            tenant: job.tenant,
            delivery: job.delivery,
            leased_at: None,
            at,
            attempt,
            next,
            is_replay: job.is_replay,
            in_order: job.in_order,
            follow: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleOutcome {
    /// Written, with an outcome for each published parcel.
    Done { follow: Vec<AcceptOutcome> },
    /// Another node holds the delivery now. Nothing was written, not even what follows.
    LeaseLost,
}

#[async_trait]
pub trait Settle: Send + Sync + 'static {
    /// Returns one outcome for each settlement, in order.
    async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>>;
}
