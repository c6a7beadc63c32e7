//! The past and the planned attempts, on one line.

use std::time::Duration;

use super::{
    super::{delivery_row::DeliveryRow, endpoint_facts::EndpointFacts},
    attempt::Attempt,
};
use crate::{
    display_time::DisplayTime,
    profiles::ProfileDefaults,
    sentence::{Html, Sentence},
    status_mark::StatusMark,
    texts::Texts,
};

/// Maximum planned attempts that are drawn.
const MAX_STEPS: usize = 12;

pub struct PlanStep {
    pub class: &'static str,
    pub mark: StatusMark,
    pub word: Sentence,
    pub time: Html,
    /// The delay after the one before.
    pub delay: Html,
}

/// Returns the steps. `attempts` are newest first.
pub fn steps(
    t: &Texts,
    row: &DeliveryRow,
    attempts: &[Attempt],
    endpoint: Option<&EndpointFacts>,
    profiles: &[ProfileDefaults],
) -> Vec<PlanStep> {
    if row.is_final() && attempts.len() < 2 {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut before: Option<DisplayTime> = None;
    for attempt in attempts.iter().rev() {
        steps.push(PlanStep {
            class: "done",
            mark: attempt.mark(),
            word: attempt.word(t),
            time: t.time(&attempt.started_at),
            delay: delay(t, before.as_ref(), &attempt.started_at),
        });
        before = Some(attempt.started_at);
    }
    let until = row.waiting_for.as_ref().and_then(|waiting| waiting.until);
    if let Some(next) = until {
        steps.push(PlanStep {
            class: "next",
            mark: StatusMark::Retrying,
            word: t.say("plan.next"),
            time: t.time(&next),
            delay: delay(t, before.as_ref(), &next),
        });
        let made = attempts.len() + 1;
        let delays = endpoint.map(|endpoint| endpoint.delays(profiles)).unwrap_or_default();
        let mut at = next;
        for wait in delays.into_iter().skip(made.saturating_sub(1)) {
            at = DisplayTime::of(at.time() + wait);
            steps.push(PlanStep {
                class: "todo",
                mark: StatusMark::Pending,
                word: t.say("plan.planned"),
                time: t.time(&at),
                delay: after(t, wait),
            });
        }
    }
    let skipped = steps.len().saturating_sub(MAX_STEPS);
    steps.split_off(skipped)
}

fn delay(t: &Texts, before: Option<&DisplayTime>, at: &DisplayTime) -> Html {
    match before {
        Some(before) => after(t, at.time().since(before.time())),
        None => t.say("plan.at_once").into(),
    }
}

fn after(t: &Texts, wait: Duration) -> Html {
    t.say("plan.after").with("span", t.span(wait)).into()
}
