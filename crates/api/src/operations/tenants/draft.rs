//! The bodies of a tenant.

use std::time::Duration;

use gancho_domain::{Rate, Tenant, span, tenant::TenantRetention};

use crate::{
    input::{FieldErrors, request},
    operations::webhooks::draft::RateLimitBody,
    problem::Problem,
    state::Api,
};

request! {
    /// The settings of a tenant.
    pub struct TenantBody {
        /// Display name. Default: the slug.
        optional name: String as text(1, 128),
        /// Name of the plan, which limits webhooks and events per month. Default: `unlimited`.
        optional plan: String as text(1, 64),
        /// Profile of webhooks that do not name one. Default: `standard`.
        optional default_profile: String as text(1, 64),
        /// Whether only registered event types can be published. Default: `false`.
        optional strict_event_types: bool as flag(),
        /// Maximum rate of publishing. Default: set by the operator.
        clearable publish_rate: RateLimitBody as object::<RateLimitBody>(),
        /// How long what the tenant has sent is stored. Default: set by the operator.
        clearable retention: RetentionBody as object::<RetentionBody>(),
    }
}

request! {
    /// How long the data of a tenant is stored.
    pub struct RetentionBody {
        /// How long events are stored with their deliveries, after those have ended: from `1h` to `3660d`. Default:
        /// `retention` of the operator.
        clearable events: Duration as span(),
        /// How long e-mails are stored, after they were sent or have failed: from `1h` to `3660d`. Default: `retention`
        /// of the operator.
        clearable emails: Duration as span(),
        /// How long dead letters are stored, before they are archived: from `1h` to `3660d`. Applies to dead letters
        /// from then on. Default: `dead_letter_ttl` of the operator.
        clearable dead_letters: Duration as span(),
    }
}

request! {
    /// A new tenant.
    pub struct NewTenantBody {
        /// Short name of the tenant: lower-case letters, digits, `-` and `_`. Cannot be changed.
        required slug: String as text(1, 63),
        flatten settings: TenantBody,
    }
}

impl TenantBody {
    /// Applies the body to the tenant, or returns all its errors.
    pub fn apply(self, api: &Api, tenant: &mut Tenant) -> Result<(), Problem> {
        let mut errors = FieldErrors::default();
        if let Some(name) = self.name {
            tenant.name = name;
        }
        if let Some(plan) = self.plan {
            if api.plans.get(&plan).is_none() {
                let known: Vec<_> = api.plans.names().collect();
                errors.invalid("/plan", format!("unknown plan; known plans: {}", known.join(", ")));
            }
            tenant.plan = plan;
        }
        if let Some(profile) = self.default_profile {
            if api.registry.profile(&profile).is_none() {
                let known = api.registry.profile_names().join(", ");
                let message = format!("unknown profile; known profiles: {known}");
                errors.invalid("/default_profile", message);
            }
            tenant.default_profile = profile;
        }
        if let Some(strict) = self.strict_event_types {
            tenant.strict_event_types = strict;
        }
        if let Some(rate) = self.publish_rate {
            match rate.as_ref().map(publish_rate).transpose() {
                Ok(rate) => tenant.publish_rate = rate,
                Err(message) => errors.invalid("/publish_rate/per", message),
            }
        }
        match self.retention {
            Some(Some(body)) => body.apply(&mut tenant.retention, &mut errors),
            Some(None) => tenant.retention = TenantRetention::default(),
            None => {}
        }
        if errors.0.is_empty() { Ok(()) } else { Err(errors.into()) }
    }
}

/// As for the settings of the operator.
const MIN_RETENTION: Duration = Duration::from_hours(1);
const MAX_RETENTION: Duration = Duration::from_hours(3660 * 24);

impl RetentionBody {
    fn apply(self, retention: &mut TenantRetention, errors: &mut FieldErrors) {
        let TenantRetention { events, emails, dead_letters } = retention;
        for (name, given, kept) in [
            ("events", self.events, events),
            ("emails", self.emails, emails),
            ("dead_letters", self.dead_letters, dead_letters),
        ] {
            let Some(given) = given else { continue };
            if given.is_some_and(|keep| !(MIN_RETENTION..=MAX_RETENTION).contains(&keep)) {
                let message = format!("`{name}` must be between 1h and 3660d");
                errors.invalid(format!("/retention/{name}"), message);
            }
            *kept = given;
        }
    }
}

fn publish_rate(body: &RateLimitBody) -> Result<Rate, String> {
    match span::parse(&body.per) {
        Ok(per) if (1..=86_400).contains(&per.as_secs()) => Ok(Rate { count: body.count, per }),
        Ok(_) => Err("`per` must be between 1s and 1d".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
