//! The bodies of a webhook.

use std::collections::BTreeMap;

use gancho_domain::{RateDraft, RetryDraft};
use gancho_outbound::EndpointDraft;
use serde_json::value::RawValue;

use crate::{input::request, problem::Problem};

request! {
    /// A new webhook, or one that is replaced.
    pub struct WebhookBody {
        /// URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.
        required url: String as text(1, 2_048),
        /// Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.
        required events: Vec<String> as texts(100, 128),
        flatten settings: WebhookSettings,
    }
}

request! {
    /// Changes of a webhook.
    pub struct WebhookPatch {
        /// URL to deliver to. Must be HTTPS and not a private address, unless the operator allows it.
        optional url: String as text(1, 2_048),
        /// Event types to subscribe to: names, `invoice.*` for a prefix, or `*` for all.
        optional events: Vec<String> as texts(100, 128),
        flatten settings: WebhookSettings,
    }
}

request! {
    /// The settings of a webhook.
    pub struct WebhookSettings {
        /// Display name, to tell webhooks apart.
        optional name: String as text(0, 128),
        /// Your own id for the webhook, unique among the tenant's: a second webhook with it is refused.
        clearable external_id: String as text(1, 256),
        /// Signing secret, at least 16 characters. Default: a generated one.
        optional secret: String as secret(256),
        /// Custom headers for every delivery. The values are stored encrypted and never shown again.
        optional headers: BTreeMap<String, String> as text_map(100, 8_192),
        /// Whether events are delivered to the webhook. Default: `true`.
        optional is_active: bool as flag(),
        /// Format of deliveries: `standard`, `email-gateway`, `auracore`, `saas`, `svix`, `convoy`, `outpost`, or a
        /// profile defined by the operator.
        optional profile: String as text(1, 64),
        /// Retry schedule: `{"schedule": ["1s", "5m"]}` or `{"base": "1s", "max": "60s", "attempts": 5}`. Default:
        /// defined by the profile.
        clearable retry: RetryBody as object::<RetryBody>(),
        /// Time limit of an attempt, e.g. `15s`. Default: defined by the profile.
        clearable timeout: String as text(1, 40),
        /// Rate limit of deliveries. Deliveries beyond it wait; they do not fail.
        clearable rate_limit: RateLimitBody as object::<RateLimitBody>(),
        /// Maximum number of concurrent deliveries over all nodes. Default: 64 on each node.
        clearable max_in_flight: u32 as count(1, 512),
        /// `best_effort` (default), or `per_subject`: the next event of a subject waits until the previous one is
        /// delivered or has failed permanently.
        optional ordering: String as choice(&["best_effort", "per_subject"]),
        /// Custom JSON object, stored with the webhook.
        optional metadata: Box<RawValue> as json_object(16 * 1024),
    }
}

request! {
    /// A retry schedule: either `schedule`, or `base`, `max` and `attempts`.
    pub struct RetryBody {
        /// Delays between attempts, e.g. `["1s", "5m"]`; one fewer than the number of attempts.
        optional schedule: Vec<String> as texts(30, 40),
        /// First delay, e.g. `1s`; each following delay is twice as long.
        optional base: String as text(1, 40),
        /// Maximum delay between attempts, e.g. `60s`.
        optional max: String as text(1, 40),
        /// Maximum number of attempts.
        optional attempts: u32 as count(1, 31),
    }
}

request! {
    /// A rate limit: a maximum number per window of time.
    pub struct RateLimitBody {
        /// Maximum number per window.
        required count: u32 as count(1, 1_000_000),
        /// Length of the window, e.g. `1s`.
        required per: String as text(1, 40),
    }
}

impl WebhookBody {
    pub fn draft(self) -> Result<EndpointDraft, Problem> {
        self.settings.draft(Some(self.url), Some(self.events))
    }
}

impl WebhookPatch {
    pub fn draft(self) -> Result<EndpointDraft, Problem> {
        self.settings.draft(self.url, self.events)
    }
}

impl WebhookSettings {
    fn draft(
        self,
        url: Option<String>,
        events: Option<Vec<String>>,
    ) -> Result<EndpointDraft, Problem> {
        Ok(EndpointDraft {
            url,
            events,
            name: self.name,
            external_id: self.external_id,
            secret: self.secret,
            headers: self.headers,
            is_active: self.is_active,
            profile: self.profile,
            retry: self.retry.map(|retry| retry.map(RetryBody::draft).transpose()).transpose()?,
            timeout: self.timeout,
            rate_limit: self.rate_limit.map(|rate| rate.map(RateLimitBody::draft)),
            max_in_flight: self.max_in_flight,
            ordering: self.ordering,
            metadata: self.metadata,
        })
    }
}

impl RetryBody {
    pub fn draft(self) -> Result<RetryDraft, Problem> {
        match (self.schedule, self.base, self.max, self.attempts) {
            (Some(delays), None, None, None) => Ok(RetryDraft::Schedule(delays)),
            (None, Some(base), Some(max), Some(attempts)) => {
                Ok(RetryDraft::Exponential { base, max, attempts })
            }
            _ => Err(Problem::field(
                "/retry",
                "`retry` must have either `schedule`, or `base`, `max` and `attempts`",
            )),
        }
    }
}

impl RateLimitBody {
    pub fn draft(self) -> RateDraft {
        RateDraft { count: self.count, per: self.per }
    }
}
