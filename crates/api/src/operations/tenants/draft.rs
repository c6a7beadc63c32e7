//! The bodies of a tenant.

use gancho_domain::{Rate, Tenant, span};

use crate::{
    input::{FieldErrors, request},
    operations::webhooks::draft::RateLimitBody,
    problem::Problem,
    state::Api,
};

request! {
    pub struct TenantBody {
        /// Display name. Default: the slug.
        optional name: String as text(1, 128),
        /// Plan of the tenant. Default: `unlimited`.
        optional plan: String as text(1, 64),
        /// Profile of webhooks that do not name one. Default: `standard`.
        optional default_profile: String as text(1, 64),
        /// Whether only registered event types can be published. Default: `false`.
        optional strict_event_types: bool as flag(),
        /// Maximum rate of publishing. Default: set by the operator.
        clearable publish_rate: RateLimitBody as object::<RateLimitBody>(),
    }
}

request! {
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
        if errors.0.is_empty() { Ok(()) } else { Err(errors.into()) }
    }
}

fn publish_rate(body: &RateLimitBody) -> Result<Rate, String> {
    match span::parse(&body.per) {
        Ok(per) if (1..=86_400).contains(&per.as_secs()) => Ok(Rate { count: body.count, per }),
        Ok(_) => Err("`per` must be between 1s and 1d".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
