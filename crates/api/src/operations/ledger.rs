//! The ledger of received webhooks: its size and its checkpoints. Operator only.

pub mod checkpoint;
pub mod get;
pub mod view;

use gancho_inbound::CheckpointerError;

use crate::{codes, problem::Problem};

pub(crate) const TAG: &str = "Ledger";

pub(crate) fn problem(error: CheckpointerError) -> Problem {
    match error {
        CheckpointerError::Store(error) => error.into(),
        CheckpointerError::AuditError(_) | CheckpointerError::Foreign(_) => {
            Problem::new(&codes::LEDGER_BROKEN, error.to_string())
        }
        other => Problem::internal(other),
    }
}
