//! This process's nodes, and the number that each has in each cell.
//!
//! A node is known by its number in the home cell. In every other cell it joins under a number of that cell, and is
//! fenced there by itself: a node that was cut off from one cell loses what it held there, and nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use gancho_domain::{TenantId, Time};
use gancho_store::{LeaseStatus, NodeId, Nodes, Result, StoreError};
use parking_lot::Mutex;

use crate::{CellStore, cell::Cell};

/// Holds nothing anywhere: numbers begin with 1.
const NOBODY: NodeId = NodeId(0);

#[derive(Default)]
pub(crate) struct Members {
    all: Mutex<HashMap<NodeId, Member>>,
}

struct Member {
    name: String,
    terms: BTreeMap<u32, CellMembership>,
}

/// A node's membership in one cell.
#[derive(Clone, Copy)]
struct CellMembership {
    /// The first number it had there: rows of statistics keep to it.
    first: NodeId,
    number: NodeId,
    /// When it was given this number in place of another.
    since: Option<Instant>,
    beaten_at: Instant,
}

/// A heartbeat in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeartbeatOutcome {
    Beaten,
    Fenced,
}

impl Members {
    fn term(&self, node: NodeId, cell: u32) -> Option<CellMembership> {
        self.all.lock().get(&node)?.terms.get(&cell).copied()
    }

    /// One of those that have joined the cell.
    pub fn any_number(&self, cell: u32) -> Option<NodeId> {
        let all = self.all.lock();
        all.values().find_map(|member| Some(member.terms.get(&cell)?.number))
    }

    fn name(&self, node: NodeId) -> Option<String> {
        self.all.lock().get(&node).map(|member| member.name.clone())
    }

    pub fn joined_home(&self, node: NodeId, name: &str, at: Instant) {
        let term = CellMembership { first: node, number: node, since: None, beaten_at: at };
        let terms = BTreeMap::from([(crate::cell::HOME, term)]);
        self.all.lock().insert(node, Member { name: name.to_owned(), terms });
    }

    fn joined(&self, node: NodeId, cell: u32, number: NodeId, at: Instant) {
        if let Some(member) = self.all.lock().get_mut(&node) {
            let before = member.terms.get(&cell);
            let first = before.map_or(number, |term| term.first);
            let since = before.map(|_| Instant::now());
            let term = CellMembership { first, number, since, beaten_at: at };
            member.terms.insert(cell, term);
        }
    }

    fn beaten(&self, node: NodeId, cell: u32, number: NodeId, at: Instant) {
        if let Some(member) = self.all.lock().get_mut(&node)
            && let Some(term) = member.terms.get_mut(&cell).filter(|term| term.number == number)
        {
            term.beaten_at = at;
        }
    }

    pub fn left(&self, node: NodeId) {
        self.all.lock().remove(&node);
    }
}

/// What a node is called in cells other than the home cell: its number at home says which one it is.
pub(crate) fn name_in_cells(name: &str, node: NodeId) -> String {
    format!("{name} #{}", node.0)
}

impl CellStore {
    /// The number of a node in a cell, to write what it holds there already.
    pub(crate) fn number_in(&self, cell: &Cell, node: NodeId) -> NodeId {
        match self.members.term(node, cell.number) {
            Some(term) => term.number,
            None if cell.is_home() => node,
            None => NOBODY,
        }
    }

    /// The same, to claim. A node that has not joined the cell yet does so with its next heartbeat.
    pub(crate) fn number_to_claim(&self, cell: &Cell, node: NodeId) -> Result<NodeId> {
        match self.members.term(node, cell.number) {
            Some(term) => Ok(term.number),
            None if cell.is_home() => Ok(node),
            None => Err(StoreError::Unavailable(format!("cell {}: not joined yet", cell.name))),
        }
    }

    /// The same, to lease something to it. Joins the cell where the node has not yet.
    pub(crate) async fn joined_number(&self, cell: &Cell, node: NodeId) -> Result<NodeId> {
        if let Some(term) = self.members.term(node, cell.number) {
            return Ok(term.number);
        }
        if cell.is_home() || self.members.name(node).is_none() {
            return Ok(if cell.is_home() { node } else { NOBODY });
        }
        self.join_cell(cell, node, None).await
    }

    /// The first number that the node had in the cell.
    pub(crate) async fn first_number(&self, cell: &Cell, node: NodeId) -> Result<NodeId> {
        let number = self.joined_number(cell, node).await?;
        Ok(self.members.term(node, cell.number).map_or(number, |term| term.first))
    }

