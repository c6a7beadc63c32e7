//! Pauses and resumes work.

use std::{collections::HashSet, sync::Arc};

use gancho_domain::{Lane, TenantId};
use gancho_store::{Pause, Result, TargetId};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::Engine;

/// Maximum pauses that are applied to a lane before others may use its queue.
const AT_ONCE: usize = 256;

/// The pauses that this node knows of.
#[derive(Default)]
pub(crate) struct PauseCache {
    all: RwLock<HashSet<Pause>>,
    /// What changed on this node since the store was last read. Locked while the lanes are notified, so that
    /// all of them see changes in the same order.
    changed_here: Mutex<Vec<PauseChange>>,
    /// Locked while the store is read, by one task at a time.
    reading: tokio::sync::Mutex<()>,
}

/// A pause, and whether it is in force now.
type PauseChange = (Pause, bool);

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.poll).await;
        if let Err(error) = engine.refresh_pauses().await {
            engine.recovery_for("pauses", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Pauses something: on this node at once, on others within a second.
    pub async fn pause(self: &Arc<Self>, what: Pause) -> Result<()> {
        self.store.pause(what, self.clock.now()).await?;
        self.change_pause(what, true);
        Ok(())
    }

    pub async fn resume(self: &Arc<Self>, what: Pause) -> Result<()> {
        self.store.resume(what).await?;
        self.change_pause(what, false);
        Ok(())
    }

    /// Forgets the pause of something that does not exist any more.
    pub fn forget_pause(self: &Arc<Self>, what: Pause) {
        self.change_pause(what, false);
    }

    /// Whether something is paused. Reads memory only: a pause by another node is known within a second.
    pub fn is_paused(&self, what: Pause) -> bool {
        self.pauses.all.read().contains(&what)
    }

    /// Returns the pause that holds back deliveries to a target, if any.
    pub fn pause_of(&self, lane: Lane, (tenant, target): (TenantId, TargetId)) -> Option<Pause> {
        let known = self.pauses.all.read();
        let holding = [Pause::Endpoint(tenant, target), Pause::Tenant(tenant), Pause::Lane(lane)];
        holding.into_iter().find(|pause| known.contains(pause))
    }

    fn change_pause(self: &Arc<Self>, what: Pause, is_paused: bool) {
        let mut changed_here = self.pauses.changed_here.lock();
        changed_here.push((what, is_paused));
        self.notify_lanes(changed_here, &[(what, is_paused)]);
    }

    /// Reads the pauses of all tenants.
    pub async fn refresh_pauses(self: &Arc<Self>) -> Result<()> {
        let _turn = self.pauses.reading.lock().await;
        self.pauses.changed_here.lock().clear();
        let mut found: HashSet<Pause> = self.store.pauses().await?.into_iter().collect();
        let changed_here = self.pauses.changed_here.lock();
        for (what, is_paused) in changed_here.iter() {
            if *is_paused {
                found.insert(*what);
            } else {
                found.remove(what);
            }
        }
        let changes: Vec<PauseChange> = {
            let known = self.pauses.all.read();
            known.symmetric_difference(&found).map(|what| (*what, found.contains(what))).collect()
        };
        self.notify_lanes(changed_here, &changes);
        Ok(())
    }

    /// Tells a lane about some changes at a time, so that its deliveries do not wait for a caller that pauses
    /// very many endpoints.
    fn notify_lanes(
        self: &Arc<Self>,
        changed_here: MutexGuard<'_, Vec<PauseChange>>,
        changes: &[PauseChange],
    ) {
        {
            let mut known = self.pauses.all.write();
            for (what, is_paused) in changes {
                if *is_paused {
                    known.insert(*what);
                } else {
                    known.remove(what);
                }
            }
        }
        // A claim that began before passes over what was paused.
        let is_resumed = changes.iter().any(|(_, is_paused)| !is_paused);
        for lane in &self.lanes {
            for some in changes.chunks(AT_ONCE) {
                let (mut queue, now) = (lane.queue.lock(), self.clock.now());
                for (what, is_paused) in some {
                    if !matches!(what, Pause::Lane(held) if *held != lane.lane) {
                        queue.set_pause(*what, *is_paused, now);
                    }
                }
            }
            if is_resumed {
                lane.claim_bell.notify_one();
            }
        }
        drop(changed_here);
        for lane in &self.lanes {
            self.dispatch(lane);
        }
    }
}
