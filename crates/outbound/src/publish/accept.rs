//! The third step: stamp → fan out → reserve room → one transaction → offer.

use std::sync::Arc;

use gancho_domain::{EventId, Kind, Lane, Parcel, TenantScope};
use gancho_engine::Reservation;
use gancho_store::{Accepted, Job, NewDelivery, NewParcel, Placed, StoreError};

use super::{Answer, NewEvent, PublishError, Published, Publisher};
use crate::{
    fan_out::{Audience, fan_out},
    registry::Targets,
};

impl Publisher {
    /// One answer for each event, in order.
    pub(super) async fn accept(
        &self,
        scope: TenantScope,
        events: Vec<NewEvent>,
        to: Audience,
    ) -> Vec<Answer> {
        let count = events.len();
        match self.try_accept(scope, events, to).await {
            Ok(answers) => answers,
            Err(error) => vec![Err(error.into()); count],
        }
    }

    async fn try_accept(
        &self,
        scope: TenantScope,
        events: Vec<NewEvent>,
        to: Audience,
    ) -> Result<Vec<Answer>, StoreError> {
        let targets = self.registry.of(scope.tenant()).await?;
        let mut parcels: Vec<NewParcel> =
            events.into_iter().map(|event| self.stamp(scope, event, &targets, to)).collect();
        let room = self.reserve(&mut parcels);
        let holder = room.as_ref().map_or_else(|| self.engine.node(), Reservation::node);

        let accepted = self.store.accept(parcels.clone(), holder).await?;
        if accepted.len() != parcels.len() {
            return Err(StoreError::Corrupt("an accepted event has no answer".into()));
        }
        if let Some(room) = room {
            let jobs =
                parcels.iter().zip(&accepted).flat_map(|(parcel, accepted)| held(parcel, accepted));
            self.engine.offer(room, jobs.collect());
        }
        let mut answers = Vec::with_capacity(parcels.len());
        for (new, accepted) in parcels.iter().zip(accepted) {
            answers.push(match accepted {
                Accepted::New { .. } => Ok(published(new)),
                Accepted::Again { first } => self.repeat(scope, first).await,
                Accepted::Clash { first } => Err(PublishError::KeyClash { first }),
            });
        }
        Ok(answers)
    }

    /// Gives it an id and a time, and says where it goes.
    fn stamp(
        &self,
        scope: TenantScope,
        event: NewEvent,
        targets: &Targets,
        to: Audience,
    ) -> NewParcel {
        let now = self.clock.now();
        let parcel = Arc::new(Parcel {
            id: self.ids.make(),
            tenant: scope.tenant(),
            kind: Kind::Event,
            event_type: event.event_type.as_str().into(),
            subject: event.subject,
            external_id: event.external_id,
            is_test: event.is_test,
            body: event.data,
            created_at: now,
        });
        let due_at = event.deliver_at.unwrap_or(now).max(now);
        let welcome = |id| due_at == now && self.engine.welcomes(Lane::Webhook, scope.tenant(), id);
        let deliveries = fan_out(targets, to, &parcel.event_type, due_at, &self.ids, welcome);
        NewParcel { parcel, once: event.once, ledger: None, deliveries }
    }

    /// Room in memory for those that may be held; without it they wait in the store.
    fn reserve(&self, parcels: &mut [NewParcel]) -> Option<Reservation> {
        let (mut targets, mut bytes) = (Vec::new(), 0);
        for new in &*parcels {
            for delivery in new.deliveries.iter().filter(|delivery| delivery.hold) {
                targets.push((new.parcel.tenant, delivery.target));
                bytes += new.parcel.body.len();
            }
        }
        let wanted = !targets.is_empty();
        let room = wanted.then(|| self.engine.reserve(Lane::Webhook, &targets, bytes)).flatten();
        if room.is_none() {
            for delivery in parcels.iter_mut().flat_map(|new| &mut new.deliveries) {
                delivery.hold = false;
            }
        }
        room
    }

    async fn repeat(&self, scope: TenantScope, first: EventId) -> Answer {
        let view = self.store.event(scope, first).await?;
        Ok(Published {
            id: first,
            created_at: view.as_ref().map_or_else(|| first.time(), |view| view.parcel.created_at),
            deliveries: view.map_or(0, |view| view.deliveries.len()),
            is_repeat: true,
            rate: None,
        })
    }
}

fn published(new: &NewParcel) -> Published {
    Published {
        id: new.parcel.id,
        created_at: new.parcel.created_at,
        deliveries: new.deliveries.len(),
        is_repeat: false,
        rate: None,
    }
}

/// The jobs of those that were leased to this node, whatever kind of parcel it is.
pub fn held<'a>(new: &'a NewParcel, accepted: &'a Accepted) -> impl Iterator<Item = Job> + 'a {
    let (number, placed): (_, &[Placed]) = match accepted {
        Accepted::New { number, placed } => (*number, placed),
        Accepted::Again { .. } | Accepted::Clash { .. } => (None, &[]),
    };
    let leased = new.deliveries.iter().zip(placed).filter(|(_, placed)| **placed == Placed::Leased);
    leased.map(move |(delivery, _)| job(&new.parcel, delivery, number))
}

fn job(parcel: &Arc<Parcel>, delivery: &NewDelivery, number: Option<u64>) -> Job {
    Job {
        delivery: delivery.id,
        tenant: parcel.tenant,
        lane: delivery.lane,
        target: delivery.target,
        parcel: parcel.clone(),
        number,
        attempts: 0,
        attempts_before: 0,
        lost_leases: 0,
        is_replay: false,
        in_order: delivery.in_order && parcel.subject.is_some(),
        created_at: parcel.created_at,
    }
}
