//! Cells: the databases of a gateway that has several. Operator only.

pub mod add;
pub mod change;
pub mod list;
pub mod remove;
pub mod tenants;
pub mod view;

use std::sync::Arc;

use gancho_store::StoreError;

use crate::{Api, cells::CellService, codes, problem::Problem};

pub(crate) const TAG: &str = "Cells";

pub(crate) fn service(api: &Api) -> Result<&Arc<dyn CellService>, Problem> {
    api.cells.as_ref().ok_or_else(|| {
        Problem::new(
            &codes::CONFLICT,
            "this gateway uses SQLite: only PostgreSQL can have several cells",
        )
    })
}

/// What the store refuses says what to do.
pub(crate) fn refused(error: StoreError) -> Problem {
    match error {
        StoreError::Refused(why) => Problem::new(&codes::CONFLICT, why),
        other => other.into(),
    }
}
