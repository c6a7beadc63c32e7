//! The publishers. They remember what was acknowledged to them.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{Parcel, ParcelKind, TenantId};
use gancho_store::{NewDelivery, NewParcel};

use crate::{
    node::{Running, Slot},
    scenario::{self, Target},
    world::{What, World},
};

/// Publishes all of one tenant's parcels, one after the other, through whichever node runs.
pub async fn run(world: Arc<World>, slots: Vec<Arc<Slot>>, tenant: TenantId) {
    let scenario = &world.scenario;
    let floods = scenario.is_flooding(tenant);
    let targets: Vec<Target> =
        scenario.targets.iter().filter(|target| target.owner() == tenant).cloned().collect();
    match scenario.kind {
        scenario::Kind::Crowd => return crowd(&world, &slots, &targets).await,
        scenario::Kind::Backlogs if floods => return backlog(&world, &slots, &targets).await,
        scenario::Kind::Backlogs => return steady(&world, &slots, &targets).await,
        _ => {}
    }
    // A flood comes at once; others spread over the time.
    let count =
        if scenario.kind == scenario::Kind::Flood && !floods { 8 } else { scenario.parcels };
    let pause = if floods { 20 } else { scenario.lasts.as_millis() as u64 * 2 / count };
    for _ in 0..count {
        tokio::time::sleep(world.dice.millis(0, pause)).await;
        let batch = if floods { 3 } else { world.dice.roll(1, 2) };
        // What is refused is published again, under new ids; what a dying process took with it is not.
        let Some(node) = any_running(&world, &slots) else {
            continue;
        };
        let parcels: Vec<NewParcel> = (0..batch).map(|_| parcel(&world, &node, &targets)).collect();
        publish(&world, &node, parcels).await;
    }
}

/// Publishes to every target of the crowd first, and then to the healthy target alone, again and again.
async fn crowd(world: &World, slots: &[Arc<Slot>], targets: &[Target]) {
    let healthy: Vec<Target> = targets.iter().filter(|one| one.is_healthy()).cloned().collect();
    let begin = world.clock.elapsed();
    let mut left = world.scenario.parcels;
    while world.clock.elapsed() < begin + world.scenario.lasts {
        tokio::time::sleep(world.dice.millis(5, 120)).await;
        let to = if left > 0 { targets } else { &healthy };
        if to.is_empty() {
            return;
        }
        left = left.saturating_sub(1);
        if let Some(node) = any_running(world, slots) {
            publish(world, &node, vec![parcel(world, &node, to)]).await;
        }
    }
}

/// Publishes all parcels as fast as they are accepted.
async fn backlog(world: &World, slots: &[Arc<Slot>], targets: &[Target]) {
    let mut left = world.scenario.parcels;
    while left > 0 {
        tokio::time::sleep(world.dice.millis(1, 5)).await;
        if let Some(node) = any_running(world, slots) {
            let batch = left.min(100);
            left -= batch;
            let parcels = (0..batch).map(|_| parcel(world, &node, targets)).collect();
            publish(world, &node, parcels).await;
        }
    }
}

/// Publishes one parcel now and then.
async fn steady(world: &World, slots: &[Arc<Slot>], targets: &[Target]) {
    let begin = world.clock.elapsed();
    while world.clock.elapsed() < begin + world.scenario.lasts {
        tokio::time::sleep(world.dice.millis(50, 300)).await;
        if let Some(node) = any_running(world, slots) {
            publish(world, &node, vec![parcel(world, &node, targets)]).await;
        }
    }
}

fn any_running(world: &World, slots: &[Arc<Slot>]) -> Option<Running> {
    let running: Vec<Running> = slots.iter().filter_map(|slot| slot.running()).collect();
    if running.is_empty() { None } else { Some(world.dice.pick(&running).clone()) }
}

fn parcel(world: &World, node: &Running, targets: &[Target]) -> NewParcel {
    let dice = &world.dice;
    let now = node.life.clock.now();
    let subject = dice.one_in(2).then(|| format!("s{}", dice.roll(1, 2)).into_boxed_str());
    let parcel = Parcel {
        id: world.ids.make(),
        tenant: targets[0].tenant,
        kind: ParcelKind::Event,
        event_type: "a.b".into(),
        subject,
        external_id: None,
        is_test: false,
        body: Bytes::from(vec![b'x'; dice.roll(0, 300) as usize]),
        created_at: now,
        trace: None,
        erased_at: None,
    };
    let delivery = |target: &Target| NewDelivery {
        id: world.ids.make(),
        lane: target.lane,
        target: target.id,
        due_at: now + if dice.one_in(8) { dice.millis(0, 5_000) } else { dice.millis(0, 0) },
        in_order: target.in_order,
        hold: true,
    };
    let mut deliveries: Vec<NewDelivery> = targets.iter().map(delivery).collect();
    if deliveries.len() > 1 && dice.one_in(2) {
        deliveries.pop();
    }
    NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries }
}

/// Accepts parcels as a publish call does.
async fn publish(world: &World, node: &Running, parcels: Vec<NewParcel>) {
    let ids = |new: &NewParcel| new.deliveries.iter().map(|new| new.id).collect::<Vec<_>>();
    let ids: Vec<Vec<_>> = parcels.iter().map(ids).collect();
    for delivery in ids.iter().flatten() {
        world.note(What::Asked { delivery: *delivery });
    }
    let answers = tokio::select! {
        biased;
        () = node.life.died.cancelled() => return,
        answers = node.engine.accept(parcels) => answers,
    };
    assert_eq!(answers.len(), ids.len(), "one answer for each");
    for (_, ids) in answers.iter().zip(ids).filter(|(answer, _)| answer.is_ok()) {
        for delivery in ids {
            world.note(What::Acknowledged { delivery });
        }
    }
}
