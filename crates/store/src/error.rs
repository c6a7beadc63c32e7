//! Errors of a store, by what the caller can do about them.

use thiserror::Error;

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum StoreError {
    /// Nothing was written. Refuse new events; keep delivering.
    #[error("the store is full: {0}")]
    Full(String),
    /// Nothing was written. Retry in a moment.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// One of several databases did not answer in time. Whether the call was carried out is not known: it may still be,
    /// when the database answers again. Retry what may be done twice.
    #[error("the store did not answer in time: {0}")]
    TimedOut(String),
    /// Nothing was done, because too many calls of this tenant wait already. Other tenants are served.
    #[error("too many calls: {0}")]
    Busy(String),
    /// Nothing was written: the tenant is being moved to another cell, or has just been moved. Retry in a
    /// moment.
    #[error("the tenant moves: {0}")]
    Moving(String),
    /// The outcome is unknown, and this store accepts no more calls. Stop and reopen it.
    #[error("the store stopped after an error: {0}")]
    Broken(String),
    /// Another node has taken over this node's deliveries. Drop them and rejoin.
    #[error("this node was declared dead and its work was taken over")]
    Fenced,
    /// The store cannot be opened as it is; the text says what to do.
    #[error("{0}")]
    Refused(String),
    /// The name is in use.
    #[error("{0} is already in use")]
    Taken(String),
    /// A row contains a value that the program cannot have written.
    #[error("the store contains invalid data: {0}")]
    Corrupt(String),
    /// Nothing was written, and retrying never succeeds: some value in the call cannot be stored.
    #[error("cannot be stored: {0}")]
    Invalid(String),
}

impl StoreError {
    /// Whether retrying the same call always fails in the same way.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Taken(_) | Self::Corrupt(_) => true,
            Self::Full(_)
            | Self::Unavailable(_)
            | Self::TimedOut(_)
            | Self::Broken(_)
            | Self::Moving(_)
            | Self::Fenced
            | Self::Busy(_)
            | Self::Refused(_) => false,
        }
    }
}
