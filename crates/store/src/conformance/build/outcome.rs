//! The ways in which an attempt can end.

use std::time::Duration;

use bytes::Bytes;
use gancho_domain::{Attempt, Code, Failure, NextStep, Time};

use crate::{Job, Settlement};

pub fn timeout() -> Failure {
    Failure::new(Code::TIMEOUT, "no answer within 15 s")
}

const LATENCY: Duration = Duration::from_micros(123_457);

/// Returns the job's next attempt, with the response 200. It ends now.
pub fn attempt(job: &Job, now: Time) -> Attempt {
    Attempt {
        number: job.attempts + 1,
        started_at: now - LATENCY,
        latency: LATENCY,
        request_headers: Bytes::from_static(b"content-type: application/json"),
        response_status: Some(200),
        response_headers: Bytes::from_static(b"server: a receiver"),
        response_body: Bytes::from_static(b"thank you"),
        failure: None,
        next_at: None,
    }
}

/// Returns the job's next attempt, failed without a response. It ends now.
pub fn failed(job: &Job, now: Time, failure: Failure, next_at: Option<Time>) -> Attempt {
    Attempt {
        response_status: None,
        response_headers: Bytes::new(),
        response_body: Bytes::new(),
        failure: Some(failure),
        next_at,
        ..attempt(job, now)
    }
}

pub fn delivered(job: &Job, now: Time) -> Settlement {
    Settlement::of(job, now, Some(attempt(job, now)), NextStep::Delivered)
}

pub fn tried_again(job: &Job, now: Time, due_at: Time) -> Settlement {
    let attempt = failed(job, now, timeout(), Some(due_at));
    let next = NextStep::Retry { due_at, planned_at: due_at };
    Settlement::of(job, now, Some(attempt), next)
}

pub fn given_up(job: &Job, now: Time, failure: Failure) -> Settlement {
    let attempt = failed(job, now, failure.clone(), None);
    Settlement::of(job, now, Some(attempt), NextStep::Dead(failure))
}
