//! Runs one seed from beginning to end, or many of them.

use std::{sync::Arc, time::Duration};

use gancho_store::Upkeep;

use crate::{
    check, nemesis,
    node::Slot,
    publisher,
    sabotage::Sabotage,
    scenario::{Behavior, Kind, Scenario},
    world::{What, World},
};

/// Longer than any backlog here needs.
const MAX_DRAIN: Duration = Duration::from_hours(3);

/// What the checks found, and what happened in the run.
pub struct Report {
    pub faults: Vec<check::Broken>,
    pub log: Vec<(Duration, What)>,
}

/// Runs a seed in virtual time, on this thread alone.
pub fn seed(seed: u64, sabotage: Sabotage) -> Report {
    scenario(Scenario::of(seed), sabotage)
}

/// Runs a seed beside a crowd of targets that hang.
pub fn crowd(seed: u64, sabotage: Sabotage) -> Report {
    scenario(Scenario::crowd(seed), sabotage)
}

/// Runs a seed beside a crowd of tenants.
pub fn crowd_of_tenants(seed: u64, sabotage: Sabotage) -> Report {
    scenario(Scenario::crowd_of_tenants(seed), sabotage)
}

/// Runs a seed in which tenants with a backlog compete with others for the slots of one pool.
pub fn backlogs(seed: u64, behavior: Behavior, sabotage: Sabotage) -> Report {
    let mut scene = Scenario::backlogs(seed, behavior);
    if sabotage == Sabotage::OneTenant {
        scene.merge_tenants();
    }
    scenario(scene, sabotage)
}

pub fn scenario(scenario: Scenario, sabotage: Sabotage) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let world = World::new(scenario, sabotage);
        let drained = play(&world).await;
        let faults = check::all(&world, drained).await;
        let log = std::mem::take(&mut *world.log.lock());
        Report { faults, log }
    })
}

/// Runs the world. Returns whether every delivery ended.
async fn play(world: &Arc<World>) -> bool {
    let slots: Vec<Arc<Slot>> = (0..world.scenario.nodes).map(|_| Slot::new(world)).collect();
    let nodes: Vec<_> = slots.iter().map(|slot| tokio::spawn(slot.clone().run())).collect();
    let mut busy = tokio::task::JoinSet::new();
    for tenant in &world.scenario.tenants {
        busy.spawn(publisher::run(world.clone(), slots.clone(), *tenant));
    }
    if world.scenario.kind == Kind::Storm {
        busy.spawn(nemesis::run(world.clone(), slots.clone()));
    }
    while busy.join_next().await.is_some() {}
    nemesis::end(world, &slots).await;
    let drained = drain(world).await;
    for slot in &slots {
        slot.over.cancel();
    }
    for node in nodes {
        let _ = node.await;
    }
    drained
}

async fn drain(world: &World) -> bool {
    let end = world.clock.elapsed() + MAX_DRAIN;
    // The deliveries of an interrupted fan-out are in no queue depth until they are placed.
    let limits = &world.scenario.limits;
    let min_quiet = limits.lease + 2 * limits.rescue;
    let mut quiet_since = None;
    while world.clock.elapsed() < end {
        let depths = world.store.depths().await.expect("the store works");
        let now = world.clock.elapsed();
        if depths.iter().any(|lane| lane.pending + lane.leased + lane.waiting > 0) {
            quiet_since = None;
        } else if now >= *quiet_since.get_or_insert(now) + min_quiet {
            return true;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    false
}
