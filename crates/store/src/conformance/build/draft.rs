//! A parcel under construction, with its deliveries.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{
    DeliveryId, Failure, IdMaker, Lane, Parcel, ParcelId, TenantId, Time, TraceContext,
    parcel::ParcelKind,
};

use crate::{IdempotencyKey, LedgerReceipt, NewDelivery, NewParcel, TargetId};

#[derive(Clone)]
pub struct Draft {
    ids: Arc<IdMaker>,
    parcel: Parcel,
    once: Option<IdempotencyKey>,
    ledger: Option<LedgerReceipt>,
    deliveries: Vec<NewDelivery>,
}

impl Draft {
    pub(super) fn new(ids: Arc<IdMaker>, tenant: TenantId, now: Time) -> Self {
        let parcel = Parcel {
            id: ids.make(),
            tenant,
            kind: ParcelKind::Event,
            event_type: "invoice.paid".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: Bytes::from_static(br#"{"total":"9.90"}"#),
            created_at: now,
            trace: None,
            erased_at: None,
        };
        Self { ids, parcel, once: None, ledger: None, deliveries: Vec::new() }
    }

    pub fn about(mut self, subject: &str) -> Self {
        self.parcel.subject = Some(subject.into());
        self
    }

    pub fn named(mut self, external_id: &str) -> Self {
        self.parcel.external_id = Some(external_id.into());
        self
    }

    pub fn typed(mut self, event_type: &str) -> Self {
        self.parcel.event_type = event_type.into();
        self
    }

    pub fn kind(mut self, kind: ParcelKind) -> Self {
        self.parcel.kind = kind;
        self
    }

    pub fn traced(mut self, trace: TraceContext) -> Self {
        self.parcel.trace = Some(trace);
        self
    }

    pub fn as_test(mut self) -> Self {
        self.parcel.is_test = true;
        self
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.parcel.body = body.into();
        self
    }

    /// Sets a key that is remembered until then.
    pub fn once(mut self, key: u8, content: u8, until: Time) -> Self {
        self.once = Some(IdempotencyKey { key: [key; 32], content: [content; 32], until });
        self
    }

    /// Sets the key with this number, one of very many.
    pub fn once_of_many(mut self, number: u64, until: Time) -> Self {
        let mut key = [0; 32];
        // Spread over all keys, as hashes are.
        key[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        key[24..].copy_from_slice(&number.to_be_bytes());
        self.once = Some(IdempotencyKey { key, content: key, until });
        self
    }

    /// Adds a line of the ledger.
    pub fn in_ledger(mut self, entry: &str) -> Self {
        let entry = Bytes::from(entry.to_owned());
        self.ledger = Some(LedgerReceipt { entry, request: Bytes::new(), withheld: None });
        self
    }

    /// Adds a line of the ledger and the recorded request; withheld if there is a failure.
    pub fn received(mut self, request: &'static str, withheld: Option<Failure>) -> Self {
        let entry = Bytes::from_static(b"a line");
        self.ledger = Some(LedgerReceipt { entry, request: request.into(), withheld });
        self
    }

    /// Adds a delivery that is due now.
    pub fn to(self, target: TargetId) -> Self {
        self.with(target, |_| ())
    }

    /// Adds a delivery that is due at this time.
    pub fn to_at(self, target: TargetId, due_at: Time) -> Self {
        self.with(target, |delivery| delivery.due_at = due_at)
    }

    pub fn in_order_to(self, target: TargetId) -> Self {
        self.with(target, |delivery| delivery.in_order = true)
    }

    pub fn held_for(self, target: TargetId) -> Self {
        self.with(target, |delivery| delivery.hold = true)
    }

    pub fn in_lane(self, lane: Lane, target: TargetId) -> Self {
        self.with(target, |delivery| delivery.lane = lane)
    }

    pub fn with(mut self, target: TargetId, change: impl FnOnce(&mut NewDelivery)) -> Self {
        let mut delivery = NewDelivery {
            id: self.ids.make(),
            lane: Lane::Webhook,
            target,
            due_at: self.parcel.created_at,
            in_order: false,
            hold: false,
        };
        change(&mut delivery);
        self.deliveries.push(delivery);
        self
    }

    pub fn id(&self) -> ParcelId {
        self.parcel.id
    }

    pub fn parcel(&self) -> Parcel {
        self.parcel.clone()
    }

    pub fn has_deliveries(&self) -> bool {
        !self.deliveries.is_empty()
    }

    pub fn delivery(&self, place: usize) -> DeliveryId {
        self.deliveries[place].id
    }

    pub fn done(self) -> NewParcel {
        let Self { parcel, once, ledger, deliveries, .. } = self;
        NewParcel { parcel: Arc::new(parcel), once, ledger, deliveries }
    }
}
