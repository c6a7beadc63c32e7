//! Identifies the owner of a credential. There are three kinds, distinguished by prefix: the operator token,
//! API keys (`gk_…`) and portal tokens (`gp_…`).

use std::sync::Arc;

use gancho_domain::{Clock, IdMaker};
use gancho_store::{Actor, ActorKind, Store};
use gancho_vault::KeyRing;
use tokio_util::task::TaskTracker;

use crate::{
    AccessError, AdminToken, ApiKeys, Operator, PortalTokens, Principal, TenantCache,
    TenantPrincipal, Users, key_text, portal,
};

pub struct Access {
    pub admin: AdminToken,
    pub keys: ApiKeys,
    pub portal: PortalTokens,
    pub tenants: TenantCache,
    pub users: Users,
}

impl Access {
    /// `tasks` runs the writes that requests do not wait for.
    pub fn new(
        admin: AdminToken,
        store: Arc<dyn Store>,
        ring: Arc<KeyRing>,
        ids: Arc<IdMaker>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            admin,
            keys: ApiKeys::new(store.clone(), ids, clock.clone(), tasks),
            portal: PortalTokens::new(ring, clock.clone()),
            users: Users::new(store.clone(), clock),
            tenants: TenantCache::new(store),
        }
    }

    /// Authenticates the caller. `named` is the tenant that the operator acts for, by slug or id; a tenant's
    /// own credential may name its own tenant only.
    pub async fn authenticate(
        &self,
        token: &str,
        named: Option<&str>,
    ) -> Result<Principal, AccessError> {
        let credential = if key_text::is_key(token) {
            self.keys.verify(&self.tenants, token).await?
        } else if portal::is_token(token) {
            self.portal.verify(&self.tenants, token).await?
        } else if self.admin.matches(token) {
            return self.act_for(Operator::authenticated(), named).await;
        } else {
            None
        };
        // The operator's own tenant has notices about all tenants, so none of its keys is accepted.
        let credential = credential.filter(|(tenant, _)| !tenant.is_operators());
        let (tenant, rights) = credential.ok_or(AccessError::InvalidCredentials)?;
        // A key works for its own tenant only, and must not reveal whether another tenant exists.
        if named.is_some_and(|name| name != tenant.slug && name.parse() != Ok(tenant.id)) {
            return Err(AccessError::OtherTenant);
        }
        Ok(Principal::Tenant(TenantPrincipal::authenticated(tenant, rights, actor(token))))
    }

    async fn act_for(
        &self,
        operator: Operator,
        named: Option<&str>,
    ) -> Result<Principal, AccessError> {
        let Some(name) = named else { return Ok(Principal::Operator(operator)) };
        let tenant = self.tenants.find(name).await?.ok_or(AccessError::UnknownTenant)?;
        Ok(Principal::Tenant(operator.act_for(tenant)))
    }
}

/// The owner of a tenant's valid credential.
fn actor(token: &str) -> Actor {
    match key_text::parse(token) {
        Some((id, _)) => Actor::new(ActorKind::ApiKey, id.to_string()),
        None => Actor::new(ActorKind::Portal, ""),
    }
}
