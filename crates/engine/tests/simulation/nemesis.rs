//! Failures that happen at a time of their own choosing.

use std::{sync::Arc, time::Duration};

use gancho_store::{Pause, Pauses};

use crate::{
    node::Slot,
    scenario::Clocks,
    world::{What, World},
};

pub async fn run(world: Arc<World>, slots: Vec<Arc<Slot>>) {
    let every = world.scenario.lasts.as_millis() as u64 / (world.scenario.strikes + 1);
    for _ in 0..world.scenario.strikes {
        tokio::time::sleep(world.dice.millis(0, 2 * every)).await;
        strike(&world, &slots).await;
    }
}

async fn strike(world: &World, slots: &[Arc<Slot>]) {
    let dice = &world.dice;
    let slot = dice.pick(slots);
    let now = world.clock.elapsed();
    let life = slot.running().map(|running| running.life);
    let fault = |text: String| world.note(What::Fault(text));
    match (dice.roll(0, 7), life) {
        (0, Some(life)) => life.die("killed"),
        (1, Some(life)) => {
            // Longer than the lease, or not.
            let until = now + dice.millis(1_000, 40_000);
            *life.frozen_until.lock() = until;
            fault(format!("{:?}: heartbeats hang until {until:?}", life.id));
        }
        (2, Some(life)) => {
            let until = now + dice.millis(1_000, 40_000);
            *life.cut_off_until.lock() = until;
            fault(format!("{:?}: cut off until {until:?}", life.id));
        }
        (3, _) => {
            *world.hangs_until.lock() = now + dice.millis(100, 20_000);
            fault("the store hangs".into());
        }
        (4, _) => {
            let secs = dice.roll(0, 7_200) as i64 - 3_600;
            match world.scenario.clocks {
                Clocks::Same => {}
                Clocks::Jumping => {
                    world.clock.jump(secs);
                    fault(format!("the clock jumps by {secs} s"));
                }
                Clocks::Apart => {
                    slot.machine.jump(secs);
                    fault(format!("the clock of a machine jumps by {secs} s"));
                }
            }
        }
        (5 | 6, _) => pause(world).await,
        (7, Some(_)) => {
            fault("a soft stop".into());
            slot.stop.notify_one();
        }
        _ => {}
    }
}

/// Pauses something for a while, or until the faults end.
async fn pause(world: &World) {
    let target = world.dice.pick(&world.scenario.targets);
    let what = match world.dice.roll(0, 2) {
        0 => Pause::Lane(target.lane),
        1 => Pause::Tenant(target.tenant),
        _ => Pause::Endpoint(target.tenant, target.id),
    };
    world.note(What::Fault(format!("{what:?} is paused")));
    let _ = world.store.pause(what, world.now()).await;
    if world.dice.one_in(2) {
        tokio::time::sleep(world.dice.millis(100, 10_000)).await;
        let _ = world.store.resume(what).await;
    }
}

/// Ends all faults and repairs what they left behind.
pub async fn end(world: &World, slots: &[Arc<Slot>]) {
    world.calm_down();
    *world.hangs_until.lock() = Duration::ZERO;
    for life in slots.iter().filter_map(|slot| slot.running()).map(|running| running.life) {
        *life.frozen_until.lock() = Duration::ZERO;
        *life.cut_off_until.lock() = Duration::ZERO;
    }
    for what in world.store.pauses().await.expect("the store works") {
        world.store.resume(what).await.expect("the store works");
    }
}
