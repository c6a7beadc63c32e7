//! The endpoints with the most failed attempts of the last hour.

use std::sync::Arc;

use gancho_domain::Tenant;

use crate::{
    escape::Text,
    pages::{endpoint_facts::EndpointFacts, list::List},
    params::{Link, segment},
    statistics::EndpointStats,
    visit::{ApiResult, Visit},
};

pub const MAX_ROWS: usize = 7;

pub struct FailingEndpoint {
    pub stats: EndpointStats,
    pub facts: EndpointFacts,
    pub tenant: Arc<Tenant>,
    pub link: Link,
}

impl FailingEndpoint {
    /// Reads those that still exist, the worst first.
    pub async fn read(visit: &Visit) -> ApiResult<Vec<Self>> {
        let link =
            Link::new("/v1/stats/webhooks").with("order", "failures").with("limit", MAX_ROWS);
        let worst: List<EndpointStats> = visit.get(link).await?;
        let mut failing = Vec::new();
        for stats in worst.data.into_iter().filter(|stats| stats.name.is_some()) {
            let Ok(acting) = visit.acting_for(&stats.tenant_id).await else { continue };
            let Some(tenant) = acting.tenant.clone() else { continue };
            let id = segment(&stats.webhook_id);
            if let Ok(facts) = acting.get(Link::new(format!("/v1/webhooks/{id}"))).await {
                let link = acting.link(format!("/endpoints/{id}"));
                failing.push(Self { stats, facts, tenant, link });
            }
        }
        Ok(failing)
    }

    pub fn tenant_slug(&self) -> Text {
        self.tenant.slug.as_str().into()
    }

    /// Returns how many deliveries of the last 24 hours have neither been delivered nor given up.
    pub fn open(&self) -> u64 {
        let totals = &self.stats.totals;
        totals.accepted.saturating_sub(totals.delivered + totals.dead_letters)
    }
}
