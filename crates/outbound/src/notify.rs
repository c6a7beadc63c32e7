//! Notices: operational events of the gateway itself, for the endpoints of the tenant and of the operator
//! that subscribe to them.
//!
//! They are events like others, named `webhook.…`, so they are delivered, retried and listed like others. A
//! notice without a subscriber is not stored. A notice that cannot be delivered causes no further notice.

pub(crate) mod digest;
mod notices;
pub(crate) mod stored_digests;

use std::sync::Arc;

use gancho_domain::{Clock, IdMaker, Parcel, ParcelKind, TenantId, TenantScope, Time};
use gancho_store::{IdempotencyKey, NewParcel, NodeId, Result, Store};

pub(crate) use self::notices::MissedDeliveries;
pub use self::notices::{DISABLED, EXHAUSTED, ExhaustedDelivery, FAILING, Notice};
use crate::{
    Registry,
    fan_out::{Audience, fan_out},
};

/// Receives notices in addition to the endpoints that subscribe to them, as chat messages or e-mails. Must
/// not block, and may get the same notice twice.
pub trait NoticeSink: Send + Sync + 'static {
    fn take(&self, tenant: TenantId, notice: &Notice);
}

pub struct Notifier {
    pub store: Arc<dyn Store>,
    pub registry: Arc<Registry>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// The tenant of the operator's own endpoints, if there are any.
    pub operator: Option<TenantScope>,
    pub sink: Option<Arc<dyn NoticeSink>>,
}

/// The collection of the tenants' notice addresses: each key is an address.
pub const NOTICE_EMAILS: &str = "notice_emails";

/// Notices about the same subject are sent once within this time.
const ONCE_WITHIN: std::time::Duration = std::time::Duration::from_hours(24);

impl Notifier {
    /// Returns the notice for all subscribers. The caller stores it in the same transaction as the result
    /// that it is about.
    pub async fn parcels(&self, tenant: TenantId, notice: &Notice) -> Result<Vec<NewParcel>> {
        if let Some(sink) = &self.sink {
            sink.take(tenant, notice);
        }
        let mut parcels = Vec::new();
        for to in self.recipients(tenant) {
            parcels.extend(self.parcel(tenant, to, notice).await?);
        }
        Ok(parcels)
    }

    /// Stores the notice immediately. A notice with the same `once` key is stored once.
    pub async fn send(&self, tenant: TenantId, notice: &Notice, once: &str) -> Result<()> {
        let now = self.clock.now();
        let mut parcels = self.parcels(tenant, notice).await?;
        for new in &mut parcels {
            new.once = Some(once_of(notice.event_type, once, now));
        }
        if !parcels.is_empty() {
            // None of them is leased, so there is no holder.
            self.store.accept(parcels, NodeId(0)).await?;
        }
        Ok(())
    }

    /// Whether anyone would receive the notice.
    async fn has_audience(&self, tenant: TenantId, notice: &Notice) -> Result<bool> {
        if self.sink.is_some() {
            return Ok(true);
        }
        for to in self.recipients(tenant) {
            if self.parcel(tenant, to, notice).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn recipients(&self, tenant: TenantId) -> impl Iterator<Item = TenantId> + use<> {
        let operator =
            self.operator.map(TenantScope::tenant).filter(|operator| *operator != tenant);
        std::iter::once(tenant).chain(operator)
    }

    /// Returns the parcel of the notice; `None` without subscribers. A result of the tenant does not wait while the operator's
    /// endpoints are changed.
    async fn parcel(
        &self,
        tenant: TenantId,
        to: TenantId,
        notice: &Notice,
    ) -> Result<Option<NewParcel>> {
        let targets = if to == tenant {
            self.registry.of(to).await?
        } else {
            self.registry.recent(to).await?
        };
        let now = self.clock.now();
        let audience = Audience::WantingBut(notice.about);
        let deliveries = fan_out(&targets, audience, notice.event_type, now, &self.ids);
        if deliveries.is_empty() {
            return Ok(None);
        }
        let parcel = Arc::new(Parcel {
            id: self.ids.make(),
            tenant: to,
            kind: ParcelKind::Event,
            event_type: notice.event_type.into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: notice.data.clone(),
            created_at: now,
            trace: None,
            erased_at: None,
        });
        Ok(Some(NewParcel { parcel, once: None, ledger: None, deliveries }))
    }
}

/// Returns the idempotency key. The text of a repeated notice may differ in a count, so the key does not
/// contain it.
fn once_of(event_type: &str, what: &str, now: Time) -> IdempotencyKey {
    let key = ["notice", event_type, what].map(|part| Some(part.as_bytes()));
    IdempotencyKey::of_key(&key, now + ONCE_WITHIN)
}
