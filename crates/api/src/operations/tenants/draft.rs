//! The bodies of a tenant.

use gancho_domain::{Rate, Tenant, span};

use crate::{
    input::{Field, FieldErrors, Kind, Values},
    operations::webhooks::draft::{RATE_FIELDS, rate},
    problem::Problem,
    state::Api,
};

pub const SLUG: Field = Field::new(
    "slug",
    Kind::Text { min: 1, max: 63 },
    "Short name of the tenant: lower-case letters, digits, `-` and `_`. Cannot be changed.",
)
.required();
const NAME: Field =
    Field::new("name", Kind::Text { min: 1, max: 128 }, "Display name. Default: the slug.");
const PLAN: Field =
    Field::new("plan", Kind::Text { min: 1, max: 64 }, "Plan of the tenant. Default: `unlimited`.");
const DEFAULT_PROFILE: Field = Field::new(
    "default_profile",
    Kind::Text { min: 1, max: 64 },
    "Profile of webhooks that do not name one. Default: `standard`.",
);
const STRICT: Field = Field::new(
    "strict_event_types",
    Kind::Flag,
    "Whether only registered event types can be published. Default: `false`.",
);
const PUBLISH_RATE: Field = Field::new(
    "publish_rate",
    Kind::Object(RATE_FIELDS),
    "Maximum rate of publishing. Default: set by the operator.",
)
.nullable();

pub const NEW: &[Field] = &[SLUG, NAME, PLAN, DEFAULT_PROFILE, STRICT, PUBLISH_RATE];
pub const PART: &[Field] = &[NAME, PLAN, DEFAULT_PROFILE, STRICT, PUBLISH_RATE];

/// Applies the body to the tenant, or returns all its errors.
pub fn apply(api: &Api, tenant: &mut Tenant, values: &Values<'_>) -> Result<(), Problem> {
    let mut errors = FieldErrors::default();
    if let Some(name) = values.text("name") {
        name.clone_into(&mut tenant.name);
    }
    if let Some(plan) = values.text("plan") {
        if api.plans.get(plan).is_none() {
            let known: Vec<_> = api.plans.names().collect();
            errors.invalid("/plan", format!("unknown plan; known plans: {}", known.join(", ")));
        }
        plan.clone_into(&mut tenant.plan);
    }
    if let Some(profile) = values.text("default_profile") {
        if api.registry.profile(profile).is_none() {
            let known = api.registry.profile_names().join(", ");
            errors.invalid("/default_profile", format!("unknown profile; known profiles: {known}"));
        }
        profile.clone_into(&mut tenant.default_profile);
    }
    if let Some(strict) = values.flag("strict_event_types") {
        tenant.strict_event_types = strict;
    }
    if values.is_null("publish_rate") {
        tenant.publish_rate = None;
    } else if let Some(given) = values.object("publish_rate").and_then(rate) {
        match span::parse(&given.per) {
            Ok(per) if (1..=86_400).contains(&per.as_secs()) => {
                tenant.publish_rate = Some(Rate { count: given.count, per });
            }
            Ok(_) => errors.invalid("/publish_rate/per", "`per` must be between 1s and 1d"),
            Err(error) => errors.invalid("/publish_rate/per", error.to_string()),
        }
    }
    if errors.0.is_empty() { Ok(()) } else { Err(errors.into()) }
}
