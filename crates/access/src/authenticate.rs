//! Identifies the owner of a credential. There are three kinds, distinguished by prefix: the operator token,
//! API keys (`gk_…`) and portal tokens (`gp_…`).

use std::sync::Arc;

use gancho_domain::{Clock, IdMaker};
use gancho_store::Store;
use gancho_vault::KeyRing;
use tokio_util::task::TaskTracker;

use crate::{
    AccessError, ApiKeys, Operator, OperatorSessions, OperatorToken, PortalRevocations,
    PortalTokens, Principal, TenantCache, Users, key_text, portal,
};

pub struct Access {
    pub admin: OperatorToken,
    pub keys: ApiKeys,
    pub portal: PortalTokens,
    pub portal_revocations: PortalRevocations,
    pub tenants: TenantCache,
    pub users: Users,
    pub sessions: OperatorSessions,
}

impl Access {
    /// Creates the service. `tasks` runs the writes that requests do not wait for.
    pub fn new(
        admin: OperatorToken,
        store: Arc<dyn Store>,
        ring: Arc<KeyRing>,
        ids: Arc<IdMaker>,
        clock: Arc<dyn Clock>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            admin,
            keys: ApiKeys::new(store.clone(), ids, clock.clone(), tasks),
            portal: PortalTokens::new(ring.clone(), clock.clone()),
            sessions: OperatorSessions::new(store.clone(), ring, clock.clone()),
            portal_revocations: PortalRevocations::new(store.clone(), clock.clone()),
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
        let caller = if key_text::is_key(token) {
            let found = self.keys.verify(&self.tenants, token).await?;
            // The operator's own tenant gets notices about all tenants, so none of its keys is accepted.
            found.filter(|program| !program.tenant().is_operators())
        } else if portal::is_token(token) {
            match self.portal.read(token) {
                Ok(claim) => self.portal_person(&claim).await?,
                Err(_) => None,
            }
        } else if self.admin.matches(token) {
            return self.act_for(Operator::authenticated(), named).await;
        } else {
            None
        };
        let caller = caller.ok_or(AccessError::InvalidCredentials)?;
        // A key works for its own tenant only, and must not reveal whether another tenant exists.
        let tenant = caller.tenant();
        if named.is_some_and(|name| name != tenant.slug && name.parse() != Ok(tenant.id)) {
            return Err(AccessError::OtherTenant);
        }
        Ok(Principal::Tenant(caller))
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
