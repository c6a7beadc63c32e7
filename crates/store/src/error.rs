//! What can go wrong in a store, by what the caller can do about it.

use thiserror::Error;

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum StoreError {
    /// Nothing was written. Say so to the publisher; go on delivering.
    #[error("the store is full: {0}")]
    Full(String),
    /// Nothing was written. Try again in a moment.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// Nothing was done, because too many calls of this tenant wait already. Others are served.
    #[error("too many calls: {0}")]
    Busy(String),
    /// The outcome is unknown and this store will do nothing more. Stop and open it again.
    #[error("the store stopped after an error: {0}")]
    Broken(String),
    /// Another node has taken this one's work over. Drop what is held and join again.
    #[error("this node was declared dead and its work was taken over")]
    Fenced,
    /// It cannot be opened as it is; the text says what to do.
    #[error("{0}")]
    Refused(String),
    /// The name is in use.
    #[error("{0} is already in use")]
    Taken(String),
    /// A row that the program cannot have written.
    #[error("the store contains invalid data: {0}")]
    Corrupt(String),
    /// Nothing was written, and the same call will never be: something in it cannot be stored.
    #[error("cannot be stored: {0}")]
    Invalid(String),
}

impl StoreError {
    /// Whether the same call would fail in the same way, however often it is made.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Taken(_) | Self::Corrupt(_) => true,
            Self::Full(_)
            | Self::Unavailable(_)
            | Self::Broken(_)
            | Self::Fenced
            | Self::Busy(_)
            | Self::Refused(_) => false,
        }
    }
}
