//! What needs a person, ordered by the number of affected deliveries.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::Deserialize;

use super::{Queues, failing::FailingEndpoint};
use crate::{
    display_time::DisplayTime,
    escape::Text,
    pages::endpoint_facts::EndpointFacts,
    params::{Link, segment},
    sentence::Sentence,
    status_mark::StatusMark,
    visit::{ApiResult, Visit},
};

/// Maximum causes that are listed at once; the others are folded.
pub const MAX_CAUSES: usize = 7;
/// Maximum causes of one kind that are read.
const MAX_OF_KIND: usize = 20;
/// Maximum paused endpoints that are read.
const MAX_LOOKUPS: usize = 50;

pub struct Cause {
    pub mark: StatusMark,
    pub word: Sentence,
    pub title: Sentence,
    /// Since when, and the consequence.
    pub text: Sentence,
    pub link: Link,
    pub action: Sentence,
    pub action_link: String,
    affected: u64,
    /// Whether everything of a tenant waits.
    is_tenant: bool,
}

#[derive(Deserialize)]
pub struct DeadStats {
    pub total: u64,
    by_code: BTreeMap<Text, u64>,
    oldest: Option<DisplayTime>,
}

impl DeadStats {
    pub async fn read(visit: &Visit, code: Option<&str>) -> ApiResult<Self> {
        visit.get(Link::new("/v1/dlq/stats").maybe("code", code)).await
    }
}

/// Returns all causes: paused tenants, and then the largest first.
pub async fn causes(
    visit: &Visit,
    failing: &[FailingEndpoint],
    dead: &DeadStats,
    queues: &Queues,
) -> ApiResult<Vec<Cause>> {
    let mut causes: Vec<_> =
        failing.iter().filter_map(|endpoint| failing_endpoint(visit, endpoint)).collect();
    causes.extend(dead_letters(visit, dead).await?);
    causes.extend(paused_lanes(visit, queues));
    causes.extend(paused_tenants(visit, queues).await);
    causes.extend(paused_endpoints(visit, queues).await);
    causes.sort_by_key(|cause| Reverse((cause.is_tenant, cause.affected)));
    Ok(causes)
}

/// Returns the cause of an endpoint that fails all the time, or that the gateway disabled.
fn failing_endpoint(visit: &Visit, endpoint: &FailingEndpoint) -> Option<Cause> {
    let t = visit.t;
    let (facts, totals) = (&endpoint.facts, &endpoint.stats.totals);
    let title = match (facts.mark(), &facts.failing_since) {
        (StatusMark::Failed, Some(since)) => {
            t.say("overview.endpoint_failing").with("span", t.age(since))
        }
        (StatusMark::Failed, None) => {
            t.say("overview.endpoint_unstable").with("share", totals.failure(&t))
        }
        (StatusMark::Disabled, _) => match facts.disabled_reason.as_deref() {
            Some("gone") => t.say("overview.endpoint_gone"),
            Some(_) => t.say("overview.endpoint_disabled"),
            None => return None,
        },
        _ => return None,
    };
    let text = match (endpoint.open(), totals.dead_letters) {
        (0, 0) => t.say("overview.endpoint_text_short"),
        (0, dead) => t.count("overview.endpoint_text_dead", dead),
        (open, _) => t.count("overview.endpoint_text", open),
    };
    let text = text.with("failed", t.number(totals.failed_attempts));
    let link = endpoint.link.clone();
    // A disabled endpoint accepts no test.
    let (action, action_link) = if facts.is_active {
        (t.say("overview.send_test"), format!("{link}#test"))
    } else {
        (t.say("action.open"), link.to_string())
    };
    Some(Cause {
        mark: facts.mark(),
        word: facts.state(&t),
        title: title.with("name", facts.title()).with("tenant", &endpoint.tenant.name),
        text,
        action,
        action_link,
        link,
        affected: endpoint.open().max(1),
        is_tenant: false,
    })
}