    /// Joins a cell, unless another call has: the number then is not `fenced` any more.
    async fn join_cell(&self, cell: &Cell, node: NodeId, fenced: Option<NodeId>) -> Result<NodeId> {
        let _one = cell.joining.lock().await;
        let term = self.members.term(node, cell.number);
        if let Some(term) = term.filter(|term| Some(term.number) != fenced) {
            return Ok(term.number);
        }
        let name = self.members.name(node).ok_or(StoreError::Fenced)?;
        let at = Instant::now();
        // The cell goes by its own clock.
        let name = if cell.is_home() { name } else { name_in_cells(&name, node) };
        let store = cell.open_store()?;
        let number = cell.bounded(store.join(&name, Time::from_micros(0))).await?;
        self.members.joined(node, cell.number, number, at);
        Ok(number)
    }

    pub(crate) async fn beat_in(
        &self,
        cell: &Cell,
        node: NodeId,
        now: Time,
    ) -> Result<HeartbeatOutcome> {
        let number = self.joined_number(cell, node).await?;
        let at = Instant::now();
        // Also while it rests: this is how it is found to answer again.
        let store = cell.open_store()?;
        let beaten = if self.is_alone() {
            cell.noted(store.heartbeat(number, now).await)
        } else {
            cell.bounded(store.heartbeat(number, now)).await
        };
        match beaten {
            Ok(()) => {
                self.members.beaten(node, cell.number, number, at);
                Ok(HeartbeatOutcome::Beaten)
            }
            Err(StoreError::Fenced) => Ok(HeartbeatOutcome::Fenced),
            Err(error) => Err(error),
        }
    }

    /// Finds out whether a cell that hangs answers again. Where it does not know a node of this process, it says so, and
    /// that is an answer, too.
    pub(crate) async fn probe(&self, cell: &Cell) {
        let Ok(store) = cell.open_store() else { return };
        let number = self.members.any_number(cell.number).unwrap_or(NOBODY);
        let _ = cell.bounded(store.heartbeat(number, Time::from_micros(0))).await;
    }

    /// Joins a cell again that has declared the node dead. Its membership in the other cells is not affected.
    pub(crate) async fn rejoin(&self, cell: &Cell, node: NodeId) {
        let fenced = self.number_in(cell, node);
        match self.join_cell(cell, node, Some(fenced)).await {
            Ok(number) => {
                tracing::warn!(
                    cell = cell.name,
                    node = number.0,
                    "node declared dead in a cell; rejoined"
                );
            }
            Err(error) => {
                tracing::warn!(cell = cell.name, %error, "could not rejoin a cell; will retry");
            }
        }
    }

    /// Whether the node's last heartbeat in a cell is younger than what makes others dead.
    pub(crate) fn is_sure_of(&self, cell: &Cell, node: NodeId, silent_for: Duration) -> bool {
        let term = self.members.term(node, cell.number);
        // Without a number it is about to join; a test passes no time at all.
        self.is_alone()
            || silent_for.is_zero()
            || term.is_none_or(|term| term.beaten_at.elapsed() < silent_for)
    }

    /// Whether what the node leased at `leased_at` is not its own any more, even if it holds the same delivery in this cell.
    ///
    /// **Invariant.** This is asked after the cell of the tenant and the number of the node there have been read. If nothing
    /// has changed since the lease by then, they are those of the lease.
    pub(crate) fn has_lost(
        &self,
        cell: &Cell,
        node: NodeId,
        tenant: TenantId,
        leased_at: Option<Instant>,
    ) -> bool {
        let (Some(leased_at), false) = (leased_at, self.is_alone()) else { return false };
        self.directory.moved_at(tenant).is_some_and(|at| at > leased_at)
            || self.has_rejoined(cell, node, leased_at)
    }

    /// Whether the node was given another number in the cell since then.
    pub(crate) fn has_rejoined(&self, cell: &Cell, node: NodeId, since: Instant) -> bool {
        self.members.term(node, cell.number).is_some_and(|term| term.since > Some(since))
    }

    pub(crate) fn lease_status(
        &self,
        node: NodeId,
        tenant: TenantId,
        leased_at: Instant,
        trusted: Duration,
    ) -> LeaseStatus {
        if self.is_alone() {
            return LeaseStatus::Held;
        }
        if self.directory.moved_at(tenant).is_some_and(|at| at > leased_at) {
            return LeaseStatus::Lost;
        }
        let cell = self.directory.known_cell(tenant);
        match self.members.term(node, cell) {
            None => LeaseStatus::Lost,
            // It is given back: the tenant leaves when nothing of it is held.
            Some(_) if self.directory.is_leaving(tenant) => LeaseStatus::Doubtful,
            Some(term) if term.since > Some(leased_at) => LeaseStatus::Lost,
            Some(term) if term.beaten_at.elapsed() < trusted => LeaseStatus::Held,
            Some(_) => LeaseStatus::Doubtful,
        }
    }
}
