//! Endpoints that the settings declare, created and updated at each start: one for each company of the
//! environment, and one for the operator's notices.
//!
//! A document records which endpoint belongs to which declaration, so that a tenant's other endpoints are
//! never changed. An endpoint that is no longer declared is disabled; one that is declared again is enabled.

use anyhow::Context;
use bytes::Bytes;
use gancho_domain::{Endpoint, EndpointId, Tenant, TenantScope};
use gancho_outbound::{EndpointDraft, EndpointService, endpoints::seal};
use gancho_store::{Collection, Precondition};

use crate::{
    gateway::Gateway,
    settings::{LoadedSettings, Secret, companies::URL},
};

const COLLECTION: Collection = Collection::operators("environment");
const MAX_COUNT: usize = 10_000;

/// An endpoint that should exist.
struct DeclaredEndpoint {
    slug: String,
    name: String,
    url: String,
    secret: Option<Secret>,
    profile: &'static str,
    events: &'static str,
}

impl DeclaredEndpoint {
    /// Returns the service whose rules apply to its URL: the operator's own endpoints may be in other
    /// networks.
    fn service<'a>(&self, gateway: &'a Gateway) -> &'a EndpointService {
        if self.slug == Tenant::OPERATOR { &gateway.own_endpoints } else { &gateway.endpoints }
    }
}

pub async fn apply(gateway: &Gateway, loaded: &LoadedSettings) -> anyhow::Result<()> {
    let wanted = wanted(loaded);
    for one in &wanted {
        follow(gateway, one).await.with_context(|| format!("the endpoint of {}", one.name))?;
    }
    for document in gateway.store.documents(COLLECTION, None, MAX_COUNT).await? {
        if wanted.iter().all(|one| one.slug != document.key) {
            switch_off(gateway, &document.key, &document.body).await?;
        }
    }
    Ok(())
}

fn wanted(loaded: &LoadedSettings) -> Vec<DeclaredEndpoint> {
    let companies = loaded.companies.iter().map(|company| DeclaredEndpoint {
        slug: company.slug.clone(),
        name: format!("{URL}{}", company.slug.to_ascii_uppercase()),
        url: company.url.clone(),
        secret: company.secret.clone(),
        profile: "email-gateway",
        events: "*",
    });
    let notices = loaded.settings.notify_url.as_ref().map(|url| DeclaredEndpoint {
        slug: Tenant::OPERATOR.to_owned(),
        name: "notify_url".to_owned(),
        url: url.to_string(),
        secret: loaded.settings.notify_secret.clone(),
        profile: "standard",
        events: "webhook.*",
    });
    companies.chain(notices).collect()
}

async fn follow(gateway: &Gateway, wanted: &DeclaredEndpoint) -> anyhow::Result<()> {
    let tenant = gateway.tenants.get_or_create(&wanted.slug, wanted.profile).await?;
    let scope = TenantScope::internal(tenant.id);
    if let Some(endpoint) = find(gateway, scope, wanted).await? {
        return change(gateway, scope, wanted, endpoint).await;
    }
    let draft = EndpointDraft {
        url: Some(wanted.url.clone()),
        events: Some(vec![wanted.events.to_owned()]),
        name: Some(wanted.name.clone()),
        secret: wanted.secret.as_ref().map(|secret| secret.reveal().to_owned()),
        profile: Some(wanted.profile.to_owned()),
        ..EndpointDraft::default()
    };
    let created = wanted.service(gateway).create(scope, &tenant, draft).await?;
    let id = created.endpoint.id;
    if note(gateway, scope, &wanted.slug, id).await? {
        let is_secret_generated = wanted.secret.is_none();
        tracing::info!(tenant = wanted.slug, endpoint = %id, is_secret_generated, "endpoint created from the configuration");
    } else {
        // Another node was faster, and its endpoint is used.
        gateway.endpoints.delete(scope, id).await?;
    }
    Ok(())
}

