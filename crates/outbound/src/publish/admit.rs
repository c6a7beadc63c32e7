//! The first step: which events may be published at all, by rate and by type. Nothing is written.

use gancho_domain::{Tenant, TenantScope};

use super::{Answer, NewEvent, PublishError, Published, Publisher, stopped};
use crate::{event_types::TypeError, limits::Taken};

/// A batch on its way: an answer for those that are refused, a place for the others.
pub(super) struct Admitted {
    taken: Taken,
    refused: Vec<Option<PublishError>>,
    events: Vec<NewEvent>,
}

impl Publisher {
    pub(super) async fn admit(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        events: Vec<NewEvent>,
    ) -> Admitted {
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        let taken = self.rates.take(tenant, count, self.clock.now());
        let mut admitted = Admitted { taken, refused: Vec::new(), events: Vec::new() };
        for (place, event) in events.into_iter().enumerate() {
            let judged = if place < taken.granted as usize {
                self.types.check(scope, tenant, event.event_type.as_str(), &event.data).await
            } else {
                admitted.refused.push(too_fast(&taken));
                continue;
            };
            admitted.refused.push(judged.err().map(PublishError::from));
            if let Some(None) = admitted.refused.last() {
                admitted.events.push(event);
            }
        }
        admitted
    }

    /// For one that no type is asked of.
    pub(super) fn within_rate(&self, tenant: &Tenant) -> Result<(), PublishError> {
        let taken = self.rates.take(tenant, 1, self.clock.now());
        match too_fast(&taken) {
            Some(refused) if taken.granted == 0 => Err(refused),
            _ => Ok(()),
        }
    }
}

impl Admitted {
    pub fn take_events(&mut self) -> Vec<NewEvent> {
        std::mem::take(&mut self.events)
    }

    /// Puts the answers of those that were admitted where they belong.
    pub fn answers(self, answers: Vec<Answer>) -> Vec<Answer> {
        let mut answers = answers.into_iter();
        let rate = self.taken.standing;
        let each = self.refused.into_iter().map(|refused| {
            refused.map_or_else(|| answers.next().unwrap_or_else(|| Err(stopped())), Err)
        });
        let each = each.map(|answer| answer.map(|published| Published { rate, ..published }));
        each.collect()
    }
}

fn too_fast(taken: &Taken) -> Option<PublishError> {
    let standing = taken.standing?;
    Some(PublishError::TooFast {
        retry_after: taken.retry_after,
        limit: standing.limit,
        remaining: standing.remaining,
        reset: standing.reset,
    })
}

impl From<TypeError> for PublishError {
    fn from(error: TypeError) -> Self {
        match error {
            TypeError::Store(error) => Self::Store(error),
            TypeError::Faulty(faults) => Self::Faulty(faults),
            other => Self::Faulty(vec![crate::Fault::new("event_type", "/type", other)]),
        }
    }
}
