//! Judges on what terms an endpoint is delivered to: how patiently, how fast, in which order.

use std::time::Duration;

use gancho_domain::{
    Endpoint, Ordering, Rate, RateDraft, field_error::FieldErrors, span::parse_within,
};

use super::EndpointDraft;

const MOST_IN_FLIGHT: u32 = 512;
const MOST_IN_A_PERIOD: u32 = 1_000_000;
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(1);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);
const LONGEST_PERIOD: Duration = Duration::from_hours(24);

pub(super) fn apply(endpoint: &mut Endpoint, draft: &EndpointDraft, faults: &mut FieldErrors) {
    if let Some(retry) = &draft.retry {
        endpoint.plan = retry.as_ref().and_then(|retry| retry.check_into(faults));
    }
    if let Some(timeout) = &draft.timeout {
        let within = SHORTEST_TIMEOUT..=LONGEST_TIMEOUT;
        endpoint.timeout =
            timeout.as_ref().and_then(|text| faults.take(parse_within(text, "/timeout", &within)));
    }
    if let Some(rate) = &draft.rate_limit {
        endpoint.rate = rate.as_ref().and_then(|rate| rate_of(rate, faults));
    }
    if let Some(most) = draft.max_in_flight {
        if most.is_some_and(|most| !(1..=MOST_IN_FLIGHT).contains(&most)) {
            let message = format!("must be between 1 and {MOST_IN_FLIGHT}");
            faults.add("out_of_range", "/max_in_flight", message);
        }
        endpoint.max_in_flight = most;
    }
    match draft.ordering.as_deref() {
        None => {}
        Some("best_effort") => endpoint.ordering = Ordering::BestEffort,
        Some("per_subject") => endpoint.ordering = Ordering::PerSubject,
        Some(_) => faults.add("malformed", "/ordering", "must be `best_effort` or `per_subject`"),
    }
}

fn rate_of(draft: &RateDraft, faults: &mut FieldErrors) -> Option<Rate> {
    if !(1..=MOST_IN_A_PERIOD).contains(&draft.count) {
        let message = format!("must be between 1 and {MOST_IN_A_PERIOD}");
        faults.add("out_of_range", "/rate_limit/count", message);
    }
    let within = SHORTEST_PERIOD..=LONGEST_PERIOD;
    let per = faults.take(parse_within(&draft.per, "/rate_limit/per", &within))?;
    Some(Rate { count: draft.count, per })
}
