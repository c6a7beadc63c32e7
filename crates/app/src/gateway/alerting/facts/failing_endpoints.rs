//! Endpoints of tenants, and targets of partners, whose attempts all failed recently.

use std::{collections::HashSet, time::Duration};

use gancho_alerts::{Facts, FailingEndpoint};
use gancho_domain::{Lane, TenantScope, Time};
use gancho_store::{
    FailingTarget, Result, StatisticsStep, statistics::without_success::WithoutSuccessQuery,
};
use url::Url;

use super::GatewayFacts;

/// An endpoint fails if all attempts of this time failed, and there were at least this many.
const WINDOW: Duration = Duration::from_mins(15);
const MIN_ATTEMPTS: u64 = 5;
/// Maximum endpoints that are listed. The others are counted.
const MAX_LISTED: usize = 40;
/// Maximum endpoints that are looked up, to leave out those that are no longer tried.
const MAX_LOOKED_UP: usize = 500;

impl GatewayFacts {
    pub(super) async fn failing_endpoints(
        &self,
        facts: &mut Facts,
        reported: &HashSet<String>,
        now: Time,
    ) -> Result<()> {
        let mut found = Vec::new();
        for lane in [Lane::Webhook, Lane::Dispatch] {
            let since = StatisticsStep::Minute.floor(now - WINDOW);
            let until = now + Duration::from_mins(1);
            let of = WithoutSuccessQuery { lane, since, until, min_attempts: MIN_ATTEMPTS };
            let targets = self.store.targets_without_success(of).await?;
            found.extend(targets.into_iter().map(|target| (lane, target)));
        }
        let ids: HashSet<&str> = reported.iter().map(|subject| id_of(subject)).collect();
        // A stable sort, so that endpoints of one group stay in their order, in which no tenant comes before
        // all others.
        found.sort_by_key(|(_, target)| !ids.contains(target.target.to_string().as_str()));
        for (place, (lane, target)) in found.into_iter().enumerate() {
            if place >= MAX_LOOKED_UP {
                facts.more_failing_endpoints += 1;
                continue;
            }
            let Some((subject, url)) = self.active_endpoint(lane, &target).await? else { continue };
            if facts.failing_endpoints.len() >= MAX_LISTED {
                facts.more_failing_endpoints += 1;
                continue;
            }
            facts.failing_endpoints.push(FailingEndpoint {
                tenant: self.name(target.tenant).await?,
                endpoint: subject,
                host: host_of(&url),
                failed_attempts: target.failed_attempts,
            });
        }
        Ok(())
    }

    /// Returns the subject of its alert and its URL; `None` if it was disabled or deleted since.
    async fn active_endpoint(
        &self,
        lane: Lane,
        target: &FailingTarget,
    ) -> Result<Option<(String, String)>> {
        let FailingTarget { tenant, target, .. } = *target;
        if lane == Lane::Dispatch {
            let Some(parts) = &self.inbound else { return Ok(None) };
            let found = parts.sources.sources.all().await?.of_tenant(tenant);
            let Some(prepared) = found.filter(|prepared| prepared.source.is_active) else {
                return Ok(None);
            };
            let source = &prepared.source;
            let found = source.targets.iter().find(|one| one.id == target);
            let subject = format!("{}/{target}", source.partner);
            return Ok(found.map(|one| (subject, one.url.clone())));
        }
        let endpoint = self.store.endpoint(TenantScope::internal(tenant), target).await?;
        let active = endpoint.filter(|endpoint| endpoint.is_active);
        Ok(active.map(|endpoint| (target.to_string(), endpoint.url)))
    }
}

/// Returns the id in the subject of an alert.
fn id_of(subject: &str) -> &str {
    subject.rsplit('/').next().unwrap_or(subject)
}

fn host_of(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str);
    host.unwrap_or("unknown host").to_owned()
}
