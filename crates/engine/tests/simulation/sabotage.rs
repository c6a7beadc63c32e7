//! Deliberate faults of the program itself: each must be noticed, or the checks are worth nothing.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    None,
    /// A delivery is acknowledged and never written.
    LoseAccepted,
    /// A result is acknowledged and never written.
    DropSettle,
    /// Results of nodes that lost their lease are written all the same.
    NoFence,
    /// A result is written, and then once more.
    SettleTwice,
    /// Heartbeats are acknowledged and never written.
    DropHeartbeat,
    /// A claim hands the same delivery out twice.
    ClaimTwice,
    /// What is to be kept in order is not.
    IgnoreOrder,
    /// One tenant is never claimed while there is other work.
    Starve,
    /// All targets share one pool of slots, however they answer.
    OnePool,
    /// A claim brings more than was asked for.
    Overfill,
}
