//! A move ties its tenant to no other cell: before the switch it is served by the old one, whatever happens to the new one, and
//! after it the other way round.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_domain::TenantId;
use gancho_store::{Accept, Nodes, Settle, SettleOutcome, Settlement};
use gancho_store_cells::{CellSetup, CellStore, MovePoint, MoveRules, MoveStep};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::{
    postgres::{Database, Postgres, fresh_database_on},
    wait_for,
};

use super::moved::{World, at_once};
use crate::stage::{delivered, now, setup, take_all};

/// The home cell, and the cell `a` on a server of its own.
struct TwoServers {
    world: World,
    // Before its server.
    far: Database,
    server: Arc<Postgres>,
}

/// What happens to the server at a point of a move.
#[derive(Debug, Clone, Copy)]
enum Outage {
    Stops,
    /// And the node that moves the tenant dies.
    StopsWithNode,
    Hangs,
}

impl TwoServers {
    async fn new() -> Self {
        let server = Postgres::start(&[]).unwrap();
        let far = fresh_database_on(&server.url("postgres")).await.unwrap();
        Self { world: World::new().await, far, server: Arc::new(server) }
    }

    /// Claims do not wait for a cell that hangs.
    async fn node(&self, rules: MoveRules) -> Arc<CellStore> {
        let options = Options::default();
        let home = PostgresStore::connect(&self.world.url("home"), options.clone()).await.unwrap();
        let claim_wait = Duration::from_millis(100);
        CellStore::open(home, CellSetup { claim_wait, moves: rules, ..setup(options) })
            .await
            .unwrap()
    }

    fn rules(&self, point: MovePoint, outage: Outage) -> (MoveRules, Arc<AtomicBool>) {
        let (server, is_down) = (self.server.clone(), Arc::new(AtomicBool::new(false)));
        let comes = {
            let is_down = is_down.clone();
            move |at| {
                if at != point || is_down.load(Ordering::SeqCst) {
                    return false;
                }
                match outage {
                    Outage::Stops | Outage::StopsWithNode => server.stop_at_once().unwrap(),
                    Outage::Hangs => server.freeze().unwrap(),
                }
                is_down.store(true, Ordering::SeqCst);
                matches!(outage, Outage::StopsWithNode)
            }
        };
        (MoveRules { dies_at: Some(Arc::new(comes)), ..at_once() }, is_down)
    }

    /// Moves the tenant until the outage, and returns a node that is there then.
    async fn node_after(
        &self,
        (tenant, to): (TenantId, &str),
        point: MovePoint,
        outage: Outage,
    ) -> Arc<CellStore> {
        let (rules, is_down) = self.rules(point, outage);
        let store = self.node(rules).await;
        wait_for("the move begins", || async { store.move_tenant(tenant, to).await.ok() }).await;
        wait_for("the server is down", || async { is_down.load(Ordering::SeqCst).then_some(()) })
            .await;
        if !matches!(outage, Outage::StopsWithNode) {
            return store;
        }
        drop(store);
        // It has never had the cell open.
        self.node(at_once()).await
    }

    fn end(&self, outage: Outage) {
        match outage {
            Outage::Stops | Outage::StopsWithNode => self.server.start_again().unwrap(),
            Outage::Hangs => self.server.unfreeze().unwrap(),
        }
    }

    /// Publishing is accepted and delivered.
    async fn is_served(&self, store: &CellStore, tenant: TenantId) {
        let node = store.join("node", now()).await.unwrap();
        wait_for("it is published", || async {
            let _ = store.heartbeat(node, now()).await;
            store.accept(vec![self.world.maker.event(tenant)], node).await.ok()
        })
        .await;
        wait_for("it is delivered", || async {
            let since = Instant::now();
            let job = take_all(store, node).await.pop()?;
            let settlement = Settlement { leased_at: Some(since), ..delivered(&job) };
            let settled = store.settle(node, vec![settlement]).await.ok()?;
            matches!(settled[..], [SettleOutcome::Done { .. }]).then_some(())
        })
        .await;
    }
}

async fn has_come_to(store: &CellStore, tenant: TenantId, step: MoveStep) {
    wait_for("the move has ended", || async {
        let status = store.move_status(tenant).await.ok()??;
        assert!(!status.step.has_ended() || status.step == step, "{status:?}");
        (status.step == step).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_switch_the_new_cell_may_be_down() {
    let servers = TwoServers::new().await;
    let first = servers.node(at_once()).await;
    let tenant = servers.world.maker.tenant(&first).await.unwrap();
    first.add_cell("a", &servers.far.url()).await.unwrap();
    servers.world.fill("home", tenant, 5).await;
    drop(first);
    let cases = [
        (MovePoint::Announced, Outage::Stops),
        (MovePoint::Announced, Outage::StopsWithNode),
        (MovePoint::Closed, Outage::Stops),
        (MovePoint::Closed, Outage::StopsWithNode),
        (MovePoint::Closed, Outage::Hangs),
        (MovePoint::LastChangesCopied, Outage::StopsWithNode),
    ];
    for (point, outage) in cases {
        println!("{point:?} {outage:?}");
        let store = servers.node_after((tenant, "a"), point, outage).await;
        servers.is_served(&store, tenant).await;
        // Taking it back does not wait for the cell either.
        store.take_tenant_back(tenant).await.unwrap();
        servers.is_served(&store, tenant).await;
        servers.end(outage);
        has_come_to(&store, tenant, MoveStep::TakenBack).await;
        servers.is_served(&store, tenant).await;
    }
    // Without that, it goes on when the cell is back.
    let outage = Outage::StopsWithNode;
    let store = servers.node_after((tenant, "a"), MovePoint::RestCopied, outage).await;
    servers.is_served(&store, tenant).await;
    servers.end(outage);
    has_come_to(&store, tenant, MoveStep::Done).await;
    servers.is_served(&store, tenant).await;
    assert_eq!(servers.world.left("home", tenant).await, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_switch_the_old_cell_may_be_down() {
    let servers = TwoServers::new().await;
    let first = servers.node(at_once()).await;
    servers.world.maker.tenant(&first).await.unwrap();
    first.add_cell("a", &servers.far.url()).await.unwrap();
    let tenants = [servers.world.maker.tenant(&first).await.unwrap(), {
        servers.world.maker.tenant(&first).await.unwrap();
        servers.world.maker.tenant(&first).await.unwrap()
    }];
    for tenant in tenants {
        assert_eq!(first.cell_name(tenant).as_deref(), Some("a"));
    }
    drop(first);
    for (tenant, outage) in tenants.into_iter().zip([Outage::Stops, Outage::StopsWithNode]) {
        println!("{outage:?}");
        let store = servers.node_after((tenant, "home"), MovePoint::Switched, outage).await;
        servers.is_served(&store, tenant).await;
        servers.end(outage);
        has_come_to(&store, tenant, MoveStep::Done).await;
        servers.is_served(&store, tenant).await;
    }
}
