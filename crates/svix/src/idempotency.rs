//! Answers a repeated request with the response of the first one, except for messages, which the gateway's
//! own idempotency keys cover. The records are in the store, so that every node recognizes a retry, also
//! after a restart.
//!
//! **Invariant.** A request runs only after its record was written as [`State::Running`], which only one of
//! two concurrent requests can do. It then runs to its end, whether its caller waits or not. So the record
//! never stays as it is, except if the node dies: another request may take over after [`MAX_RUN`].
//!
//! **Invariant.** A tenant adds records at a bounded rate ([`RecordRates`]), so that those of [`TTL`] are bounded.

use std::{fmt::Write, time::Duration};

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use gancho_access::Principal;
use gancho_domain::Time;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::{
    backend::{Backend, RecordError, RecordKey},
    calls::Handler,
    record_rates::RecordRates,
    svix_error::{MISMATCH, SvixError},
    visit::{IDEMPOTENCY_KEY, Reply, Visit, unavailable},
};

/// How long a response is stored.
const TTL: Duration = Duration::from_hours(12);
/// Maximum duration of a request. The calls of the gateway's own API are much faster.
const MAX_RUN: Duration = Duration::from_mins(2);
/// Maximum size of a stored response.
const MAX_BYTES: usize = 16 * 1024;
const MAX_KEY: usize = 256;

/// The stored form of a record.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// A hash of the body.
    request: String,
    /// When the request began, or was done, in milliseconds.
    at: i64,
    state: State,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Running,
    /// The request may be repeated.
    Failed,
    Done {
        status: u16,
        body: String,
    },
}

/// The result of looking up a request.
#[derive(Debug, PartialEq, Eq)]
enum RepeatCheck {
    /// It is the first request, and its record has this version.
    New(u64),
    /// The first request is still running.
    Running,
    /// The first request had another body.
    Mismatch,
    Done(StatusCode, Bytes),
    /// The tenant has added too many records and must wait.
    TooMany(Duration),
}

/// Runs a call unless it has run before with the same key. `target` is its path with the query.
pub async fn run_once(visit: Visit, target: &str, run: Handler) -> Result<Reply, SvixError> {
    let Some(key) = record_key(&visit, target)? else { return run(visit).await };
    let (svix, request) = (visit.svix.clone(), hash(&[&visit.body]));
    let seen = begin(&*svix.backend, &svix.record_rates, &key, &request, svix.clock.now()).await;
    let version = match seen.map_err(|RecordError| unavailable())? {
        RepeatCheck::New(version) => version,
        RepeatCheck::Running => {
            let text = "a request with this idempotency key is being processed";
            return Err(SvixError::conflict(text));
        }
        RepeatCheck::Mismatch => return Err(SvixError::conflict(MISMATCH)),
        RepeatCheck::Done(status, body) => return Ok(Reply { status, body }),
        RepeatCheck::TooMany(wait) => {
            let text = "too many requests with idempotency keys";
            return Err(SvixError::throttled(text, wait));
        }
    };
    let (done, outcome) = oneshot::channel();
    let backend = svix.backend.clone();
    let work = async move {
        let outcome = run(visit).await;
        let now = svix.clock.now();
        let reply = outcome.as_ref().ok();
        // A record that cannot be written stays unchanged, and a retry waits until it has expired.
        let _ = finish(&*svix.backend, &key, (request, version), reply, now).await;
        let _ = done.send(outcome);
    };
    backend.run_to_completion(Box::pin(work)).await;
    outcome.await.unwrap_or_else(|_| Err(unavailable()))
}

