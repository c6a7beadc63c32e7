//! Sources: the partners who may post webhooks to the gateway, with their keys, and what they posted.
//! For the operator.

pub mod change;
pub mod create;
pub mod delete;
pub mod draft;
pub mod get;
pub mod import;
pub mod keys;
pub mod list;
pub mod receipt_view;
pub mod receipts;
pub mod rejections;
pub mod reload;
pub mod retry;
pub mod view;

use gancho_inbound::{Partner, Source};

use crate::{codes, input::field::Noun, problem::Problem, route::Call, state::InboundParts};

pub(crate) const TAG: &str = "Sources";

/// Whoever works with sources, where this gateway has any.
pub(crate) fn inbound(call: &Call) -> Result<&InboundParts, Problem> {
    call.api.inbound.as_ref().ok_or_else(|| {
        let detail =
            "receiving is disabled on this gateway; send the request to one that receives webhooks";
        Problem::new(&codes::RECEIVING_OFF, detail)
    })
}

/// The partner that the path names. What is not a name is answered as one that is not there.
pub(crate) fn partner(call: &Call) -> Result<Partner, Problem> {
    call.path_param("partner").parse().map_err(|_| Problem::not_found(Noun::Source))
}

/// The source of a partner that a query or a body names.
pub(crate) async fn find_by_name(call: &Call, partner: &str) -> Result<Source, Problem> {
    let partner: Partner = partner.parse().map_err(|_| Problem::not_found(Noun::Source))?;
    Ok(inbound(call)?.sources.get(&partner).await?)
}

pub(crate) async fn find(call: &Call) -> Result<Source, Problem> {
    find_by_name(call, call.path_param("partner")).await
}
