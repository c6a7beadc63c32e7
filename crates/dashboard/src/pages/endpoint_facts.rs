//! An endpoint, as far as pages about it and about its deliveries need it.

use std::{collections::BTreeMap, time::Duration};

use gancho_domain::span;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::scan;
use crate::{
    display_time::DisplayTime,
    escape::Text,
    params::{Link, segment},
    profiles::{self, ProfileDefaults},
    sentence::Sentence,
    status_mark::StatusMark,
    texts::Texts,
    visit::Visit,
};

#[derive(Deserialize)]
pub struct EndpointFacts {
    pub id: String,
    pub tenant_id: String,
    /// Only in a list of all tenants.
    pub tenant: Option<Text>,
    /// As it was set; see [`EndpointFacts::title`].
    pub name: String,
    pub external_id: Option<String>,
    pub url: String,
    pub events: Vec<String>,
    pub headers: BTreeMap<Text, Text>,
    pub is_active: bool,
    pub is_paused: bool,
    /// Also set if its tenant or the lane is paused.
    pub paused_by: Option<String>,
    pub health: Health,
    pub profile: Text,
    pub retry: Option<Retry>,
    pub timeout: Option<Text>,
    pub rate_limit: Option<RateLimit>,
    pub max_in_flight: Option<u32>,
    pub ordering: String,
    pub metadata: Box<RawValue>,
    pub failing_since: Option<DisplayTime>,
    pub disabled_reason: Option<String>,
    /// Until when a previous secret signs as well.
    pub old_secret_until: Option<DisplayTime>,
    pub created_at: DisplayTime,
    pub updated_at: DisplayTime,
}

#[derive(Deserialize)]
pub struct Health {
    pub state: String,
    pub circuit_breaker: String,
    pub circuit_open_until: Option<DisplayTime>,
    pub in_flight: u32,
    pub waiting: u64,
    pub has_backlog: bool,
}

#[derive(Deserialize)]
pub struct RateLimit {
    pub count: u32,
    pub per: Text,
}

#[derive(Deserialize, Default)]
pub struct Retry {
    pub schedule: Option<Vec<String>>,
    pub base: Option<String>,
    pub max: Option<String>,
    pub attempts: Option<u32>,
}

impl Retry {
    /// Returns the delays between attempts, in order.
    pub fn delays(&self) -> Vec<Duration> {
        let read = |text: &String| span::parse(text).ok();
        if let Some(schedule) = &self.schedule {
            return schedule.iter().filter_map(read).collect();
        }
        let (base, max) = (self.base.as_ref().and_then(read), self.max.as_ref().and_then(read));
        let (Some(base), Some(max), Some(attempts)) = (base, max, self.attempts) else {
            return Vec::new();
        };
        let waits = attempts.saturating_sub(1);
        (0..waits).map(|n| base.saturating_mul(1 << n.min(20)).min(max)).collect()
    }
}

impl EndpointFacts {
    /// Returns the delays between attempts: its own, or those of its profile.
    pub fn delays(&self, profiles: &[ProfileDefaults]) -> Vec<Duration> {
        if let Some(retry) = &self.retry {
            return retry.delays();
        }
        let profile = profiles::find(profiles, self.profile.as_str());
        profile.map(|profile| profile.schedule.clone()).unwrap_or_default()
    }

    /// Returns its name, or its URL if it has none.
    pub fn title(&self) -> Text {
        if self.name.is_empty() { self.url.as_str().into() } else { self.name.as_str().into() }
    }

    /// Returns how many deliveries wait: `3`, or `3+` if there are more in the store, `1+` if all of them are
    /// there.
    pub fn waiting(&self, t: &Texts) -> String {
        let here = self.health.waiting;
        if self.health.has_backlog { format!("{}+", t.number(here.max(1))) } else { t.number(here) }
    }

    /// Whether a search finds it: by name, URL, id, tenant or event type.
    pub fn matches(&self, query: &str) -> bool {
        let own = [&self.name, &self.url, &self.id].into_iter().chain(&self.events);
        let tenant = self.tenant.as_ref().map(Text::as_str);
        scan::matches(query, own.map(String::as_str).chain(tenant))
    }

    pub fn shown_url(&self) -> Text {
        self.url.as_str().into()
    }

    pub fn types(&self) -> Vec<Text> {
        self.events.iter().map(|pattern| pattern.as_str().into()).collect()
    }

    pub fn is_ordered(&self) -> bool {
        self.ordering == "per_subject"
    }

    pub fn is_breaker_open(&self) -> bool {
        self.health.circuit_breaker != "closed"
    }

    pub fn is_in_trouble(&self) -> bool {
        self.is_active && (self.failing_since.is_some() || self.health.state == "failing")
    }

    /// Whether it is in trouble, which its mark does not show because it is paused as well.
    pub fn is_paused_in_trouble(&self) -> bool {
        self.mark() == StatusMark::Paused && self.is_in_trouble()
    }

    pub fn mark(&self) -> StatusMark {
        match () {
            () if !self.is_active => StatusMark::Disabled,
            () if self.paused_by.is_some() => StatusMark::Paused,
            () if self.is_in_trouble() => StatusMark::Failed,
            () if self.health.state == "slow" => StatusMark::Warning,
            () if self.health.state == "untried" => StatusMark::Pending,
            () => StatusMark::Delivered,
        }
    }

    /// Returns its state in words.
    pub fn state(&self, t: &Texts) -> Sentence {
        match (self.mark(), self.disabled_reason.as_deref(), &self.failing_since) {
            (StatusMark::Disabled, Some("gone"), _) => t.say("endpoint.state.gone"),
            (StatusMark::Disabled, Some(_), _) => t.say("endpoint.state.given_up"),
            (StatusMark::Disabled, None, _) => t.say("endpoint.state.disabled"),
            (StatusMark::Paused, ..) => match self.paused_by.as_deref() {
                Some("tenant") => t.say("endpoint.state.tenant_paused"),
                Some("lane") => t.say("endpoint.state.lane_paused"),
                _ => t.say("endpoint.state.paused"),
            },
            (StatusMark::Failed, _, Some(since)) => {
                t.say("endpoint.state.failing_for").with("span", t.age(since))
            }
            (StatusMark::Failed, ..) => t.say("endpoint.state.failing"),
            (StatusMark::Warning, ..) => t.say("endpoint.state.slow"),
            (StatusMark::Pending, ..) => t.say("endpoint.state.untried"),
            _ => t.say("endpoint.state.active"),
        }
    }
}

/// Returns the endpoint of a delivery. It is the tenant's, so it can be read only if the page has one.
pub async fn find_endpoint(visit: &Visit, id: Option<&str>) -> Option<EndpointFacts> {
    visit.tenant.as_ref()?;
    visit.get(Link::new(format!("/v1/webhooks/{}", segment(id?)))).await.ok()
}