async fn begin(
    backend: &dyn Backend,
    rates: &RecordRates,
    key: &RecordKey,
    request: &str,
    now: Time,
) -> Result<RepeatCheck, RecordError> {
    let found = backend.record(key).await?;
    if let Some(record) = &found
        && let Ok(entry) = serde_json::from_slice::<Entry>(&record.body)
    {
        let age = Duration::from_millis(now.millis().saturating_sub(entry.at).max(0) as u64);
        match entry.state {
            State::Running if age < MAX_RUN => return Ok(RepeatCheck::Running),
            State::Done { .. } if age < TTL && entry.request != request => {
                return Ok(RepeatCheck::Mismatch);
            }
            State::Done { status, body } if age < TTL => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
                return Ok(RepeatCheck::Done(status, body.into()));
            }
            _ => {}
        }
    }
    if let Some(Err(wait)) = key.owner.map(|tenant| rates.take(tenant, now)) {
        return Ok(RepeatCheck::TooMany(wait));
    }
    let version = found.map(|record| record.version);
    let entry = Entry { request: request.to_owned(), at: now.millis(), state: State::Running };
    let written = backend.put_record(key, encoded(&entry), version, now + TTL).await?;
    Ok(written.map_or(RepeatCheck::Running, RepeatCheck::New))
}

async fn finish(
    backend: &dyn Backend,
    key: &RecordKey,
    (request, version): (String, u64),
    reply: Option<&Reply>,
    now: Time,
) -> Result<(), RecordError> {
    let stored = reply.filter(|reply| reply.body.len() <= MAX_BYTES);
    let state = stored.map_or(State::Failed, |reply| State::Done {
        status: reply.status.as_u16(),
        body: String::from_utf8_lossy(&reply.body).into_owned(),
    });
    let entry = Entry { request, at: now.millis(), state };
    backend.put_record(key, encoded(&entry), Some(version), now + TTL).await.map(drop)
}

fn encoded(entry: &Entry) -> Bytes {
    serde_json::to_vec(entry).unwrap_or_default().into()
}

/// Returns the key of the record; `None` if the request has no idempotency key.
fn record_key(visit: &Visit, target: &str) -> Result<Option<RecordKey>, SvixError> {
    let Some(given) = visit.headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = given.as_bytes();
    if !(1..=MAX_KEY).contains(&key.len()) {
        let text = format!("must have 1 to {MAX_KEY} characters");
        return Err(SvixError::field(&["header", "idempotency-key"], &text));
    }
    let owner = match &visit.caller {
        Principal::Operator(_) => None,
        Principal::Tenant(principal) => Some(principal.tenant().id),
    };
    let actor = visit.caller.actor();
    let key = hash(&[actor.name.as_bytes(), target.as_bytes(), key]);
    Ok(Some(RecordKey { owner, key }))
}

