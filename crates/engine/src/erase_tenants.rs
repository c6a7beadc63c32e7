//! Removes the data of deleted tenants, in small steps.

use std::{sync::Arc, time::Duration};

use gancho_domain::TenantId;
use gancho_store::{DeletedTenant, Result};

use crate::{Engine, prune::BREATH};

const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum tenants that one round erases.
const MAX_TENANTS: usize = 100;
/// How long after the deletion to search once more: other nodes may have accepted data of the tenant for a
/// while.
const LATE: Duration = Duration::from_hours(1);

pub(crate) async fn run(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        if let Err(error) = engine.erase_once().await {
            engine.recovery_for("erase", engine.membership.last(), &error);
        }
    }
}

impl Engine {
    /// Erases deleted tenants as far as possible, and returns the number of parcels removed.
    pub async fn erase_once(&self) -> Result<u64> {
        let mut parcels = 0;
        for tenant in self.store.deleted_tenants(MAX_TENANTS).await? {
            let is_late = self.clock.now().since(tenant.deleted_at) >= LATE;
            if tenant.is_erased && !is_late {
                continue;
            }
            let (count, is_clean) = self.erase(tenant.id).await?;
            parcels += count;
            if is_clean {
                self.note_erased(&tenant, count, is_late).await?;
            }
        }
        Ok(parcels)
    }

    async fn erase(&self, tenant: TenantId) -> Result<(u64, bool)> {
        let mut parcels = 0;
        loop {
            let step = self.store.erase(tenant, self.limits.upkeep_step).await?;
            parcels += step.parcels;
            if !step.more {
                return Ok((parcels, step.is_clean));
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn note_erased(&self, tenant: &DeletedTenant, parcels: u64, is_late: bool) -> Result<()> {
        if !tenant.is_erased {
            tracing::info!(tenant_id = %tenant.id, count = parcels, "tenant erased");
            self.store.mark_erased(tenant.id).await?;
        }
        if is_late {
            self.store.forget_deleted(tenant.id).await?;
        }
        Ok(())
    }
}
