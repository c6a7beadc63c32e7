//! Reduces a result that the store rejects. Which part is the cause is unknown, so it leaves out one part
//! after the other, the least important first.

use bytes::Bytes;
use gancho_domain::{Code, Failure, NextStep};
use gancho_store::Settlement;

/// Returns the reductions, each with the name of the part left out, for the log.
pub(crate) fn reductions(whole: &Settlement) -> Vec<(&'static str, Settlement)> {
    let parts = [
        ("headers, bodies and reasons", without_exchange(whole)),
        ("the attempt", without_attempt(whole)),
        ("what follows", without_follow(whole.clone())),
        ("headers, bodies, reasons and what follows", without_follow(without_exchange(whole))),
        ("the attempt and what follows", without_follow(without_attempt(whole))),
    ];
    // Without follow-up parcels, leaving them out changes nothing.
    let max = if whole.follow.is_empty() { 2 } else { parts.len() };
    parts.into_iter().take(max).collect()
}

fn without_exchange(whole: &Settlement) -> Settlement {
    let mut reduced = whole.clone();
    if let Some(attempt) = &mut reduced.attempt {
        attempt.request_headers = Bytes::new();
        attempt.response_headers = Bytes::new();
        attempt.response_body = Bytes::new();
        attempt.failure = attempt.failure.as_ref().map(with_plain_reason);
    }
    if let NextStep::Dead(failure) = &whole.next {
        reduced.next = NextStep::Dead(with_plain_reason(failure));
    }
    reduced
}

/// Leaves out the attempt. An attempt that is not stored is not counted, so a failed one would be retried
/// without end: the delivery becomes a dead letter.
fn without_attempt(whole: &Settlement) -> Settlement {
    let mut reduced = without_exchange(whole);
    let attempt = reduced.attempt.take();
    if let (NextStep::Retry { .. }, Some(attempt)) = (&whole.next, attempt) {
        let code = attempt.failure.map_or(Code::UNSPECIFIED, |failure| failure.code().clone());
        reduced.next =
            NextStep::Dead(Failure::new(code, "the attempt failed and could not be stored"));
    }
    reduced
}

fn without_follow(mut whole: Settlement) -> Settlement {
    whole.follow.clear();
    whole
}

/// Returns the same code, with a reason that any store can hold.
fn with_plain_reason(failure: &Failure) -> Failure {
    Failure::new(failure.code().clone(), "the reason could not be stored")
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test")]
mod tests {
    use std::{sync::Arc, time::Duration};

    use gancho_domain::{Attempt, Id, Parcel, ParcelKind, Time};
    use gancho_store::NewParcel;

    use super::*;

    fn settlement(next: NextStep, follow: usize) -> Settlement {
        let bytes = || Bytes::from_static(b"secret");
        let parcel = Parcel {
            id: Id::from_bits(3),
            tenant: Id::from_bits(1),
            kind: ParcelKind::Event,
            event_type: "a.b".into(),
            subject: None,
            external_id: None,
            is_test: false,
            body: bytes(),
            created_at: Time::ZERO,
            trace: None,
            erased_at: None,
        };
        let new = NewParcel {
            parcel: Arc::new(parcel),
            once: None,
            ledger: None,
            deliveries: Vec::new(),
        };
        Settlement {
            tenant: Id::from_bits(1),
            delivery: Id::from_bits(2),
            leased_at: None,
            at: Time::ZERO,
            attempt: Some(Attempt {
                number: 4,
                started_at: Time::ZERO,
                latency: Duration::ZERO,
                request_headers: bytes(),
                response_status: Some(500),
                response_headers: bytes(),
                response_body: bytes(),
                failure: Some(Failure::new(Code::http(500), "secret")),
                next_at: None,
            }),
            next,
            is_replay: false,
            in_order: false,
            follow: vec![new; follow],
        }
    }

    #[test]
    fn all_that_came_from_outside_is_left_out() {
        let dead = NextStep::Dead(Failure::new(Code::http(500), "secret"));
        for (without, reduced) in reductions(&settlement(dead, 0)) {
            assert!(!format!("{reduced:?}").contains("secret"), "without {without}");
            let NextStep::Dead(failure) = reduced.next else { panic!("what was decided stays") };
            assert_eq!(*failure.code(), Code::http(500));
        }
    }

    #[test]
    fn what_follows_is_kept_as_long_as_possible() {
        let kept = |(_, one): &(&str, Settlement)| (one.attempt.is_some(), one.follow.len());
        let reduced = reductions(&settlement(NextStep::Delivered, 2));
        let kept: Vec<_> = reduced.iter().map(kept).collect();
        assert_eq!(kept, [(true, 2), (false, 2), (true, 0), (true, 0), (false, 0)]);
        assert!(reduced.iter().all(|(_, one)| one.next == NextStep::Delivered));
        assert_eq!(reductions(&settlement(NextStep::Delivered, 0)).len(), 2);
    }

    #[test]
    fn a_failed_attempt_that_is_not_counted_is_not_made_again() {
        let retry = NextStep::Retry { due_at: Time::ZERO, planned_at: Time::ZERO };
        let reduced = reductions(&settlement(retry.clone(), 0));
        assert_eq!(reduced[0].1.next, retry);
        let NextStep::Dead(failure) = &reduced[1].1.next else { panic!("it is given up") };
        assert_eq!(*failure.code(), Code::http(500));
    }
}