/// Returns the SHA-256 of all parts, each preceded by its length, in hexadecimal.
fn hash(parts: &[&[u8]]) -> String {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish().as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, sync::Arc};

    use async_trait::async_trait;
    use axum::body::Body;
    use futures_util::future::BoxFuture;
    use gancho_access::AccessError;
    use gancho_domain::{Tenant, TenantId};
    use http::{Request, Response, request::Parts};
    use parking_lot::Mutex;

    use super::*;
    use crate::{
        backend::{Record, RequestGuard},
        record_rates::MAX_RECORDS,
    };

    /// Records in memory, shared as nodes share a store.
    #[derive(Default)]
    struct Records(Mutex<HashMap<String, Record>>);

    #[async_trait]
    impl Backend for Records {
        async fn identify(&self, _: &Parts) -> Result<Principal, Response<Bytes>> {
            unreachable!()
        }

        async fn begin_request(
            &self,
            _: &Principal,
            _: &Parts,
            _: Body,
            _: usize,
        ) -> Result<(Bytes, RequestGuard), Response<Bytes>> {
            unreachable!()
        }

        async fn tenant(&self, _: &str) -> Result<Option<Arc<Tenant>>, AccessError> {
            unreachable!()
        }

        async fn call(&self, _: Principal, _: Request<Bytes>) -> Response<Bytes> {
            unreachable!()
        }

        async fn record(&self, key: &RecordKey) -> Result<Option<Record>, RecordError> {
            Ok(self.0.lock().get(&key.key).cloned())
        }

        async fn put_record(
            &self,
            key: &RecordKey,
            body: Bytes,
            version: Option<u64>,
            _: Time,
        ) -> Result<Option<u64>, RecordError> {
            let mut records = self.0.lock();
            if records.get(&key.key).map(|record| record.version) != version {
                return Ok(None);
            }
            let version = version.unwrap_or(0) + 1;
            records.insert(key.key.clone(), Record { body, version });
            Ok(Some(version))
        }

        async fn run_to_completion(&self, work: BoxFuture<'static, ()>) {
            work.await;
        }
    }

    fn key(text: &str) -> RecordKey {
        RecordKey { owner: None, key: text.into() }
    }

    async fn seen(records: &Records, request: &str, now: Time) -> RepeatCheck {
        begin(records, &RecordRates::default(), &key("1"), request, now).await.unwrap()
    }

    #[tokio::test]
    async fn a_tenant_with_too_many_records_waits_and_repeats_are_answered() {
        let (records, rates) = (Records::default(), RecordRates::default());
        let now = Time::from_secs(1_000_000);
        let of_tenant = |key| RecordKey { owner: Some(TenantId::from_bits(1)), key };
        let max = u64::from(MAX_RECORDS.count);
        for number in 0..max {
            let key = of_tenant(number.to_string());
            let seen = begin(&records, &rates, &key, "a", now).await.unwrap();
            assert_eq!(seen, RepeatCheck::New(1));
        }
        let next = of_tenant("next".to_owned());
        let wait = MAX_RECORDS.per / MAX_RECORDS.count;
        let seen = begin(&records, &rates, &next, "a", now).await.unwrap();
        assert_eq!(seen, RepeatCheck::TooMany(wait));
        assert_eq!(records.0.lock().len() as u64, max, "nothing was written");
        let repeated = begin(&records, &rates, &of_tenant("1".to_owned()), "a", now).await.unwrap();
        assert_eq!(repeated, RepeatCheck::Running);
        let operators = begin(&records, &rates, &key("next"), "a", now).await.unwrap();
        assert_eq!(operators, RepeatCheck::New(1));
        let later = begin(&records, &rates, &of_tenant("later".to_owned()), "a", now + wait).await;
        assert_eq!(later.unwrap(), RepeatCheck::New(1));
    }

    #[tokio::test]
    async fn the_second_gets_the_response_of_the_first() {
        let (records, now) = (Records::default(), Time::from_millis(1_000));
        assert_eq!(seen(&records, "a", now).await, RepeatCheck::New(1));
        assert_eq!(seen(&records, "a", now).await, RepeatCheck::Running);
        let reply = Reply { status: StatusCode::CREATED, body: Bytes::from_static(b"{}") };
        finish(&records, &key("1"), ("a".into(), 1), Some(&reply), now).await.unwrap();
        let done = RepeatCheck::Done(StatusCode::CREATED, Bytes::from_static(b"{}"));
        assert_eq!(seen(&records, "a", now).await, done);
        assert_eq!(seen(&records, "b", now).await, RepeatCheck::Mismatch);
        assert_eq!(seen(&records, "b", now + TTL).await, RepeatCheck::New(3), "it has expired");
    }

    #[tokio::test]
    async fn what_failed_may_be_repeated() {
        let (records, now) = (Records::default(), Time::from_millis(1_000));
        assert_eq!(seen(&records, "a", now).await, RepeatCheck::New(1));
        finish(&records, &key("1"), ("a".into(), 1), None, now).await.unwrap();
        assert_eq!(seen(&records, "a", now).await, RepeatCheck::New(3));
        let large = Reply { status: StatusCode::OK, body: vec![b'1'; MAX_BYTES + 1].into() };
        finish(&records, &key("1"), ("a".into(), 3), Some(&large), now).await.unwrap();
        assert_eq!(
            seen(&records, "a", now).await,
            RepeatCheck::New(5),
            "it was too large to be kept"
        );
    }

    #[tokio::test]
    async fn what_a_dead_node_began_is_taken_over_and_not_overwritten_by_it() {
        let (records, now) = (Records::default(), Time::from_millis(1_000));
        assert_eq!(seen(&records, "a", now).await, RepeatCheck::New(1));
        let later = now + MAX_RUN;
        assert_eq!(seen(&records, "a", later).await, RepeatCheck::New(2));
        let reply = Reply { status: StatusCode::OK, body: Bytes::from_static(b"{}") };
        finish(&records, &key("1"), ("a".into(), 1), Some(&reply), later).await.unwrap();
        assert_eq!(
            seen(&records, "a", later).await,
            RepeatCheck::Running,
            "the first one was not dead"
        );
    }
}
