//! Finds what is called something: by external id, event type, slug, partner, name or URL.

use gancho_access::Principal;
use gancho_domain::{
    ParcelKind, TenantScope,
    id::{EmailIdKind, ReceiptIdKind},
};
use gancho_store::{EventFilter, PageRequest};

use super::{
    find::slug,
    view::{MatchType, SearchMatch, SearchResult},
};
use crate::{problem::Problem, route::Call};

/// Maximum tenants in which an external id is looked up.
const MAX_OWNERS: usize = 20;
/// Maximum matches of each kind.
const MAX_MATCHES: usize = 20;
/// Maximum webhooks, and tenants, whose names are compared.
const MAX_SCANNED: usize = 1_000;
/// Maximum sources whose receipts are looked up.
const MAX_SOURCES: usize = 50;

pub(super) async fn find(call: &Call, text: &str) -> Result<SearchResult, Problem> {
    let mut result = SearchResult { data: Vec::new(), is_complete: true };
    external_ids(call, text, &mut result).await?;
    event_types(call, text, &mut result).await?;
    let part = text.to_lowercase();
    if matches!(call.principal, Principal::Operator(_)) {
        tenants(call, &part, &mut result).await?;
        sources(call, text, &part, &mut result).await?;
    }
    webhooks(call, &part, &mut result).await?;
    Ok(result)
}

impl SearchResult {
    /// Adds a few; more are left out, which the answer says.
    fn add(&mut self, found: impl IntoIterator<Item = SearchMatch>) {
        let mut found = found.into_iter();
        self.data.extend(found.by_ref().take(MAX_MATCHES));
        self.is_complete &= found.next().is_none();
    }
}

async fn external_ids(call: &Call, text: &str, result: &mut SearchResult) -> Result<(), Problem> {
    let scopes: Vec<TenantScope> = match &call.principal {
        Principal::Tenant(principal) => vec![principal.scope()],
        Principal::Operator(operator) => {
            let owners = call.api.store.external_id_owners(text, MAX_OWNERS + 1).await?;
            result.is_complete &= owners.len() <= MAX_OWNERS;
            owners.into_iter().take(MAX_OWNERS).map(|owner| operator.scope_of(owner)).collect()
        }
    };
    for scope in scopes {
        let slug = slug(call, scope.tenant()).await?;
        for kind in [ParcelKind::Event, ParcelKind::Email] {
            let found = named(call, scope, kind, text, result).await?;
            result.add(found.into_iter().map(|one| one.of_tenant(slug.clone())));
        }
    }
    Ok(())
}

/// The newest parcels of a kind that have the external id.
async fn named(
    call: &Call,
    scope: TenantScope,
    kind: ParcelKind,
    text: &str,
    result: &mut SearchResult,
) -> Result<Vec<SearchMatch>, Problem> {
    let filter = EventFilter { kind, external_id: Some(text.to_owned()), ..EventFilter::default() };
    let page = call.api.store.events(scope, filter, PageRequest::first(MAX_MATCHES)).await?;
    result.is_complete &= page.next.is_none();
    let found = page.rows.into_iter().map(|row| {
        match kind {
            ParcelKind::Event => SearchMatch::new(MatchType::Event, row.id).called(&row.event_type),
            ParcelKind::Email => SearchMatch::new(MatchType::Email, row.id.cast::<EmailIdKind>()),
            ParcelKind::Receipt => {
                SearchMatch::new(MatchType::Receipt, row.id.cast::<ReceiptIdKind>())
            }
        }
        .at(row.created_at)
    });
    Ok(found.collect())
}

/// The type itself, if it is in the catalog or an event has it, also one that matched no webhook.
async fn event_types(call: &Call, text: &str, result: &mut SearchResult) -> Result<(), Problem> {
    let mut is_found = call.api.event_types.get(call.owner(), text).await.is_ok();
    if !is_found {
        let filter = EventFilter { event_type: Some(text.to_owned()), ..EventFilter::default() };
        let (page, store) = (PageRequest::first(1), &call.api.store);
        let (is_used, next) = match &call.principal {
            Principal::Tenant(principal) => {
                let page = store.events(principal.scope(), filter, page).await?;
                (!page.rows.is_empty(), page.next)
            }
            Principal::Operator(_) => {
                let page = store.all_events(filter, page).await?;
                (!page.rows.is_empty(), page.next)
            }
        };
        // A page looks at a limited number of events.
        result.is_complete &= is_used || next.is_none();
        is_found = is_used;
    }
    result.add(is_found.then(|| SearchMatch::new(MatchType::EventType, text).called(text)));
    Ok(())
}

/// By slug or name: the exact slug and those that begin with the text first, whatever number of tenants there is.
async fn tenants(call: &Call, part: &str, result: &mut SearchResult) -> Result<(), Problem> {
    let store = &call.api.store;
    let mut found: Vec<_> = store.tenant_by_slug(part).await?.into_iter().collect();
    let next = store.tenants_to_show(Some(part), MAX_MATCHES).await?;
    found.extend(next.into_iter().filter(|tenant| tenant.slug.starts_with(part)));
    let all = store.tenants_to_show(None, MAX_SCANNED + 1).await?;
    result.is_complete &= all.len() <= MAX_SCANNED;
    for tenant in all {
        let is_known = found.iter().any(|one| one.id == tenant.id);
        let is_match = tenant.slug.contains(part) || tenant.name.to_lowercase().contains(part);
        if is_match && !is_known {
            found.push(tenant);
        }
    }
    result.add(found.iter().map(SearchMatch::tenant));
    Ok(())
}

/// Sources by the partner's name, and their receipts by the partner's event id.
async fn sources(
    call: &Call,
    text: &str,
    part: &str,
    result: &mut SearchResult,
) -> Result<(), Problem> {
    let (Some(inbound), Principal::Operator(operator)) = (&call.api.inbound, &call.principal)
    else {
        return Ok(());
    };
    let all = inbound.inbound.sources.all().await?.sources();
    result.is_complete &= all.len() <= MAX_SOURCES;
    for one in all.iter().take(MAX_SOURCES) {
        let (source, partner) = (&one.source, one.source.partner.as_str());
        if partner.to_lowercase().contains(part) {
            let found = SearchMatch::new(MatchType::Source, source.id).called(partner);
            result.add([found.of_partner(partner)]);
        }
        let scope = operator.scope_of(source.tenant());
        let found = named(call, scope, ParcelKind::Receipt, text, result).await?;
        result.add(found.into_iter().map(|one| one.of_partner(partner)));
    }
    Ok(())
}

/// By name or URL.
async fn webhooks(call: &Call, part: &str, result: &mut SearchResult) -> Result<(), Problem> {
    let store = &call.api.store;
    let all = match &call.principal {
        Principal::Tenant(principal) => {
            store.newest_endpoints(principal.scope(), None, MAX_SCANNED + 1).await?
        }
        Principal::Operator(_) => store.all_endpoints(None, MAX_SCANNED + 1).await?,
    };
    result.is_complete &= all.len() <= MAX_SCANNED;
    let has = |text: &str| text.to_lowercase().contains(part);
    let mut found = Vec::new();
    for endpoint in all.iter().filter(|one| has(&one.name) || has(&one.url)).take(MAX_MATCHES + 1) {
        let slug = slug(call, endpoint.tenant).await?;
        found.push(SearchMatch::webhook(endpoint).of_tenant(slug));
    }
    result.add(found);
    Ok(())
}
