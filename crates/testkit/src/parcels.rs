//! Parcels, claims and settlements for tests that talk to a store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_domain::{Attempt, IdMaker, Lane, NextStep, Parcel, ParcelKind, TenantId, Time};
use gancho_store::{Claim, ClaimCursor, Job, NewDelivery, NewParcel, NodeId, Settlement, TargetId};

/// Returns an event with one delivery, which is due now.
pub fn event(ids: &IdMaker, tenant: TenantId, target: TargetId, now: Time) -> NewParcel {
    let parcel = Parcel {
        id: ids.make(),
        tenant,
        kind: ParcelKind::Event,
        event_type: "invoice.paid".into(),
        subject: None,
        external_id: None,
        is_test: false,
        body: Bytes::from_static(b"{}"),
        created_at: now,
        trace: None,
        erased_at: None,
    };
    let delivery = NewDelivery {
        id: ids.make(),
        lane: Lane::Webhook,
        target,
        due_at: now,
        in_order: false,
        hold: false,
    };
    NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![delivery] }
}

/// Returns a claim of up to `max` deliveries, which may all be of one target.
pub fn claim(node: NodeId, max: usize, now: Time) -> Claim {
    Claim {
        node,
        lane: Lane::Webhook,
        now,
        max,
        max_bytes: 1 << 20,
        per_target: max,
        per_proven: max,
        per_tenant: max,
        proven: Arc::default(),
        skip: Arc::default(),
        first: Vec::new(),
        cursor: ClaimCursor::default(),
    }
}

/// Returns the settlement of a delivery that succeeded with its next attempt.
pub fn delivered(job: &Job, now: Time) -> Settlement {
    let attempt = Attempt {
        number: job.attempts + 1,
        started_at: now,
        latency: Duration::from_millis(5),
        request_headers: Bytes::new(),
        response_status: Some(200),
        response_headers: Bytes::new(),
        response_body: Bytes::new(),
        failure: None,
        next_at: None,
    };
    Settlement::of(job, now, Some(attempt), NextStep::Delivered)
}
