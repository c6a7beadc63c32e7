//! Finds what has an id. A few lookups by key, whatever there is.

use gancho_access::{KeyId, Principal};
use gancho_domain::{
    DeliveryId, EndpointId, EventId, ParcelKind, ReplayId, TenantId,
    id::{EmailIdKind, ReceiptIdKind},
};

use super::{
    find::{scope, slug},
    view::{MatchType, SearchMatch},
};
use crate::{problem::Problem, route::Call};

/// The characters of an id after its prefix.
const LENGTH: usize = 26;

pub(super) async fn find(call: &Call, text: &str) -> Result<Vec<SearchMatch>, Problem> {
    let (prefix, rest) = text.rsplit_once('_').unwrap_or(("", text));
    if rest.len() != LENGTH {
        return Ok(Vec::new());
    }
    let (prefix, rest) = (prefix.to_ascii_lowercase(), rest.to_ascii_uppercase());
    let Ok(id) = format!("evt_{rest}").parse::<EventId>() else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let is = |kinds: &[&str]| prefix.is_empty() || kinds.contains(&prefix.as_str());
    if is(&["evt", "out", "rcp"]) {
        found.extend(parcel(call, id).await?);
    }
    if is(&["dlv"]) {
        found.extend(delivery(call, id.cast()).await?);
    }
    if is(&["wh"]) {
        found.extend(webhook(call, id.cast()).await?);
    }
    if is(&["rpl"]) {
        found.extend(replay(call, id.cast()).await?);
    }
    if matches!(call.principal, Principal::Operator(_)) {
        if is(&["ten"]) {
            let tenant = call.api.access.tenants.get(id.cast()).await?;
            found.extend(tenant.map(|tenant| SearchMatch::tenant(&tenant)));
        }
        if is(&["src"]) {
            found.extend(source(call, id.cast()).await?);
        }
        if is(&["key"]) {
            found.extend(api_key(call, id.cast()).await?);
        }
    }
    Ok(found.into_iter().map(|one| SearchMatch { is_id: true, ..one }).collect())
}

/// An event, an e-mail or a receipt: they are stored alike.
async fn parcel(call: &Call, id: EventId) -> Result<Option<SearchMatch>, Problem> {
    let Some(owner) = call.api.store.event_owner(id).await? else { return Ok(None) };
    let Some(scope) = scope(call, owner) else { return Ok(None) };
    let Some(view) = call.api.store.event(scope, id).await? else { return Ok(None) };
    let parcel = &view.parcel;
    let found = match parcel.kind {
        ParcelKind::Event => SearchMatch::new(MatchType::Event, id).called(&parcel.event_type),
        ParcelKind::Email => SearchMatch::new(MatchType::Email, id.cast::<EmailIdKind>()),
        ParcelKind::Receipt => {
            let Some(source) = source(call, owner).await? else { return Ok(None) };
            let partner = source.partner.unwrap_or_default();
            SearchMatch::new(MatchType::Receipt, id.cast::<ReceiptIdKind>()).of_partner(&partner)
        }
    };
    Ok(Some(found.at(parcel.created_at).of_tenant(slug(call, owner).await?)))
}

async fn delivery(call: &Call, id: DeliveryId) -> Result<Option<SearchMatch>, Problem> {
    let Some(owner) = call.api.store.delivery_owner(id).await? else { return Ok(None) };
    let Some(scope) = scope(call, owner) else { return Ok(None) };
    let Some(view) = call.api.store.delivery(scope, id).await? else { return Ok(None) };
    let found = SearchMatch::new(MatchType::Delivery, id).at(view.row.created_at);
    Ok(Some(found.called(&view.row.event_type).of_tenant(slug(call, owner).await?)))
}

async fn webhook(call: &Call, id: EndpointId) -> Result<Option<SearchMatch>, Problem> {
    let Some(owner) = call.api.store.endpoint_owner(id).await? else { return Ok(None) };
    let Some(scope) = scope(call, owner) else { return Ok(None) };
    let Some(found) = call.api.store.endpoint(scope, id).await? else { return Ok(None) };
    Ok(Some(SearchMatch::webhook(&found).of_tenant(slug(call, owner).await?)))
}

async fn replay(call: &Call, id: ReplayId) -> Result<Option<SearchMatch>, Problem> {
    let Ok(found) = call.api.replays.find(id).await else { return Ok(None) };
    let tenant = match found.tenant {
        Some(owner) if scope(call, owner).is_some() => slug(call, owner).await?,
        None if matches!(call.principal, Principal::Operator(_)) => None,
        _ => return Ok(None),
    };
    Ok(Some(SearchMatch::new(MatchType::Replay, id).at(found.created_at).of_tenant(tenant)))
}

/// The source that is this tenant in the stores.
async fn source(call: &Call, tenant: TenantId) -> Result<Option<SearchMatch>, Problem> {
    let Some(inbound) = &call.api.inbound else { return Ok(None) };
    let found = inbound.inbound.sources.all().await?.of_tenant(tenant);
    Ok(found.map(|one| {
        let partner = one.source.partner.as_str();
        SearchMatch::new(MatchType::Source, one.source.id).called(partner).of_partner(partner)
    }))
}

async fn api_key(call: &Call, id: KeyId) -> Result<Option<SearchMatch>, Problem> {
    let Some(key) = call.api.access.keys.find(id).await? else { return Ok(None) };
    let found = SearchMatch::new(MatchType::ApiKey, id).called(&key.name).at(key.created_at);
    Ok(Some(found.of_tenant(slug(call, key.tenant).await?)))
}
