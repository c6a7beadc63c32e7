//! Membership: a node joins every cell, and sends its heartbeat to each. It goes on as long as one of them answers.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use gancho_domain::{TenantId, Time};
use gancho_store::{
    LeaseStatus, NodeFacts, NodeId, NodeRecord, Nodes, RescueCounts, Result, StoreError,
};

use crate::{
    CellStore, at_home, long_at_home,
    members::{HeartbeatOutcome, name_in_cells},
};

/// How long a heartbeat may take in one cell, so that all of them and a rejoin end before the engine gives up.
const MAX_BEAT: Duration = Duration::from_secs(2);

#[async_trait]
impl Nodes for CellStore {
    /// A cell that does not answer is joined when it does.
    async fn join(&self, name: &str, now: Time) -> Result<NodeId> {
        let at = Instant::now();
        let node = at_home!(self, |store| store.join(name, now))?;
        self.members.joined_home(node, name, at);
        let cells = self.cells();
        let others = cells.iter().filter(|cell| !cell.is_home());
        for joined in join_all(others.map(|cell| self.joined_number(cell, node))).await {
            if let Err(error) = joined {
                tracing::debug!(%error, "could not join a cell; will retry");
            }
        }
        Ok(node)
    }

    async fn describe_node(&self, node: NodeId, facts: NodeFacts) -> Result<()> {
        let number = self.number_in(&self.home, node);
        at_home!(self, |store| store.describe_node(number, facts))
    }

    async fn nodes(&self, max: usize) -> Result<Vec<NodeRecord>> {
        let mut nodes = long_at_home!(self, |store| store.nodes(max))?;
        if self.is_alone() {
            return Ok(nodes);
        }
        let others = self.each(|store, _| async move { store.nodes(max).await }).await?;
        let others = others.into_iter().filter(|(cell, _)| !cell.is_home());
        let others = others.map(|(cell, nodes)| (cell.name.clone(), nodes));
        let mut held: HashMap<String, Vec<(String, NodeRecord)>> = HashMap::new();
        for (cell, record) in others
            .flat_map(|(cell, nodes)| nodes.into_iter().map(move |record| (cell.clone(), record)))
        {
            held.entry(record.name.clone()).or_default().push((cell, record));
        }
        for node in &mut nodes {
            node.cells.push((self.home.name.clone(), node.leases));
            // Where it was fenced in a cell, it has several numbers there.
            for (cell, there) in
                held.remove(&name_in_cells(&node.name, node.id)).unwrap_or_default()
            {
                node.leases += there.leases;
                let oldest = node.oldest_due_at.into_iter().chain(there.oldest_due_at);
                node.oldest_due_at = oldest.min();
                match node.cells.iter_mut().find(|(name, _)| *name == cell) {
                    Some((_, leases)) => *leases += there.leases,
                    None => node.cells.push((cell, there.leases)),
                }
            }
        }
        Ok(nodes)
    }

    async fn living_roles(&self, silent_for: Duration) -> Result<Vec<String>> {
        at_home!(self, |store| store.living_roles(silent_for))
    }

    /// Fenced where every cell that answers has declared the node dead. Where only some have, it joins those again.
    async fn heartbeat(&self, node: NodeId, now: Time) -> Result<()> {
        let cells = self.cells();
        let beats = cells.iter().map(|cell| async move {
            let beat = self.beat_in(cell, node, now);
            if self.is_alone() {
                return beat.await;
            }
            tokio::time::timeout(MAX_BEAT, beat).await.unwrap_or_else(|_| Err(cell.hangs()))
        });
        let beats = join_all(beats).await;
        if !beats.contains(&Ok(HeartbeatOutcome::Beaten)) {
            let is_fenced = beats.contains(&Ok(HeartbeatOutcome::Fenced));
            let failed = beats.into_iter().find_map(Result::err);
            return Err(failed.filter(|_| !is_fenced).unwrap_or(StoreError::Fenced));
        }
        let mut fenced = Vec::new();
        for (cell, beat) in cells.iter().zip(beats) {
            match beat {
                Ok(HeartbeatOutcome::Beaten) => {}
                Ok(HeartbeatOutcome::Fenced) => {
                    fenced.push(tokio::time::timeout(MAX_BEAT, self.rejoin(cell, node)));
                }
                Err(error) => {
                    tracing::debug!(cell = cell.name, %error, "heartbeat failed in a cell");
                }
            }
        }
        join_all(fenced).await;
        Ok(())
    }

    fn lease_status(
        &self,
        node: NodeId,
        tenant: TenantId,
        leased_at: Instant,
        trusted: Duration,
    ) -> LeaseStatus {
        self.lease_status(node, tenant, leased_at, trusted)
    }

    /// A cell that does not answer finds out by itself.
    async fn leave(&self, node: NodeId, now: Time) -> Result<()> {
        let left = self
            .each(|store, cell| {
                let number = self.number_in(&cell, node);
                async move { store.leave(number, now).await }
            })
            .await;
        self.members.left(node);
        left.map(drop)
    }

    async fn rescue(
        &self,
        caller: NodeId,
        silent_for: Duration,
        now: Time,
    ) -> Result<RescueCounts> {
        let rescued = self
            .each(|store, cell| async move {
                // A node that is not sure of its own membership in a cell declares no one dead there.
                if !self.is_sure_of(&cell, caller, silent_for) {
                    return Ok(RescueCounts::default());
                }
                let number = self.joined_number(&cell, caller).await?;
                store.rescue(number, silent_for, now).await
            })
            .await?;
        let mut total = RescueCounts::default();
        for (cell, counts) in rescued {
            // A node that died, died in every cell.
            if cell.is_home() {
                total.nodes = counts.nodes;
            }
            total.deliveries += counts.deliveries;
            total.given_up += counts.given_up;
        }
        Ok(total)
    }
}
