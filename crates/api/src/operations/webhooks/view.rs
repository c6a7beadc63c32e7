//! Renders a webhook.

use std::collections::BTreeMap;

use gancho_domain::{DisableReason, Endpoint, Lane, Ordering, RetryPlan, span};
use gancho_store::Pause;
use gancho_wire::SecretFormat;
use serde::Serialize;
use utoipa::ToSchema;

use super::health::Health;
use crate::{
    problem::Problem,
    render::{Json, Timestamp, words},
    state::Api,
};

/// An endpoint of a tenant: a URL that events are delivered to, with its settings and its health.
#[derive(Debug, Serialize, ToSchema)]
pub struct Webhook {
    /// Id of the webhook (`wh_…`).
    pub id: String,
    /// Id of the tenant that the webhook belongs to.
    pub tenant_id: String,
    /// Slug of the tenant. Present only if the operator lists the webhooks of all tenants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tenant: Option<String>,
    /// Display name; empty if none was given.
    pub name: String,
    /// Your own id for the webhook; null if it has none.
    pub external_id: Option<String>,
    /// URL that events are delivered to.
    pub url: String,
    /// Event types that the webhook is subscribed to: names, `invoice.*` for a prefix, or `*` for all.
    pub events: Vec<String>,
    /// Custom headers of every delivery, by name. The values are masked.
    pub headers: BTreeMap<String, String>,
    /// Whether events are delivered to the webhook. If false, it is disabled.
    pub is_active: bool,
    /// Whether the webhook itself is paused: its deliveries wait until it is resumed.
    pub is_paused: bool,
    /// What holds the deliveries of the webhook: the pause of the `webhook`, of its `tenant`, or of the `lane` for all
    /// tenants; null if nothing is paused.
    #[schema(value_type = Option<words::PausedBy>)]
    pub paused_by: Option<&'static str>,
    pub health: Health,
    /// Profile, which defines the format, signature, timeout and retry schedule of deliveries.
    pub profile: String,
    /// Retry schedule; null for the profile's default.
    pub retry: Option<Retry>,
    /// Time limit of an attempt, e.g. `15s`; null for the profile's default.
    pub timeout: Option<String>,
    /// Rate limit of deliveries; null if there is none.
    pub rate_limit: Option<RateLimit>,
    /// Maximum number of concurrent deliveries over all nodes; null for the default of 64 on each node.
    pub max_in_flight: Option<u32>,
    /// In which order events are delivered.
    #[schema(value_type = words::Ordering)]
    pub ordering: &'static str,
    /// Custom JSON object, stored with the webhook.
    pub metadata: Json,
    /// Since when all attempts have failed; null while deliveries succeed.
    pub failing_since: Option<Timestamp>,
    /// Why the gateway disabled the webhook: `gone` (it responded with 410) or `failing` (its deliveries failed for too
    /// long); null if the gateway did not disable it.
    pub disabled_reason: Option<&'static str>,
    /// Until when deliveries are also signed with a previous secret; null if there is no such secret.
    pub old_secret_until: Option<Timestamp>,
    /// When the webhook was created.
    pub created_at: Timestamp,
    /// When the webhook was last changed.
    pub updated_at: Timestamp,
}

/// Retry schedule: either `schedule`, or `base`, `max` and `attempts`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Retry {
    /// Delays between attempts, e.g. `1s`; one fewer than the number of attempts. Absent if the schedule has a `base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub schedule: Option<Vec<String>>,
    /// First delay, e.g. `1s`; each following delay is twice as long. Absent if there is a `schedule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub base: Option<String>,
    /// Maximum delay, e.g. `60s`. Absent if there is a `schedule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max: Option<String>,
    /// Maximum number of attempts. Absent if there is a `schedule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub attempts: Option<u32>,
}

/// A rate limit: a maximum number per window of time.
#[derive(Debug, Serialize, ToSchema)]
pub struct RateLimit {
    /// Maximum number per window.
    pub count: u32,
    /// Length of the window, e.g. `1s`.
    pub per: String,
}

impl RateLimit {
    pub fn of(rate: gancho_domain::Rate) -> Self {
        Self { count: rate.count, per: span::write(rate.per) }
    }
}

/// A new webhook with its signing secret.
#[derive(Serialize, ToSchema)]
pub struct NewWebhook {
    #[serde(flatten)]
    pub webhook: Webhook,
    /// The secret that deliveries are signed with.
    pub secret: String,
    /// `base64` (the key is the base64 text after `whsec_`), `raw` (the text is the key) or `ed25519`.
    pub secret_format: &'static str,
    /// Public key for receivers (`whpk_…`); null unless `secret_format` is `ed25519`.
    pub public_key: Option<String>,
}

const fn paused_by(pause: Pause) -> &'static str {
    match pause {
        Pause::Endpoint(..) => "webhook",
        Pause::Tenant(_) => "tenant",
        Pause::Lane(_) => "lane",
    }
}

/// When the last of the secrets that were rotated away ends.
fn old_secret_until(api: &Api, endpoint: &Endpoint) -> Option<Timestamp> {
    let now = api.clock.now();
    let ends = endpoint.old_secrets.iter().map(|old| old.until);
    ends.filter(|end| *end > now).max().map(Timestamp)
}

impl Webhook {
    pub fn of(api: &Api, endpoint: &Endpoint) -> Result<Self, Problem> {
        let target = (endpoint.tenant, endpoint.id);
        Ok(Self {
            id: endpoint.id.to_string(),
            tenant_id: endpoint.tenant.to_string(),
            tenant: None,
            name: endpoint.name.clone(),
            external_id: endpoint.external_id.clone(),
            url: endpoint.url.clone(),
            events: endpoint.events.iter().map(ToString::to_string).collect(),
            headers: api.endpoints.headers(endpoint)?,
            is_active: endpoint.is_active,
            is_paused: api.engine.is_paused(Pause::Endpoint(endpoint.tenant, endpoint.id)),
            paused_by: api.engine.pause_of(Lane::Webhook, target).map(paused_by),
            health: Health::of(api, endpoint),
            profile: endpoint.profile.clone(),
            retry: endpoint.plan.as_ref().map(Retry::of),
            timeout: endpoint.timeout.map(span::write),
            rate_limit: endpoint.rate.map(RateLimit::of),
            max_in_flight: endpoint.max_in_flight,
            ordering: match endpoint.ordering {
                Ordering::BestEffort => "best_effort",
                Ordering::PerSubject => "per_subject",
            },
            metadata: Json::of(endpoint.metadata.as_bytes()),
            failing_since: endpoint.health.failing_since.map(Timestamp),
            disabled_reason: endpoint.health.disabled.map(|why| match why {
                DisableReason::Gone => "gone",
                DisableReason::Failing => "failing",
            }),
            old_secret_until: old_secret_until(api, endpoint),
            created_at: Timestamp(endpoint.created_at),
            updated_at: Timestamp(endpoint.updated_at),
        })
    }
}

impl Retry {
    pub fn of(plan: &RetryPlan) -> Self {
        match plan {
            RetryPlan::Schedule(delays) => Self {
                schedule: Some(delays.iter().map(|delay| span::write(*delay)).collect()),
                base: None,
                max: None,
                attempts: None,
            },
            RetryPlan::Exponential { base, max, attempts } => Self {
                schedule: None,
                base: Some(span::write(*base)),
                max: Some(span::write(*max)),
                attempts: Some(*attempts),
            },
        }
    }
}

pub fn format_name(format: SecretFormat) -> &'static str {
    format.as_str()
}
