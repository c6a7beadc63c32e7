//! Deliberate faults of the program itself. Each must be noticed, or the checks are worthless.

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
