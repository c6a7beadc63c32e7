//! The attempts in the store are those that were made, and the final state follows from them.

use gancho_domain::State;
use gancho_store::DeliveryView;

use super::{Broken, Facts, Promise};
use crate::world::{Answer, What};

pub fn check(facts: &Facts<'_>, broken: &mut Vec<Broken>) {
    for view in facts.views.values().flatten() {
        if let Err(how) = agrees(facts, view) {
            let how = format!("{}: {how}", view.row.id);
            broken.push(Broken { promise: Promise::AttemptsTrue, how });
        }
        if view.row.state == State::Delivered && !was_received(facts, view) {
            let how = format!("{} is delivered, but its target never got it", view.row.id);
            broken.push(Broken { promise: Promise::NothingLost, how });
        }
    }
}

fn agrees(facts: &Facts<'_>, view: &DeliveryView) -> Result<(), String> {
    let numbers: Vec<u32> = view.attempts.iter().map(|attempt| attempt.number).collect();
    let expected: Vec<u32> = (1..=view.row.attempts).collect();
    if numbers != expected {
        return Err(format!("attempts {numbers:?} instead of {expected:?}"));
    }
    let succeeded: Vec<u32> = view
        .attempts
        .iter()
        .filter(|attempt| attempt.failure.is_none())
        .map(|attempt| attempt.number)
        .collect();
    let right = match view.row.state {
        State::Delivered => succeeded == [view.row.attempts],
        State::Dead | State::Pending | State::Leased | State::Waiting => succeeded.is_empty(),
    };
    if !right {
        return Err(format!("{:?} with successes {succeeded:?}", view.row.state));
    }
    for attempt in &view.attempts {
        let made = facts.first(view.row.id, |what| {
            matches!(what, What::Answered { attempt: number, answer, .. }
                if *number == attempt.number
                && (*answer == Answer::Delivered) == attempt.failure.is_none())
        });
        if made.is_none() {
            return Err(format!("attempt {} was never made", attempt.number));
        }
    }
    Ok(())
}

fn was_received(facts: &Facts<'_>, view: &DeliveryView) -> bool {
    let received = |what: &What| matches!(what, What::Answered { answer: Answer::Delivered, .. });
    facts.first(view.row.id, received).is_some()
}