/// Returns the recorded endpoint, or one that was created just before a crash.
async fn find(
    gateway: &Gateway,
    scope: TenantScope,
    wanted: &DeclaredEndpoint,
) -> anyhow::Result<Option<Endpoint>> {
    if let Some(document) = gateway.store.document(COLLECTION, &wanted.slug).await?
        && let Some(id) = id_of(&document.body)
        && let Some(endpoint) = gateway.store.endpoint(scope, id).await?
    {
        return Ok(Some(endpoint));
    }
    let is_it =
        |endpoint: &Endpoint| endpoint.name == wanted.name && endpoint.profile == wanted.profile;
    let found = gateway.store.endpoints(scope).await?.into_iter().find(is_it);
    if let Some(endpoint) = &found {
        write_down(gateway, &wanted.slug, endpoint.id, Precondition::Anything).await?;
    }
    Ok(found)
}

async fn change(
    gateway: &Gateway,
    scope: TenantScope,
    wanted: &DeclaredEndpoint,
    endpoint: Endpoint,
) -> anyhow::Result<()> {
    let given = wanted.secret.as_ref().map(Secret::reveal);
    // A secret that cannot be decrypted any more is replaced by the declared one.
    let stored = seal::secret(&gateway.ring.keys, &endpoint).ok();
    let is_other_secret = given.is_some() && given != stored.as_ref().map(|secret| secret.as_str());
    // Normalized, because two spellings of one address are not a change.
    let url = wanted.service(gateway).client.policy().parse(&wanted.url)?;
    let is_other_url = url.as_str() != endpoint.url;
    let is_other_profile = endpoint.profile != wanted.profile;
    if !is_other_url && !is_other_secret && !is_other_profile && endpoint.is_active {
        return Ok(());
    }
    let draft = EndpointDraft {
        url: is_other_url.then(|| wanted.url.clone()),
        secret: given.filter(|_| is_other_secret).map(str::to_owned),
        is_active: (!endpoint.is_active).then_some(true),
        profile: is_other_profile.then(|| wanted.profile.to_owned()),
        ..EndpointDraft::default()
    };
    wanted.service(gateway).change(scope, endpoint.id, draft, false).await?;
    tracing::info!(tenant = wanted.slug, endpoint = %endpoint.id, is_url_changed = is_other_url, is_secret_changed = is_other_secret, "endpoint updated from the configuration");
    Ok(())
}

async fn switch_off(gateway: &Gateway, slug: &str, body: &[u8]) -> anyhow::Result<()> {
    let Some(tenant) = gateway.store.tenant_by_slug(slug).await? else { return Ok(()) };
    let scope = TenantScope::internal(tenant.id);
    let Some(id) = id_of(body) else { return Ok(()) };
    let Some(endpoint) = gateway.store.endpoint(scope, id).await? else { return Ok(()) };
    if endpoint.is_active {
        let draft = EndpointDraft { is_active: Some(false), ..EndpointDraft::default() };
        gateway.endpoints.change(scope, id, draft, false).await?;
        tracing::warn!(tenant = slug, endpoint = %id, "endpoint disabled: removed from the configuration");
    }
    Ok(())
}

fn id_of(body: &[u8]) -> Option<EndpointId> {
    std::str::from_utf8(body).ok()?.parse().ok()
}

/// Records the endpoint. Returns false if another node has recorded one first.
async fn note(
    gateway: &Gateway,
    scope: TenantScope,
    slug: &str,
    id: EndpointId,
) -> anyhow::Result<bool> {
    let expect = match gateway.store.document(COLLECTION, slug).await? {
        None => Precondition::Nothing,
        // It belongs to an endpoint that was deleted, or another node was faster.
        Some(document) => {
            let other = id_of(&document.body);
            let lives = match other {
                Some(other) => gateway.store.endpoint(scope, other).await?.is_some(),
                None => false,
            };
            if lives {
                return Ok(false);
            }
            Precondition::Version(document.version)
        }
    };
    write_down(gateway, slug, id, expect).await
}

async fn write_down(
    gateway: &Gateway,
    slug: &str,
    id: EndpointId,
    expect: Precondition,
) -> anyhow::Result<bool> {
    let body = Bytes::from(id.to_string());
    Ok(gateway.store.put_document(COLLECTION, slug, body, expect).await?.is_some())
}
