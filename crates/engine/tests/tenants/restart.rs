//! After a start, everybody may have older deliveries in the store. Those who have none do not wait for those who do.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gancho_domain::{DeliveryId, EndpointId, TenantId};
use gancho_engine::Engine;
use gancho_store::{Accept, NewParcel, NodeId};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::stage::{Play, Stage};

fn endpoint(tenant: u128, number: u128) -> (TenantId, EndpointId) {
    (TenantId::from_bits(tenant << 80), EndpointId::from_bits(tenant << 80 | number))
}

fn parcel(stage: &Stage, (tenant, target): (TenantId, EndpointId), hold: bool) -> NewParcel {
    let mut new = stage.parcel(hold);
    Arc::make_mut(&mut new.parcel).tenant = tenant;
    new.deliveries[0].target = target;
    new
}

// Fault 0, after a restart: until every endpoint with a backlog had been tried once, each event of a healthy tenant was
// stored and waited for its turn. Beside sixteen thousand that hang or fail, that took more than ten seconds.
#[tokio::test(start_paused = true)]
async fn a_healthy_endpoint_does_not_wait_until_all_that_hang_were_tried() {
    for (tenants, endpoints, backlog) in [(300_u128, 20, 3), (1_000, 4, 3), (1, 3_000, 2)] {
        // The healthy endpoint is of a tenant of its own, and of one of those whose others hang.
        for owner in [tenants + 1, tenants.div_ceil(2)] {
            let delay = longest_delay(endpoint(owner, endpoints + 1), async |stage| {
                for tenant in 1..=tenants {
                    let of = |number| parcel(stage, endpoint(tenant, number), false);
                    let all = (0..backlog).flat_map(|_| (1..=endpoints).map(of)).collect();
                    stage.store.accept(all, NodeId(0)).await.expect("the store works");
                }
            });
            let delay = delay.await;
            let is_prompt = delay.is_some_and(|delay| delay < Duration::from_millis(200));
            assert!(is_prompt, "{tenants} x {endpoints}, {owner}: {delay:?}");
        }
    }
}

/// Starts an engine on what `fill` has stored and publishes for a healthy endpoint; all others hang or fail. Returns
/// `None` if a delivery did not arrive.
async fn longest_delay(
    healthy: (TenantId, EndpointId),
    fill: impl AsyncFn(&Stage),
) -> Option<Duration> {
    let arrived: Arc<Mutex<HashMap<DeliveryId, Instant>>> = Arc::default();
    let seen = arrived.clone();
    let stage = Stage::new(move |job, _| {
        if job.target == healthy.1 {
            seen.lock().insert(job.delivery, Instant::now());
            Play::Deliver
        } else if job.target.bits() % 3 == 0 {
            Play::Fail
        } else {
            Play::Take(30)
        }
    });
    fill(&stage).await;
    let engine = Engine::start(stage.setup()).await.expect("it starts");
    let mut published = Vec::new();
    for _ in 0..100 {
        let new = parcel(&stage, healthy, true);
        published.push((new.deliveries[0].id, Instant::now()));
        engine.accept_one(new).await.expect("the store works");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let arrived = arrived.lock();
    let delays = published.iter().map(|(id, at)| Some(arrived.get(id)?.duration_since(*at)));
    delays.collect::<Option<Vec<_>>>()?.into_iter().max()
}
