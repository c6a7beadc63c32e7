//! The calls that are written to the log, and the places where sabotage acts.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Clock, Lane, NextStep, TenantScope, Time};
use gancho_store::{
    Accept, AcceptOutcome, Claim, ClaimCursor, ClaimResult, Claiming, Deliveries, NewParcel,
    NodeId, Nodes, Placement, RescueCounts, Result, Settle, SettleOutcome, Settlement,
};
use gancho_store_sqlite::SqliteStore;

use crate::{
    sabotage::Sabotage,
    scenario::Clocks,
    tap::Tap,
    world::{End, What},
};

impl Tap {
    pub async fn accept(
        &self,
        store: &Arc<SqliteStore>,
        mut parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        let world = &self.0.world;
        match world.sabotage {
            Sabotage::LoseAccepted if world.dice.one_in(10) => return Ok(pretend(&parcels)),
            Sabotage::IgnoreOrder => {
                let all = parcels.iter_mut().flat_map(|parcel| &mut parcel.deliveries);
                all.for_each(|delivery| delivery.in_order = false);
            }
            _ => {}
        }
        let answer = store.accept(parcels.clone(), holder).await?;
        for parcel in &parcels {
            let subject = parcel.parcel.subject.as_deref().map(str::to_owned);
            for new in &parcel.deliveries {
                world.note(What::Accepted {
                    delivery: new.id,
                    target: new.target,
                    subject: subject.clone(),
                    due_in: new.due_at.since(self.0.clock.now()),
                });
            }
        }
        Ok(answer)
    }

    pub async fn claim(&self, store: &Arc<SqliteStore>, mut claim: Claim) -> Result<ClaimResult> {
        let world = &self.0.world;
        match world.sabotage {
            Sabotage::Overfill => claim.max *= 10,
            Sabotage::Starve if !world.is_calm() => {
                let mut skip = (*claim.skip).clone();
                skip.tenants.extend(world.scenario.tenants.last());
                claim.skip = Arc::new(skip);
            }
            _ => {}
        }
        let mut claimed = store.claim(claim).await?;
        if world.sabotage == Sabotage::ClaimTwice && world.dice.one_in(3) {
            let again = claimed.jobs.first().cloned();
            claimed.jobs.extend(again);
        }
        Ok(claimed)
    }

    pub async fn settle(
        &self,
        store: &Arc<SqliteStore>,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        let world = &self.0.world;
        if world.sabotage == Sabotage::DropSettle && world.dice.one_in(10) {
            return Ok(settlements
                .iter()
                .map(|_| SettleOutcome::Done { follow: vec![] })
                .collect());
        }
        let mut answers = store.settle(node, settlements.clone()).await?;
        if world.sabotage == Sabotage::NoFence && answers == [SettleOutcome::LeaseLost] {
            for other in 1..=node.0 + 3 {
                answers = store.settle(NodeId(other), settlements.clone()).await?;
                if answers != [SettleOutcome::LeaseLost] {
                    break;
                }
            }
        }
        if world.sabotage == Sabotage::SettleTwice && answers != [SettleOutcome::LeaseLost] {
            again(store, node, settlements.clone(), self.0.world.now()).await?;
        }
        for (settlement, answer) in settlements.iter().zip(&answers) {
            let (delivery, life) = (settlement.delivery, self.0.id);
            let attempt = settlement.attempt.as_ref();
            let started = attempt.map_or(settlement.at, |attempt| attempt.started_at);
            world.note(match answer {
                SettleOutcome::LeaseLost => What::Refused { delivery, life, started },
                SettleOutcome::Done { .. } => What::Settled {
                    attempt: attempt.map(|attempt| attempt.number),
                    delivery,
                    life,
                    started,
                    end: match settlement.next {
                        NextStep::Delivered => End::Delivered,
                        NextStep::Retry { .. } => End::Retry,
                        NextStep::Dead(_) => End::Dead,
                    },
                },
            });
        }
        Ok(answers)
    }

    pub async fn join(&self, store: &Arc<SqliteStore>, name: &str, now: Time) -> Result<NodeId> {
        let now = self.lease_time(now);
        let node = store.join(name, now).await?;
        self.0.world.beaten(node, now);
        self.0.world.note(What::Joined { life: self.0.id, node });
        Ok(node)
    }

    pub async fn heartbeat(&self, store: &SqliteStore, node: NodeId, now: Time) -> Result<()> {
        if self.0.world.sabotage == Sabotage::DropHeartbeat {
            return Ok(());
        }
        let now = self.lease_time(now);
        store.heartbeat(node, now).await?;
        self.0.world.beaten(node, now);
        Ok(())
    }

    pub async fn leave(&self, store: &SqliteStore, node: NodeId, now: Time) -> Result<()> {
        store.leave(node, now).await?;
        self.0.world.left(node);
        self.0.world.note(What::Left { node });
        Ok(())
    }

    pub async fn rescue(
        &self,
        store: &SqliteStore,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        let now = self.lease_time(now);
        let rescued = store.rescue(caller, silent_for, now).await?;
        self.0.world.rescued(caller, now - silent_for);
        Ok(rescued)
    }
}

impl Tap {
    /// Returns the time by which leases are judged: the store's, if nodes have clocks of their own.
    fn lease_time(&self, of_node: Time) -> Time {
        let world = &self.0.world;
        match world.scenario.clocks {
            Clocks::Same | Clocks::Jumping => of_node,
            Clocks::Apart if world.sabotage == Sabotage::OwnLeaseTime => self.0.machine.now(),
            Clocks::Apart => world.now(),
        }
    }

    /// Returns the time of the store, if it has a clock of its own.
    pub fn server_time(&self) -> Option<Time> {
        let world = &self.0.world;
        let corrects = world.sabotage != Sabotage::OwnClock;
        (corrects && world.scenario.clocks == Clocks::Apart).then(|| world.now())
    }
}

/// Makes the delivery due again without the engine's knowledge, claims it, and writes its result once more.
async fn again(
    store: &SqliteStore,
    node: NodeId,
    mut settlements: Vec<Settlement>,
    now: Time,
) -> Result<()> {
    for settlement in &mut settlements {
        let scope = TenantScope::internal(settlement.tenant);
        store.retry_now(scope, settlement.delivery, now).await?;
        for lane in Lane::ALL {
            let claim = Claim {
                node,
                lane,
                now,
                max: 1_000,
                max_bytes: 1 << 20,
                per_target: 1_000,
                per_proven: 1_000,
                per_tenant: 1_000,
                proven: Arc::default(),
                skip: Arc::default(),
                first: Vec::new(),
                cursor: ClaimCursor::default(),
            };
            let jobs = store.claim(claim).await?.jobs;
            let others = jobs.iter().filter(|job| job.delivery != settlement.delivery);
            let others = others.map(|job| (job.tenant, job.delivery).into()).collect();
            store.release(node, others).await?;
        }
        if let Some(attempt) = &mut settlement.attempt {
            attempt.number += 1;
        }
    }
    store.settle(node, settlements).await.map(drop)
}

/// Returns the answer to a call that wrote nothing.
fn pretend(parcels: &[NewParcel]) -> Vec<AcceptOutcome> {
    let answer = |parcel: &NewParcel| AcceptOutcome::New {
        number: None,
        placed: vec![Placement::Pending; parcel.deliveries.len()],
    };
    parcels.iter().map(answer).collect()
}
