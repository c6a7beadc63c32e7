//! Judges a retry plan.

use std::{ops::RangeInclusive, time::Duration};

use gancho_domain::{FieldError, RetryPlan};

use super::{RetryDraft, check::Faults, terms_check::span_within};

const MOST_DELAYS: usize = 30;
/// A target must not be hammered, nor a delivery outlive what anyone remembers.
const WITHIN: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(7 * 24);

/// The plan that a draft stands for, for whoever has one without an endpoint.
pub fn plan_of(draft: &RetryDraft) -> Result<RetryPlan, Vec<FieldError>> {
    let mut faults = Faults::default();
    match check(draft, &mut faults) {
        Some(plan) if faults.0.is_empty() => Ok(plan),
        _ => Err(faults.0),
    }
}

pub(super) fn check(draft: &RetryDraft, faults: &mut Faults) -> Option<RetryPlan> {
    match draft {
        RetryDraft::Schedule(delays) => schedule(delays, faults),
        RetryDraft::Exponential { base, max, attempts } => {
            let base = faults.take(span_within(base, "/retry/base", &WITHIN));
            let max = faults.take(span_within(max, "/retry/max", &WITHIN));
            let most = MOST_DELAYS as u32 + 1;
            if !(1..=most).contains(attempts) {
                let message = format!("it must lie between 1 and {most}");
                faults.add("out_of_range", "/retry/attempts", message);
            }
            let (base, max) = (base?, max?);
            if max < base {
                faults.add("out_of_range", "/retry/max", "it must not be less than `base`");
            }
            Some(RetryPlan::Exponential { base, max, attempts: *attempts })
        }
    }
}

fn schedule(delays: &[String], faults: &mut Faults) -> Option<RetryPlan> {
    if delays.len() > MOST_DELAYS {
        let message = format!("{} delays are too many: at most {MOST_DELAYS}", delays.len());
        faults.add("too_many", "/retry/schedule", message);
        return None;
    }
    let each = delays.iter().enumerate().map(|(index, text)| {
        faults.take(span_within(text, &format!("/retry/schedule/{index}"), &WITHIN))
    });
    // To the end, so that every fault is found.
    let spans: Vec<Option<Duration>> = each.collect();
    spans.into_iter().collect::<Option<_>>().map(RetryPlan::Schedule)
}
