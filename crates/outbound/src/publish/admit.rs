//! The first step: rate limit and event types. Nothing is written.

use gancho_domain::{Tenant, TenantScope};
use gancho_engine::NodeRole;

use super::{NewEvent, PublishError, PublishResult, Publisher, stopped};
use crate::{
    event_types::EventTypeError,
    limits::{RateGrant, RateLimitStatus},
};

/// The admitted events of a batch, and what is needed to merge their results with the refusals.
pub(super) struct Admission {
    pub events: Vec<NewEvent>,
    pub refusals: RefusedEvents,
}

pub(super) struct RefusedEvents {
    rate: Option<RateLimitStatus>,
    /// The number of events in the batch.
    count: usize,
    /// The refused events by their position in the batch, in order.
    refused: Vec<(usize, PublishError)>,
}

impl Publisher {
    pub(super) async fn admit(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        mut events: Vec<NewEvent>,
    ) -> Admission {
        let count = events.len();
        // Workers publish what `gancho.publish` has stored, so the rate is divided among them.
        let is_moved = events.first().is_some_and(|event| event.intake_id.is_some());
        let role = if is_moved { NodeRole::Worker } else { NodeRole::Api };
        let taken = self.take_rate(tenant, u32::try_from(count).unwrap_or(u32::MAX), role);
        let granted = taken.granted as usize;
        let mut refused = Vec::new();
        for (place, event) in events.iter().enumerate() {
            let checked = match taken.standing {
                Some(rate) if place >= granted => Err(too_fast(&taken, rate)),
                _ => self.check_type(scope, tenant, event).await,
            };
            refused.extend(checked.err().map(|error| (place, error)));
        }
        let is_refused = |place: usize| refused.binary_search_by_key(&place, |(at, _)| *at).is_ok();
        let mut place = 0..;
        events.retain(|_| !place.next().is_some_and(is_refused));
        Admission { events, refusals: RefusedEvents { rate: taken.standing, count, refused } }
    }

    async fn check_type(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        event: &NewEvent,
    ) -> Result<(), PublishError> {
        self.types.check(scope, tenant, event.event_type.as_str(), &event.data).await?;
        Ok(())
    }

    fn take_rate(&self, tenant: &Tenant, count: u32, role: NodeRole) -> RateGrant {
        self.rates.take(tenant, count, self.engine.nodes_with(role), self.clock.now())
    }

    /// Checks the rate limit for an event without a type check.
    pub(super) fn within_rate(&self, tenant: &Tenant) -> Result<(), PublishError> {
        let taken = self.take_rate(tenant, 1, NodeRole::Api);
        match taken.standing {
            Some(rate) if taken.granted == 0 => Err(too_fast(&taken, rate)),
            _ => Ok(()),
        }
    }
}

impl RefusedEvents {
    /// Returns one result for each event of the batch, in order. `accepted` has one for each admitted event.
    pub fn merge(self, mut accepted: Vec<PublishResult>) -> Vec<PublishResult> {
        for published in accepted.iter_mut().flatten() {
            published.rate = self.rate;
        }
        if accepted.len() == self.count {
            return accepted;
        }
        let mut accepted = accepted.into_iter();
        let mut refused = self.refused.into_iter().peekable();
        let answer = |place| match refused.next_if(|(at, _)| *at == place) {
            Some((_, error)) => Err(error),
            None => accepted.next().unwrap_or_else(|| Err(stopped())),
        };
        (0..self.count).map(answer).collect()
    }
}

fn too_fast(taken: &RateGrant, rate: RateLimitStatus) -> PublishError {
    PublishError::TooFast {
        retry_after: taken.retry_after,
        limit: rate.limit,
        remaining: rate.remaining,
        reset: rate.reset,
    }
}

impl From<EventTypeError> for PublishError {
    fn from(error: EventTypeError) -> Self {
        match error {
            EventTypeError::Store(error) => Self::Store(error),
            EventTypeError::Faulty(errors) => Self::Faulty(errors),
            other => {
                Self::Faulty(vec![gancho_domain::FieldError::new("event_type", "/type", other)])
            }
        }
    }
}
