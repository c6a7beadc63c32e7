//! Errors of a step in a transaction, and the store errors that callers get for them.

use gancho_store::StoreError;
use rusqlite::ErrorCode;

#[derive(Debug)]
pub(crate) enum TxError {
    /// The step itself refused. It has written nothing.
    Refused(StoreError),
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for TxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for TxError {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<TxError> for StoreError {
    fn from(error: TxError) -> Self {
        match error {
            TxError::Refused(error) => error,
            TxError::Sql(error) => store_error(&error),
        }
    }
}

pub(crate) fn corrupt(what: impl Into<String>) -> TxError {
    TxError::Refused(StoreError::Corrupt(what.into()))
}

pub(crate) fn store_error(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(
            "the disk or the database's size limit is reached: free space or raise the limit"
                .into(),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Unavailable(
            "another program holds a lock on the database file: close it".into(),
        ),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
            StoreError::Invalid(error.to_string())
        }
        // After these errors the state on disk is unknown: nothing more may be written.
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Broken(error.to_string()),
        _ => StoreError::Corrupt(error.to_string()),
    }
}
