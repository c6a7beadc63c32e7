//! Creates and changes endpoints. All input is validated first, with all errors at once, and secrets are
//! encrypted before they reach the store.
//!
//! In reading order: [`draft`] is the input; `check` validates it, with `header_check`, `secret_check` and
//! `terms_check` for parts with their own rules; `rotate` changes the secret while the old one still signs;
//! [`seal`] encrypts the secret parts.
//!
//! Concurrent changes do not overwrite each other: a change applies to the version that was read, and is
//! repeated if that has changed.

mod check;
pub mod draft;
mod header_check;
mod rotate;
pub mod seal;
mod secret_check;
pub mod size;
mod terms_check;

use std::{collections::BTreeMap, sync::Arc};

use gancho_domain::{
    Clock, Endpoint, EndpointId, FieldError, Health, IdMaker, Tenant, TenantScope,
    field_error::joined, mask::MASK,
};
use gancho_egress::Client;
use gancho_store::{Store, StoreError};
use gancho_vault::{KeyRing, Secret};
use gancho_wire::SecretFormat;
use thiserror::Error;

pub use self::{
    draft::EndpointDraft,
    rotate::{DEFAULT_OVERLAP, MAX_OVERLAP, RevealedSecret, RotatedSecret},
};
use self::{secret_check::NewSecret, size::EndpointGrowth};
use crate::{OrphanSweeper, PlanLimit, Plans, Registry, registry::Targets};

pub struct EndpointService {
    pub store: Arc<dyn Store>,
    pub ring: Arc<KeyRing>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// The client whose policy decides which URLs are allowed.
    pub client: Client,
    pub plans: Arc<Plans>,
    pub orphans: Arc<OrphanSweeper>,
    pub growth: EndpointGrowth,
}

/// A new endpoint with its secret.
pub struct NewEndpoint {
    pub endpoint: Endpoint,
    pub secret: Secret,
    pub secret_format: SecretFormat,
    /// The public key (`whpk_…`) for receivers, if the secret is an Ed25519 key.
    pub public_key: Option<String>,
}

#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("{0}")]
    PlanLimit(PlanLimit),
    #[error(
        "the endpoints of a tenant may take {} MiB in all, with their headers and metadata: delete some, or make them smaller",
        size::MAX_BYTES >> 20
    )]
    TooLarge,
    #[error("no endpoint with this id exists")]
    NotFound,
    #[error("another endpoint of the tenant has this external id")]
    ExternalIdTaken,
    #[error("the endpoint was changed concurrently: try again")]
    Busy,
    #[error(transparent)]
    Store(StoreError),
    #[error("cannot encrypt or decrypt a secret: {0}")]
    Vault(String),
}

impl From<StoreError> for EndpointError {
    /// Endpoint ids are generated, so only an external id can be in use.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Taken(_) => Self::ExternalIdTaken,
            other => Self::Store(other),
        }
    }
}

/// How often a change is retried if another one was faster. Of those that come at once, one succeeds each time.
const TRIES: usize = 100;

impl EndpointService {
    pub async fn create(
        &self,
        scope: TenantScope,
        tenant: &Tenant,
        draft: EndpointDraft,
    ) -> Result<NewEndpoint, EndpointError> {
        let blank = self.blank(scope, tenant);
        let (endpoint, given) = self.apply(blank, draft, true)?;
        let NewSecret { secret, format: secret_format, public_key } =
            given.ok_or(EndpointError::Busy)?;
        let bytes = size::bytes_of(&endpoint);
        let known = self.known_if_fitting(scope, bytes).await?;
        let limit = self.plans.of(tenant).endpoints;
        if !self.store.add_endpoint(scope, endpoint.clone(), limit).await? {
            let used = self.store.endpoints(scope).await?.len() as u64;
            return Err(EndpointError::PlanLimit(PlanLimit {
                plan: tenant.plan.clone(),
                what: "endpoints",
                limit: limit.unwrap_or(u32::MAX).into(),
                used,
                resets_at: None,
            }));
        }
        self.growth.note(scope.tenant(), &known, bytes);
        self.registry.forget(scope.tenant());
        Ok(NewEndpoint { endpoint, secret, secret_format, public_key })
    }

