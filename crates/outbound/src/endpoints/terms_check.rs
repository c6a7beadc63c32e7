//! Validates the delivery terms of an endpoint: timeout, retries, rate, order.

use std::time::Duration;

use gancho_domain::{
    Endpoint, Ordering, Rate, RateDraft, field_error::FieldErrors, span::parse_within,
};

use super::EndpointDraft;

const MAX_IN_FLIGHT: u32 = 512;
const MAX_PER_PERIOD: u32 = 1_000_000;
const MIN_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
const MIN_PERIOD: Duration = Duration::from_secs(1);
const MAX_PERIOD: Duration = Duration::from_hours(24);

pub(super) fn apply(endpoint: &mut Endpoint, draft: &EndpointDraft, errors: &mut FieldErrors) {
    if let Some(retry) = &draft.retry {
        endpoint.plan = retry.as_ref().and_then(|retry| retry.check_into(errors));
    }
    if let Some(timeout) = &draft.timeout {
        let within = MIN_TIMEOUT..=MAX_TIMEOUT;
        endpoint.timeout =
            timeout.as_ref().and_then(|text| errors.take(parse_within(text, "/timeout", &within)));
    }
    if let Some(rate) = &draft.rate_limit {
        endpoint.rate = rate.as_ref().and_then(|rate| rate_of(rate, errors));
    }
    if let Some(max) = draft.max_in_flight {
        if max.is_some_and(|max| !(1..=MAX_IN_FLIGHT).contains(&max)) {
            let message = format!("must be between 1 and {MAX_IN_FLIGHT}");
            errors.add("out_of_range", "/max_in_flight", message);
        }
        endpoint.max_in_flight = max;
    }
    match draft.ordering.as_deref() {
        None => {}
        Some("best_effort") => endpoint.ordering = Ordering::BestEffort,
        Some("per_subject") => endpoint.ordering = Ordering::PerSubject,
        Some(_) => errors.add("malformed", "/ordering", "must be `best_effort` or `per_subject`"),
    }
}

fn rate_of(draft: &RateDraft, errors: &mut FieldErrors) -> Option<Rate> {
    if !(1..=MAX_PER_PERIOD).contains(&draft.count) {
        let message = format!("must be between 1 and {MAX_PER_PERIOD}");
        errors.add("out_of_range", "/rate_limit/count", message);
    }
    let within = MIN_PERIOD..=MAX_PERIOD;
    let per = errors.take(parse_within(&draft.per, "/rate_limit/per", &within))?;
    Some(Rate { count: draft.count, per })
}
