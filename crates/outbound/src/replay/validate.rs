//! Validates the request of a replay.

use gancho_domain::{FieldError, Lane};
use gancho_store::Store;

use super::{NewReplay, ReplayError, ReplayItems, count::scope_of_tenant};
use crate::Owner;

const MAX_EVENTS: usize = 1_000;
const MAX_RATE: u32 = 1_000;
pub(super) const DEFAULT_RATE: u32 = 100;

/// Validates the request. Returns all errors at once.
pub(super) async fn validate(
    store: &dyn Store,
    owner: Owner,
    new: &NewReplay,
) -> Result<(), ReplayError> {
    let filter = &new.filter;
    let mut errors = Vec::new();
    let mut add =
        |code, pointer: &str, message: String| errors.push(FieldError::new(code, pointer, message));
    if filter.of == ReplayItems::Events && new.to.is_none() {
        add(
            "missing_field",
            "/to",
            "`to` is required: the id of the endpoint to send the events to".into(),
        );
    }
    let is_redirect = filter.of == ReplayItems::DeadLetters && new.to.is_some();
    if is_redirect && scope_of_tenant(owner, filter).is_none() {
        let message = "dead letters of all tenants cannot go to one endpoint: select a tenant";
        add("missing_field", "/tenant", message.into());
    }
    if is_redirect && filter.lane.is_some_and(|lane| lane != Lane::Webhook) {
        let message = "only dead letters of the lane `webhook` can go to another endpoint";
        add("out_of_place", "/to", message.into());
    }
    if owner == Owner::Operator && filter.of != ReplayItems::DeadLetters && filter.tenant.is_none()
    {
        add(
            "missing_field",
            "/filter",
            "only dead letters can be replayed for all tenants: select a tenant".into(),
        );
    }
    if filter.events.len() > MAX_EVENTS {
        let message =
            format!("too many events: {}, the maximum is {MAX_EVENTS}", filter.events.len());
        add("too_many", "/filter/events", message);
    }
    if filter.since.zip(filter.until).is_some_and(|(since, until)| since >= until) {
        add("out_of_range", "/filter/until", "must be after `since`".into());
    }
    if new.rate.is_some_and(|rate| !(1..=MAX_RATE).contains(&rate)) {
        add("out_of_range", "/rate", format!("must be between 1 and {MAX_RATE} per second"));
    }
    if let Some((scope, to)) = scope_of_tenant(owner, filter).zip(new.to) {
        match store.endpoint(scope, to).await? {
            Some(endpoint) if endpoint.is_active => {}
            Some(_) => {
                add("endpoint_off", "/to", "the endpoint is disabled: enable it first".into());
            }
            None => add("not_found", "/to", "no endpoint with this id exists".into()),
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ReplayError::Faulty(errors)) }
}
