//! What this node knows of the others: how many share a limit, and what time it is for all of them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use crate::Engine;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRole {
    Api,
    Ingest,
    Worker,
}

impl NodeRole {
    const ALL: [Self; 3] = [Self::Api, Self::Ingest, Self::Worker];

    fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Ingest => "ingest",
            Self::Worker => "worker",
        }
    }
}

/// Living nodes by role.
#[derive(Default)]
pub(crate) struct FleetSize([AtomicU32; NodeRole::ALL.len()]);

impl FleetSize {
    /// Where this node counts as none of them, as before its first heartbeat, it is one.
    fn of(&self, role: NodeRole) -> u32 {
        self.0[role as usize].load(Ordering::Relaxed).max(1)
    }

    /// `roles` has those of each node, separated by commas. A node that has not said its roles has all.
    fn set(&self, roles: &[String]) {
        for role in NodeRole::ALL {
            let has = |roles: &&String| {
                roles.is_empty() || roles.split(',').any(|name| name == role.name())
            };
            let count = roles.iter().filter(has).count();
            self.0[role as usize]
                .store(u32::try_from(count).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }
}

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(engine.limits.heartbeat).await;
        engine.compare_clocks().await;
        engine.refresh_fleet().await;
    }
}

impl Engine {
    /// The number of living nodes with this role, as of some seconds ago. Limits that nodes keep in their memory are divided
    /// by it.
    pub fn nodes_with(&self, role: NodeRole) -> u32 {
        self.fleet.of(role)
    }

    /// A store that does not answer is noticed elsewhere; until it does, the fleet is what it was.
    pub(crate) async fn refresh_fleet(self: &Arc<Self>) {
        let Ok(roles) = self.store.living_roles(self.limits.lease).await else { return };
        self.fleet.set(&roles);
        let workers = self.nodes_with(NodeRole::Worker);
        for lane in &self.lanes {
            let has_changed = lane.queue.lock().share_limits(workers, self.clock.now());
            if has_changed {
                self.dispatch(lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_role() {
        let fleet = FleetSize::default();
        let counts = || NodeRole::ALL.map(|role| fleet.of(role));
        assert_eq!(counts(), [1, 1, 1], "this one");
        fleet.set(&["api,ingest", "api", "worker", ""].map(str::to_owned));
        assert_eq!(counts(), [3, 2, 2]);
    }
}