    /// Changes the given properties. With `whole`, the others are reset to their defaults, except for the
    /// secret.
    pub async fn change(
        &self,
        scope: TenantScope,
        id: EndpointId,
        draft: EndpointDraft,
        whole: bool,
    ) -> Result<Endpoint, EndpointError> {
        self.update(scope, id, |old| {
            let (new, _) = self.apply(old, draft.clone(), whole)?;
            Ok((new, ()))
        })
        .await
        .map(|(endpoint, ())| endpoint)
    }

    pub async fn delete(&self, scope: TenantScope, id: EndpointId) -> Result<(), EndpointError> {
        let was_there = self.store.delete_endpoint(scope, id).await?;
        self.registry.forget(scope.tenant());
        self.orphans.note_deleted(scope, id);
        if was_there { Ok(()) } else { Err(EndpointError::NotFound) }
    }

    /// The custom headers by name, each value as [`MASK`].
    pub fn headers(&self, endpoint: &Endpoint) -> Result<BTreeMap<String, String>, EndpointError> {
        let names = seal::headers(&self.ring, endpoint).map_err(EndpointError::Vault)?.into_keys();
        Ok(names.map(|name| (name, MASK.to_owned())).collect())
    }

    /// Reads, changes and writes the endpoint; starts over if it was changed concurrently.
    async fn update<T>(
        &self,
        scope: TenantScope,
        id: EndpointId,
        change: impl Fn(Endpoint) -> Result<(Endpoint, T), EndpointError>,
    ) -> Result<(Endpoint, T), EndpointError> {
        for _ in 0..TRIES {
            let old = self.store.endpoint(scope, id).await?.ok_or(EndpointError::NotFound)?;
            let (version, before) = (old.version, size::bytes_of(&old));
            let (mut new, answer) = change(old)?;
            let more = size::bytes_of(&new).saturating_sub(before);
            let known = self.known_if_fitting(scope, more).await?;
            new.updated_at = self.clock.now();
            if self.store.change_endpoint(scope, new.clone()).await? {
                self.growth.note(scope.tenant(), &known, more);
                self.registry.forget(scope.tenant());
                new.version = version + 1;
                return Ok((new, answer));
            }
        }
        Err(EndpointError::Busy)
    }

    /// Returns the tenant's endpoints as they are cached, if they may take `more` bytes. They are not read again for that.
    async fn known_if_fitting(
        &self,
        scope: TenantScope,
        more: usize,
    ) -> Result<Arc<Targets>, EndpointError> {
        let known = match self.registry.peek(scope.tenant()) {
            Some(known) => known,
            None => self.registry.of(scope.tenant()).await?,
        };
        let is_fitting = self.growth.allows(scope.tenant(), &known, more);
        if is_fitting { Ok(known) } else { Err(EndpointError::TooLarge) }
    }

    /// Returns the defaults of a new endpoint.
    fn blank(&self, scope: TenantScope, tenant: &Tenant) -> Endpoint {
        let now = self.clock.now();
        Endpoint {
            id: self.ids.make(),
            tenant: scope.tenant(),
            name: String::new(),
            external_id: None,
            url: String::new(),
            events: Vec::new(),
            sealed_secret: Vec::new(),
            old_secrets: Vec::new(),
            sealed_headers: None,
            metadata: "{}".to_owned(),
            profile: tenant.default_profile.clone(),
            is_active: true,
            ordering: gancho_domain::Ordering::BestEffort,
            plan: None,
            timeout: None,
            max_in_flight: None,
            rate: None,
            health: Health::default(),
            created_at: now,
            updated_at: now,
            version: 1,
        }
    }
}
