//! Deliberate faults of the program itself. Each must be noticed, or the checks are worthless.

use crate::scenario::{Clocks, Kind, Scenario};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// A delivery is acknowledged and never written.
    LoseAccepted,
    /// A result is acknowledged and never written.
    DropSettle,
    /// Results of nodes that lost their lease are written nevertheless.
    NoFence,
    /// A result is written twice.
    SettleTwice,
    /// Heartbeats are acknowledged and never written.
    DropHeartbeat,
    /// The time of a heartbeat and of a rescue is that of the node's machine, not of the store.
    OwnLeaseTime,
    /// Nodes do not correct their clocks by the store's.
    OwnClock,
    /// A claim hands the same delivery out twice.
    ClaimTwice,
    /// Deliveries that must be in order are not.
    IgnoreOrder,
    /// One tenant is never claimed while there is other work.
    Starve,
    /// All targets share one pool of slots, whatever their responses are.
    OnePool,
    /// A tenant keeps its turn for as long as it has something to send.
    NoTurns,
    /// The engine takes all tenants for one, so that one may have everything of a pool.
    OneTenant,
    /// A claim returns more than was requested.
    Overfill,
}

impl Sabotage {
    /// Whether it can be expected to show in this scenario.
    pub fn matters_to(self, scenario: &Scenario) -> bool {
        let is_fleet = scenario.clocks == Clocks::Apart && scenario.nodes > 1;
        match self {
            Self::OwnLeaseTime => is_fleet,
            Self::OwnClock => is_fleet && scenario.kind != Kind::Storm,
            Self::Overfill => scenario.limits.max_jobs == 8,
            _ => true,
        }
    }
}
