//! Input that endpoints and sources have in common, before and after validation.

use std::{ops::RangeInclusive, time::Duration};

use crate::{FieldError, RetryPlan, field_error::FieldErrors, span::parse_within};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetryDraft {
    Schedule(Vec<String>),
    Exponential { base: String, max: String, attempts: u32 },
}

/// A rate limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateDraft {
    /// Maximum number per window.
    pub count: u32,
    /// The window's length, such as `1s`.
    pub per: String,
}

const MAX_DELAYS: usize = 30;
/// Bounds of a retry plan: it must not flood a target, and a delivery must not live forever.
const WITHIN: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(7 * 24);

impl RetryDraft {
    /// Returns the plan, or every error in the draft; pointers lie under `/retry`.
    pub fn check(&self) -> Result<RetryPlan, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        match self.check_into(&mut errors) {
            Some(plan) if errors.0.is_empty() => Ok(plan),
            _ => Err(errors.0),
        }
    }

    /// As [`RetryDraft::check`], but adds the errors to those of the whole request.
    pub fn check_into(&self, errors: &mut FieldErrors) -> Option<RetryPlan> {
        match self {
            Self::Schedule(delays) => schedule(delays, errors),
            Self::Exponential { base, max, attempts } => {
                let base = errors.take(parse_within(base, "/retry/base", &WITHIN));
                let max = errors.take(parse_within(max, "/retry/max", &WITHIN));
                let max_attempts = MAX_DELAYS as u32 + 1;
                if !(1..=max_attempts).contains(attempts) {
                    let message = format!("must be between 1 and {max_attempts}");
                    errors.add("out_of_range", "/retry/attempts", message);
                }
                let (base, max) = (base?, max?);
                if max < base {
                    errors.add("out_of_range", "/retry/max", "must not be less than `base`");
                }
                Some(RetryPlan::Exponential { base, max, attempts: *attempts })
            }
        }
    }
}

fn schedule(delays: &[String], errors: &mut FieldErrors) -> Option<RetryPlan> {
    if delays.len() > MAX_DELAYS {
        let message = format!("too many delays: {}, the maximum is {MAX_DELAYS}", delays.len());
        errors.add("too_many", "/retry/schedule", message);
        return None;
    }
    let each = delays.iter().enumerate().map(|(index, text)| {
        errors.take(parse_within(text, &format!("/retry/schedule/{index}"), &WITHIN))
    });
    // Parses every delay, so that every error is reported.
    let spans: Vec<Option<Duration>> = each.collect();
    spans.into_iter().collect::<Option<_>>().map(RetryPlan::Schedule)
}
