//! The cache of a tenant's endpoints: it reads only after a change, and prepares only what changed.
//! (faults.md 18)

use std::sync::Arc;

use gancho_outbound::EndpointDraft;

use crate::stage::{Stage, draft, ok};

#[tokio::test]
async fn only_what_changed_is_made_ready_again() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(stage.create(draft(&receiver, &["*"])).await.endpoint.id);
    }
    let (registry, tenant) = (&stage.outbound.registry, stage.tenant.id);
    let before = registry.of(tenant).await.unwrap();
    assert_eq!(before.all.len(), 3);

    // A caller that reads after a change sees it; the other endpoints stay the same.
    let change = EndpointDraft { name: Some("new".into()), ..EndpointDraft::default() };
    stage.desk.change(stage.scope, ids[1], change, false).await.unwrap();
    let after = registry.of(tenant).await.unwrap();
    let is_same = |place: usize| Arc::ptr_eq(&before.all[place], &after.all[place]);
    assert_eq!([is_same(0), is_same(1), is_same(2)], [true, false, true]);
    assert_eq!(after.all[1].endpoint.name, "new");

    // If nothing has changed, nothing is read.
    registry.forget(tenant);
    assert!(Arc::ptr_eq(&after, &registry.of(tenant).await.unwrap()));

    stage.desk.delete(stage.scope, ids[0]).await.unwrap();
    let left = registry.of(tenant).await.unwrap();
    assert_eq!(left.all.len(), 2);
    assert!(Arc::ptr_eq(&left.all[1], &after.all[2]));
}
