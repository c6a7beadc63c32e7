//! The first step: rate limit and event types. Nothing is written.

use gancho_domain::{Tenant, TenantScope};
use tracing::instrument;

use super::{Answer, NewEvent, PublishError, Published, Publisher, stopped};
use crate::{
    event_types::EventTypeError,
    limits::{RateGrant, RateStanding},
};

/// A batch of which each event was admitted or refused, in order.
pub(super) struct Admission {
    rate: Option<RateStanding>,
    events: Vec<Result<NewEvent, PublishError>>,
}

/// The positions of the admitted events in the batch, to merge the results.
pub(super) struct Places {
    rate: Option<RateStanding>,
    refused: Vec<Option<PublishError>>,
}

impl Publisher {
    #[instrument(level = "debug", skip_all)]
    pub(super) async fn admit(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        events: Vec<NewEvent>,
    ) -> Admission {
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let taken = self.rates.take(tenant, count, self.clock.now());
        let granted = taken.granted as usize;
        let mut admission = Admission { rate: taken.standing, events: Vec::new() };
        for (place, event) in events.into_iter().enumerate() {
            admission.events.push(match taken.standing {
                Some(rate) if place >= granted => Err(too_fast(&taken, rate)),
                _ => self.check_type(scope, tenant, event).await,
            });
        }
        admission
    }

    async fn check_type(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        event: NewEvent,
    ) -> Result<NewEvent, PublishError> {
        self.types.check(scope, tenant, event.event_type.as_str(), &event.data).await?;
        Ok(event)
    }

    /// For an event without a type check.
    pub(super) fn within_rate(&self, tenant: &Tenant) -> Result<(), PublishError> {
        let taken = self.rates.take(tenant, 1, self.clock.now());
        match taken.standing {
            Some(rate) if taken.granted == 0 => Err(too_fast(&taken, rate)),
            _ => Ok(()),
        }
    }
}

impl Admission {
    pub fn split(self) -> (Vec<NewEvent>, Places) {
        let mut events = Vec::with_capacity(self.events.len());
        let mut admit = |event: Result<NewEvent, PublishError>| match event {
            Ok(event) => {
                events.push(event);
                None
            }
            Err(refused) => Some(refused),
        };
        let refused = self.events.into_iter().map(&mut admit).collect();
        (events, Places { rate: self.rate, refused })
    }
}

impl Places {
    /// One result for each event of the batch, in order. `accepted` has one for each admitted event.
    pub fn fill(self, accepted: Vec<Answer>) -> Vec<Answer> {
        let mut accepted = accepted.into_iter();
        let rate = self.rate;
        let mut answer = |refused: Option<PublishError>| match refused {
            Some(refused) => Err(refused),
            None => accepted.next().unwrap_or_else(|| Err(stopped())),
        };
        let answers = self.refused.into_iter().map(&mut answer);
        answers.map(|answer| answer.map(|published| Published { rate, ..published })).collect()
    }
}

fn too_fast(taken: &RateGrant, rate: RateStanding) -> PublishError {
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
