//! Errors of a transaction, and the store errors that callers get for them.

use deadpool_postgres::PoolError;
use gancho_store::StoreError;
use tokio_postgres::{Error, error::SqlState};

/// The code of a tenant that is being moved to another cell, or was: see 0028_moves.sql.
const MOVING: &str = "WH503";

/// How a transaction failed, by what the caller can do. Except after a lost commit, which is not an error
/// here, nothing was written.
#[derive(Debug)]
pub(crate) enum TxError {
    /// Two transactions conflicted: retry it.
    Retry(StoreError),
    /// The connection, the server or its disk failed: any transaction would have failed.
    Server(StoreError),
    /// The transaction's own content is the cause. If several calls were merged, it may be one of them.
    Content(StoreError),
}

impl TxError {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Retry(error) | Self::Server(error) | Self::Content(error) => error,
        }
    }
}

impl From<Error> for TxError {
    fn from(error: Error) -> Self {
        let Some(code) = error.code() else {
            return Self::Server(error_of(&error));
        };
        if [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code) {
            return Self::Retry(error_of(&error));
        }
        if code.code() == MOVING {
            return Self::Content(error_of(&error));
        }
        match &code.code()[..2] {
            // Data, constraints, limits of a statement, and statements that are plainly wrong.
            "21" | "22" | "23" | "42" | "54" => Self::Content(error_of(&error)),
            _ => Self::Server(error_of(&error)),
        }
    }
}

impl From<StoreError> for TxError {
    fn from(error: StoreError) -> Self {
        Self::Content(error)
    }
}

pub(crate) fn error_of(error: &Error) -> StoreError {
    let text = text_of(error);
    match error.code() {
        Some(code) if code.code() == MOVING => StoreError::Moving(text),
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full(text),
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => StoreError::Taken(text),
        // Data, constraints, limits of a row: a retry cannot succeed.
        Some(code) if matches!(&code.code()[..2], "21" | "22" | "23" | "54") => {
            StoreError::Invalid(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

pub(crate) fn pool_error(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => error_of(error),
        other => StoreError::Unavailable(other.to_string()),
    }
}

/// Returns the text of the error. The driver's own text says only "db error"; its source says what happened.
fn text_of(error: &Error) -> String {
    if let Some(db) = error.as_db_error() {
        let detail = db.detail().map(|detail| format!(" ({detail})"));
        return format!("{}{} [{}]", db.message(), detail.unwrap_or_default(), db.code().code());
    }
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

/// Converts an error outside of a transaction, for `map_err`.
pub(crate) fn store_error(error: impl Into<TxError>) -> StoreError {
    error.into().into_error()
}