async fn dead_letters(visit: &Visit, dead: &DeadStats) -> ApiResult<Vec<Cause>> {
    let t = visit.t;
    let mut codes: Vec<_> = dead.by_code.iter().collect();
    codes.sort_by_key(|(_, count)| Reverse(**count));
    let mut causes = Vec::new();
    for (code, count) in codes.into_iter().take(MAX_OF_KIND) {
        let oldest = DeadStats::read(visit, Some(code.as_str())).await?.oldest;
        let text = match oldest {
            Some(oldest) => t.say("overview.dead_text").html("ago", t.ago(&oldest)),
            None => t.say("overview.dead_text_short"),
        };
        let link = visit.link("/dead-letters").with("code", code);
        causes.push(Cause {
            mark: StatusMark::Failed,
            word: t.say("status.dead_letter"),
            title: t.count("overview.dead_letters", count).code("code", code),
            text,
            action: t.say("overview.replay"),
            action_link: link.to_string(),
            link,
            affected: *count,
            is_tenant: false,
        });
    }
    Ok(causes)
}

fn paused(visit: &Visit, title: Sentence, text: Sentence, link: Link, affected: u64) -> Cause {
    Cause {
        mark: StatusMark::Paused,
        word: visit.t.say("status.paused"),
        title,
        text,
        action: visit.t.say("overview.to_resume"),
        action_link: link.to_string(),
        link,
        affected,
        is_tenant: false,
    }
}

fn paused_lanes(visit: &Visit, queues: &Queues) -> Vec<Cause> {
    let t = visit.t;
    let lanes = queues.data.iter().filter(|queue| queue.is_paused);
    let cause = |queue: &super::Queue| {
        let title = t.count("overview.lane_paused", queue.depth).code("lane", &queue.lane);
        let text = match &queue.oldest_due_at {
            Some(oldest) => t.say("overview.lane_text").html("ago", t.ago(oldest)),
            None => t.say("overview.paused_text"),
        };
        paused(visit, title, text, visit.link("/queues"), queue.depth)
    };
    lanes.map(cause).collect()
}

async fn paused_tenants(visit: &Visit, queues: &Queues) -> Vec<Cause> {
    let t = visit.t;
    let mut causes = Vec::new();
    for id in queues.paused_tenants.iter().take(MAX_OF_KIND) {
        let found = visit.dashboard.backend.tenant(id.as_str()).await;
        let Ok(Some(tenant)) = found else { continue };
        if visit.tenant.as_ref().is_some_and(|of_page| of_page.id != tenant.id) {
            continue;
        }
        let title = t.say("overview.tenant_paused").with("name", &tenant.name);
        let page = visit.page(format!("/tenants/{}", segment(&tenant.slug)));
        let link = page.with("tenant", &tenant.slug);
        let cause = paused(visit, title, t.say("overview.paused_text"), link, 0);
        causes.push(Cause { is_tenant: true, ..cause });
    }
    causes
}

/// Returns one cause for all paused endpoints: their number, and what waits if the page is a tenant's.
async fn paused_endpoints(visit: &Visit, queues: &Queues) -> Option<Cause> {
    let t = visit.t;
    let (mut count, mut waiting) = (queues.paused_webhooks.len() as u64, 0);
    let mut link = visit.link("/queues");
    if visit.tenant.is_some() {
        count = 0;
        link = visit.link("/endpoints").with("state", "paused");
        for id in queues.paused_webhooks.iter().take(MAX_LOOKUPS) {
            let endpoint = Link::new(format!("/v1/webhooks/{}", segment(id.as_str())));
            // Those of other tenants are not found.
            if let Ok(facts) = visit.get::<EndpointFacts>(endpoint).await {
                count += 1;
                waiting += facts.health.waiting;
            }
        }
    }
    let title = t.count("overview.endpoints_paused", count);
    (count > 0).then(|| paused(visit, title, t.say("overview.paused_text"), link, waiting))
}
