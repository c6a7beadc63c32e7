//! The ledger of what was received: how far it goes, and how far it is signed for. For the operator.

pub mod checkpoint;
pub mod get;
pub mod view;

use gancho_inbound::CheckpointerError;

use crate::{codes, problem::Problem};

pub(crate) const TAG: &str = "Ledger";

pub(crate) fn problem(fault: CheckpointerError) -> Problem {
    match fault {
        CheckpointerError::Store(error) => error.into(),
        CheckpointerError::AuditError(_) | CheckpointerError::Foreign(_) => {
            Problem::new(&codes::LEDGER_BROKEN, fault.to_string())
        }
        other => Problem::internal(other),
    }
}
