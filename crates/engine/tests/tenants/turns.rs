//! How tenants take turns, as the operator has set it.

use std::{collections::HashMap, sync::Arc};

use gancho_domain::{DeliveryId, Lane, TenantId};
use gancho_engine::{Engine, LaneSetup, LaneTerms, SlotPolicy};
use gancho_store::{Accept, NodeId};

use crate::stage::{Play, Stage, TENANT, seconds};

const OTHER: TenantId = TenantId::from_bits(2 << 80);

// `tenant_batch`: how many deliveries of one tenant run in a row while others wait.
#[tokio::test(start_paused = true)]
async fn a_tenant_has_as_many_in_a_row_as_is_set() {
    for batch in [1, 2, 5] {
        let stage = Stage::new(|_, _| Play::Deliver);
        let mut owners: HashMap<DeliveryId, TenantId> = HashMap::new();
        for tenant in [TENANT, OTHER] {
            for _ in 0..20 {
                let mut new = stage.parcel(false);
                Arc::make_mut(&mut new.parcel).tenant = tenant;
                owners.insert(new.deliveries[0].id, tenant);
                stage.store.accept(vec![new], NodeId(0)).await.expect("the store works");
            }
        }
        let mut setup = stage.setup();
        setup.limits.tenant_batch = batch;
        // One after the other.
        let lane = LaneSetup::new(Lane::Webhook, stage.actor.clone());
        let terms = LaneTerms { concurrency: 1, ..LaneTerms::default() };
        setup.lanes = vec![LaneSetup { terms, policy: SlotPolicy::HardUnsorted, ..lane }];
        let _engine = Engine::start(setup).await.expect("it starts");
        seconds(5).await;
        let calls: Vec<TenantId> =
            stage.actor.calls.lock().iter().map(|(id, _)| owners[id]).collect();
        assert_eq!(calls.len(), 40);
        let runs: Vec<usize> = calls.chunk_by(|one, next| one == next).map(<[_]>::len).collect();
        assert!(runs.iter().all(|run| *run == batch as usize), "{batch}: {runs:?}");
    }
}
