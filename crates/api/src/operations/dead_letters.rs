//! Dead letters: deliveries that failed permanently. A tenant sees its own; the operator sees all.
//!
//! [`filter`] has the filters, [`view`] renders one, `letter_input` reads one.

pub mod export;
pub mod filter;
pub mod get;
pub mod import;
mod letter_input;
pub mod list;
pub mod purge;
pub mod replay;
pub mod stats;
pub mod view;

use gancho_domain::DeliveryId;
use gancho_store::{DeadFilter, DeadLetter, PageRequest};

use crate::{input::field::ResourceKind, problem::Problem, route::Call};

pub(crate) const TAG: &str = "Dead letters";

/// The dead letter in the path.
async fn find(call: &Call) -> Result<(DeadFilter, DeadLetter), Problem> {
    let id: DeliveryId = call.id("letter_id")?;
    let filter =
        DeadFilter { tenant: call.owner().tenant(), delivery: Some(id), ..DeadFilter::default() };
    let page = call.api.store.dead_letters(filter.clone(), PageRequest::first(1)).await?;
    let letter = page.rows.into_iter().next();
    Ok((filter, letter.ok_or_else(|| Problem::not_found(ResourceKind::DeadLetter))?))
}
