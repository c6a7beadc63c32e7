//! What this node knows about the others: how many share a limit, and the time that all of them use.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use crate::Engine;

/// A kind of work that a node does.
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

/// The number of living nodes by role.
#[derive(Default)]
pub(crate) struct FleetSize([AtomicU32; NodeRole::ALL.len()]);

impl FleetSize {
    /// Returns the number of nodes with a role, at least one: before its first heartbeat, this node is not
    /// counted.
    fn of(&self, role: NodeRole) -> u32 {
        self.0[role as usize].load(Ordering::Relaxed).max(1)
    }

    /// Counts the roles. Each text has the roles of one node, separated by commas. A node that has not
    /// reported its roles has all of them.
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
    /// Returns the number of living nodes with this role, some seconds ago. Limits that nodes keep in memory
    /// are divided by it.
    pub fn nodes_with(&self, role: NodeRole) -> u32 {
        self.fleet.of(role)
    }

    /// Reads the list of nodes. If the store does not answer, the last list stays valid; the failure is
    /// noticed elsewhere.
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
