//! Accepting an event: when this is `Ok`, every matching endpoint has a stored delivery.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{Clock, EventId, EventType, IdMaker, Kind, Lane, Parcel, TenantScope, Time};
use gancho_engine::{Engine, Reservation};
use gancho_store::{Accepted, Job, NewDelivery, NewParcel, Once, Placed, Store, StoreError};
use thiserror::Error;

use crate::{fan_out::fan_out, registry::Registry};

pub struct Publisher {
    pub store: Arc<dyn Store>,
    pub engine: Arc<Engine>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
}

/// What a tenant asks to be published.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub event_type: EventType,
    /// JSON, kept byte for byte.
    pub data: Bytes,
    pub subject: Option<Box<str>>,
    pub external_id: Option<Box<str>>,
    pub once: Option<Once>,
    pub deliver_at: Option<Time>,
    pub is_test: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub id: EventId,
    pub created_at: Time,
    /// To how many endpoints it goes.
    pub deliveries: usize,
    /// It was published before under the same key, and this is the first one's id.
    pub is_repeat: bool,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum PublishError {
    #[error("the idempotency key was used for another event ({first}): use a new key")]
    KeyClash { first: EventId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Publisher {
    /// A caller who goes away before the answer changes nothing: what was begun is finished.
    pub async fn publish(
        self: &Arc<Self>,
        scope: TenantScope,
        event: NewEvent,
    ) -> Result<Published, PublishError> {
        let this = self.clone();
        let work = async move { this.accept(scope, event).await };
        let stopped = || StoreError::Unavailable("the gateway is stopping".into());
        self.engine.see_through(work).await.ok_or_else(stopped)?
    }

    async fn accept(&self, scope: TenantScope, event: NewEvent) -> Result<Published, PublishError> {
        let targets = self.registry.of(scope.tenant()).await?;
        let parcel = self.stamp(scope, &event);
        let now = parcel.created_at;
        let due_at = event.deliver_at.unwrap_or(now).max(now);
        let welcome = |id| due_at == now && self.engine.welcomes(Lane::Webhook, scope.tenant(), id);
        let mut deliveries = fan_out(&targets, &parcel.event_type, due_at, &self.ids, welcome);
        let room = self.reserve(&parcel, &mut deliveries);
        let holder = room.as_ref().map_or_else(|| self.engine.node(), Reservation::node);

        let new =
            NewParcel { parcel: parcel.clone(), once: event.once, deliveries: deliveries.clone() };
        let accepted = self.store.accept(vec![new], holder).await?.into_iter().next();
        match accepted {
            Some(Accepted::New { number, placed }) => {
                let count = deliveries.len();
                if let Some(room) = room {
                    self.engine.offer(room, held(&parcel, deliveries, &placed, number));
                }
                Ok(Published {
                    id: parcel.id,
                    created_at: now,
                    deliveries: count,
                    is_repeat: false,
                })
            }
            Some(Accepted::Again { first }) => self.repeat(scope, first).await,
            Some(Accepted::Clash { first }) => Err(PublishError::KeyClash { first }),
            None => Err(StoreError::Corrupt("an accepted event has no answer".into()).into()),
        }
    }

    fn stamp(&self, scope: TenantScope, event: &NewEvent) -> Arc<Parcel> {
        Arc::new(Parcel {
            id: self.ids.make(),
            tenant: scope.tenant(),
            kind: Kind::Event,
            event_type: event.event_type.as_str().into(),
            subject: event.subject.clone(),
            external_id: event.external_id.clone(),
            is_test: event.is_test,
            body: event.data.clone(),
            created_at: self.clock.now(),
        })
    }

    /// Room in memory for those that may be held; without it they wait in the store.
    fn reserve(&self, parcel: &Parcel, deliveries: &mut [NewDelivery]) -> Option<Reservation> {
        let count = deliveries.iter().filter(|delivery| delivery.hold).count();
        let room = (count > 0)
            .then(|| self.engine.reserve(Lane::Webhook, count, count * parcel.body.len()))
            .flatten();
        if room.is_none() {
            for delivery in deliveries {
                delivery.hold = false;
            }
        }
        room
    }

    async fn repeat(&self, scope: TenantScope, first: EventId) -> Result<Published, PublishError> {
        let view = self.store.event(scope, first).await?;
        Ok(Published {
            id: first,
            created_at: view.as_ref().map_or_else(|| first.time(), |view| view.parcel.created_at),
            deliveries: view.map_or(0, |view| view.deliveries.len()),
            is_repeat: true,
        })
    }
}

/// The jobs of those that were leased to this node.
fn held(
    parcel: &Arc<Parcel>,
    deliveries: Vec<NewDelivery>,
    placed: &[Placed],
    number: Option<u64>,
) -> Vec<Job> {
    deliveries
        .into_iter()
        .zip(placed)
        .filter(|(_, placed)| **placed == Placed::Leased)
        .map(|(delivery, _)| Job {
            delivery: delivery.id,
            tenant: parcel.tenant,
            lane: delivery.lane,
            target: delivery.target,
            parcel: parcel.clone(),
            number,
            attempts: 0,
            attempts_before: 0,
            is_replay: false,
            in_order: delivery.in_order && parcel.subject.is_some(),
            created_at: parcel.created_at,
        })
        .collect()
}
