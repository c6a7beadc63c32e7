//! Events and claims for tests that look into the file.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{Clock, IdMaker, Lane, Parcel, ParcelKind, SystemClock, TenantId, Time};
use gancho_store::{Claim, ClaimCursor, NewDelivery, NewParcel, NodeId, TargetId};

pub const NODE: NodeId = NodeId(1);

/// Returns an event with its own subject.
pub fn event(ids: &IdMaker, tenant: TenantId, targets: &[TargetId], due_at: Time) -> NewParcel {
    let parcel = Parcel {
        id: ids.make(),
        tenant,
        kind: ParcelKind::Event,
        event_type: "a".into(),
        subject: Some(format!("order-{}", ids.make::<u8>().bits()).into()),
        external_id: None,
        is_test: false,
        body: Bytes::from_static(b"{}"),
        created_at: SystemClock.now(),
        trace: None,
        erased_at: None,
    };
    let delivery = |target: &TargetId| NewDelivery {
        id: ids.make(),
        lane: Lane::Webhook,
        target: *target,
        due_at,
        in_order: false,
        hold: false,
    };
    let deliveries = targets.iter().map(delivery).collect();
    NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries }
}

/// Claims everything that is due at that time.
pub fn claim_at(now: Time) -> Claim {
    Claim {
        node: NODE,
        lane: Lane::Webhook,
        now,
        max: 5_000,
        max_bytes: 1 << 30,
        per_target: 5_000,
        per_proven: 5_000,
        per_tenant: 5_000,
        proven: Arc::default(),
        skip: Arc::default(),
        first: Vec::new(),
        cursor: ClaimCursor::default(),
    }
}
