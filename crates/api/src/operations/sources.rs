//! Sources: the partners that send webhooks to the gateway, their keys and receipts. Operator only.

pub mod change;
pub mod create;
pub mod delete;
pub mod draft;
pub mod get;
pub mod import;
pub mod keys;
pub mod list;
pub mod proof;
pub mod receipt_view;
pub mod receipts;
pub mod rejections;
pub mod reload;
pub mod retry;
pub mod view;

use gancho_domain::TenantId;
use gancho_inbound::{Partner, Source};

use crate::{
    codes, input::field::ResourceKind, problem::Problem, route::Call, state::InboundParts,
};

pub(crate) const TAG: &str = "Sources";

/// The inbound part of the gateway; an error if receiving is disabled.
pub(crate) fn inbound(call: &Call) -> Result<&InboundParts, Problem> {
    call.api.inbound.as_ref().ok_or_else(|| {
        let detail =
            "receiving is disabled on this gateway; send the request to one that receives webhooks";
        Problem::new(&codes::RECEIVING_OFF, detail)
    })
}

/// The partner in the path. A malformed name is answered like one that does not exist.
pub(crate) fn partner(call: &Call) -> Result<Partner, Problem> {
    parse(call.path_param("partner"))
}

fn parse(partner: &str) -> Result<Partner, Problem> {
    partner.parse().map_err(|_| Problem::not_found(ResourceKind::Source))
}

/// The source of a partner, named in a query or a body.
pub(crate) async fn find_by_name(call: &Call, partner: &str) -> Result<Source, Problem> {
    Ok(inbound(call)?.sources.get(&parse(partner)?).await?)
}

/// The tenant of a partner's receipts, also of one whose source was deleted.
pub(crate) async fn tenant_by_name(call: &Call, partner: &str) -> Result<TenantId, Problem> {
    Ok(inbound(call)?.sources.tenant_of(&parse(partner)?).await?)
}

pub(crate) async fn find(call: &Call) -> Result<Source, Problem> {
    find_by_name(call, call.path_param("partner")).await
}
