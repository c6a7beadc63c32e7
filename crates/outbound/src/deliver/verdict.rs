//! What an outcome means for the delivery, for the pace and for the breaker.

use gancho_domain::{
    Code, Failure, Time, Verdict,
    pace::{Load, SLOW},
};
use http::StatusCode;

use super::outcome::{Answer, NoAnswer, Outcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    pub verdict: Verdict,
    pub load: Load,
    /// The endpoint itself failed: counts towards its breaker. One that answers, but does not like
    /// what it was sent, is alive.
    pub at_fault: bool,
}

pub fn verdict(outcome: &Outcome, now: Time) -> Conclusion {
    let (verdict, heavy, at_fault) = match &outcome.answer {
        Ok(answer) => {
            let at_fault = matches!(answer.status, 408 | 425 | 429 | 500..);
            (of_answer(answer, now), matches!(answer.status, 429 | 502..=504), at_fault)
        }
        Err(NoAnswer { failure, for_good: true }) => {
            (Verdict::Never { failure: failure.clone() }, false, false)
        }
        Err(NoAnswer { failure, for_good: false }) => {
            let heavy = [Code::TIMEOUT, Code::CONNECT_FAILED].contains(failure.code());
            (Verdict::Retry { failure: failure.clone(), not_before: None }, heavy, true)
        }
    };
    let load = if heavy || outcome.latency > SLOW { Load::Heavy } else { Load::Light };
    Conclusion { verdict, load, at_fault }
}

fn of_answer(answer: &Answer, now: Time) -> Verdict {
    let said = match StatusCode::from_u16(answer.status).ok().and_then(|s| s.canonical_reason()) {
        Some(reason) => format!("the endpoint answered {} {reason}", answer.status),
        None => format!("the endpoint answered {}", answer.status),
    };
    match answer.status {
        200..=299 => Verdict::Delivered,
        410 => Verdict::Never { failure: Failure::new(Code::TARGET_GONE, said) },
        status => Verdict::Retry {
            failure: Failure::new(
                Code::http(status),
                match status {
                    300..=399 => format!("{said}; redirects are not followed"),
                    _ => said,
                },
            ),
            not_before: answer.retry_after.map(|retry_after| retry_after.not_before(now)),
        },
    }
}
