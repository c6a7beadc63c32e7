//! What an outcome means for the delivery, for the pace and for the breaker.

use bytes::Bytes;
use gancho_domain::{
    Code, Failure, Time, Verdict,
    pace::{Load, SLOW},
};
use gancho_engine::AttemptResult;
use http::StatusCode;

use crate::outcome::{Answer, Outcome, RequestError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub verdict: Verdict,
    pub load: Load,
    /// Whether the endpoint itself failed, which counts towards its breaker. An endpoint that responds, but
    /// rejects the request, is alive.
    pub at_fault: bool,
}

pub fn verdict(outcome: &Outcome, now: Time) -> Assessment {
    let (verdict, heavy, at_fault) = match &outcome.answer {
        Ok(answer) => {
            let at_fault = matches!(answer.status, 408 | 425 | 429 | 500..);
            (of_answer(answer, now), matches!(answer.status, 429 | 502..=504), at_fault)
        }
        Err(RequestError { failure, is_ours: true, .. }) => {
            return Assessment {
                verdict: Verdict::Deferred { failure: failure.clone() },
                load: Load::Light,
                at_fault: false,
            };
        }
        Err(RequestError { failure, for_good: true, .. }) => {
            (Verdict::Never { failure: failure.clone() }, false, false)
        }
        Err(RequestError { failure, for_good: false, .. }) => {
            let heavy = [Code::TIMEOUT, Code::CONNECT_FAILED].contains(failure.code());
            (Verdict::Retry { failure: failure.clone(), not_before: None }, heavy, true)
        }
    };
    let load = if heavy || outcome.latency > SLOW { Load::Heavy } else { Load::Light };
    Assessment { verdict, load, at_fault }
}

/// Returns the result of a POST for the engine, with its headers as they are shown.
pub fn carried(outcome: Outcome, request_headers: Bytes, now: Time) -> AttemptResult {
    let judged = verdict(&outcome, now);
    let mut carried = AttemptResult {
        load: judged.load,
        at_fault: judged.at_fault,
        request_headers,
        ..AttemptResult::new(judged.verdict, outcome.latency)
    };
    if let Ok(answer) = outcome.answer {
        carried.response_status = Some(answer.status);
        carried.response_headers = answer.headers;
        carried.response_body = answer.body;
    }
    carried
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::retry_after::RetryAfter;

    const NOW: Time = Time::from_secs(1_000_000);

    fn answered(status: u16, retry_after: Option<RetryAfter>, latency: Duration) -> Assessment {
        let answer = Answer {
            status,
            headers: Bytes::new(),
            body: Bytes::new(),
            is_whole: true,
            retry_after,
        };
        verdict(&Outcome { answer: Ok(answer), latency }, NOW)
    }

    fn missed(miss: RequestError) -> Assessment {
        verdict(&Outcome { answer: Err(miss), latency: Duration::ZERO }, NOW)
    }

    #[test]
    fn every_status() {
        for status in 100..1_000 {
            let concluded = answered(status, None, Duration::ZERO);
            match (status, &concluded.verdict) {
                (200..=299, Verdict::Delivered) => {}
                (410, Verdict::Never { failure }) => assert_eq!(*failure.code(), Code::TARGET_GONE),
                (_, Verdict::Retry { failure, not_before: None }) => {
                    assert_eq!(*failure.code(), Code::http(status));
                    assert!(failure.reason().contains(&status.to_string()));
                }
                (_, other) => panic!("{status}: {other:?}"),
            }
            let heavy = [429, 502, 503, 504].contains(&status);
            assert_eq!(concluded.load == Load::Heavy, heavy, "{status}");
            let at_fault = status >= 500 || [408, 425, 429].contains(&status);
            assert_eq!(concluded.at_fault, at_fault, "{status}");
        }
    }

    #[test]
    fn no_answer() {
        for (code, heavy) in [
            (Code::TIMEOUT, true),
            (Code::CONNECT_FAILED, true),
            (Code::DNS_FAILED, false),
            (Code::TLS_FAILED, false),
            (Code::PROTOCOL_ERROR, false),
        ] {
            let concluded = missed(RequestError::new(code.clone(), "why"));
            assert_eq!(concluded.verdict.failure().map(Failure::code), Some(&code));
            assert!(matches!(concluded.verdict, Verdict::Retry { .. }) && concluded.at_fault);
            assert_eq!(concluded.load == Load::Heavy, heavy, "{code}");
        }
        assert!(matches!(missed(RequestError::blocked()).verdict, Verdict::Retry { .. }));
        // faults.md 10
        let internal_failure = missed(RequestError::internal_failure("no file handle"));
        assert!(matches!(internal_failure.verdict, Verdict::Deferred { .. }));
        assert_eq!((internal_failure.at_fault, internal_failure.load), (false, Load::Light));
        let refused = missed(RequestError::refused("why"));
        assert!(matches!(refused.verdict, Verdict::Never { .. }) && !refused.at_fault);
    }

    #[test]
    fn slow_answers_and_wishes() {
        assert_eq!(answered(200, None, SLOW).load, Load::Light);
        assert_eq!(answered(200, None, SLOW + Duration::from_millis(1)).load, Load::Heavy);
        let wish = RetryAfter::In(Duration::from_secs(90));
        match answered(503, Some(wish), Duration::ZERO).verdict {
            Verdict::Retry { not_before, .. } => {
                assert_eq!(not_before, Some(NOW + Duration::from_secs(90)));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(answered(200, Some(wish), Duration::ZERO).verdict, Verdict::Delivered);
    }
}
