//! The cache of a tenant's endpoints: it reads only after a change, and prepares only what changed.
//! (faults.md 18)

use std::{sync::Arc, time::Instant};

use futures_util::future::join_all;
use gancho_domain::{Clock, Endpoint, EndpointId, Tenant};
use gancho_outbound::{
    EndpointDraft, Notifier,
    notify::{self, Notice},
};

use crate::stage::{Setup, Stage, draft, ok};

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

/// A result of one tenant that causes a notice for the operator waits for the operator's changes no longer than a claim does.
#[tokio::test]
async fn results_do_not_wait_for_the_operators_endpoints_that_are_changed_all_the_time() {
    let stage = Stage::with(Setup { with_operator: true, ..Setup::default() }).await;
    let receiver = ok().await;
    let (registry, operator) = (&stage.outbound.registry, stage.operator.tenant());
    let tenant = Tenant::new(operator, "operator", stage.clock.now());
    let subscriber = draft(&receiver, &["webhook.*"]);
    let first = stage.desk.create(stage.operator, &tenant, subscriber).await.unwrap().endpoint;
    // Many, so that reading them takes a while, and a pause follows.
    let add = |number: u128| {
        let copy = Endpoint { id: EndpointId::from_bits(number), ..first.clone() };
        stage.store.add_endpoint(stage.operator, copy, None)
    };
    for hundred in 0..50 {
        let added = join_all((1..=100).map(|number| add(hundred * 100 + number))).await;
        assert!(added.into_iter().all(|added| added.unwrap()));
    }
    for _ in 0..2 {
        registry.forget(operator);
        registry.of(operator).await.unwrap();
    }
    registry.forget(operator);
    let notifier = Notifier {
        store: stage.store.clone(),
        registry: registry.clone(),
        ids: stage.ids.clone(),
        clock: stage.clock.clone(),
        operator: Some(stage.operator),
        sink: None,
    };
    let (event_type, about) = (notify::EXHAUSTED, EndpointId::from_bits(1));
    let notice = Notice { event_type, data: "{}".into(), about };
    let begin = Instant::now();
    let parcels = notifier.parcels(stage.tenant.id, &notice).await.unwrap();
    let waited = begin.elapsed();
    assert!(parcels.iter().any(|new| new.deliveries.iter().any(|one| one.target == first.id)));
    registry.of(operator).await.unwrap();
    let read_in = begin.elapsed();
    assert!(waited < read_in / 2, "{waited:?}, {read_in:?}");
}
