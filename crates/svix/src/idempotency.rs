//! Answers a repeated request with the response of the first one. Messages are not among them: the gateway's own
//! idempotency keys cover those, durably and on every node. This covers the other calls, on one node, for a while.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::Time;
use http::StatusCode;
use parking_lot::Mutex;

const TTL: Duration = Duration::from_hours(12);
const MAX_ENTRIES: usize = 4_096;
/// Larger responses are not kept.
const MAX_BYTES: usize = 16 * 1024;

/// Whose request it is, what it asks for, and its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestKey {
    pub owner: String,
    pub call: String,
    pub key: String,
}

#[derive(Debug, Clone)]
enum Entry {
    Running,
    Done { request: Bytes, status: StatusCode, body: Bytes },
}

/// What is known of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is the first: run it, and then call [`Idempotency::finish`].
    New,
    /// The first one is still running.
    Running,
    /// The first one had another body.
    Mismatch,
    Done(StatusCode, Bytes),
}

#[derive(Default)]
pub struct Idempotency(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_key: HashMap<RequestKey, Entry>,
    /// In order of time.
    ages: VecDeque<(Time, RequestKey)>,
}

impl Idempotency {
    pub fn begin(&self, key: &RequestKey, request: &Bytes, now: Time) -> Seen {
        let mut entries = self.0.lock();
        entries.expire(now);
        match entries.by_key.get(key) {
            None => {}
            Some(Entry::Running) => return Seen::Running,
            Some(Entry::Done { request: first, .. }) if first != request => return Seen::Mismatch,
            Some(Entry::Done { status, body, .. }) => return Seen::Done(*status, body.clone()),
        }
        entries.by_key.insert(key.clone(), Entry::Running);
        entries.ages.push_back((now, key.clone()));
        Seen::New
    }

    /// `None` for a request that failed: it may be repeated.
    pub fn finish(&self, key: &RequestKey, request: Bytes, response: Option<(StatusCode, Bytes)>) {
        let mut entries = self.0.lock();
        let kept = response.filter(|(_, body)| body.len() + request.len() <= MAX_BYTES);
        match (entries.by_key.get_mut(key), kept) {
            (Some(entry), Some((status, body))) => *entry = Entry::Done { request, status, body },
            (Some(_), None) => drop(entries.by_key.remove(key)),
            (None, _) => {}
        }
    }
}

impl Entries {
    fn expire(&mut self, now: Time) {
        while let Some((at, _)) = self.ages.front() {
            if self.ages.len() < MAX_ENTRIES && *at + TTL > now {
                break;
            }
            if let Some((_, key)) = self.ages.pop_front() {
                self.by_key.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> RequestKey {
        RequestKey { owner: "o".into(), call: "c".into(), key: text.into() }
    }

    #[test]
    fn the_second_gets_the_response_of_the_first() {
        let (kept, now) = (Idempotency::default(), Time::from_millis(1_000));
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        assert_eq!(kept.begin(&key("1"), &a, now), Seen::New);
        assert_eq!(kept.begin(&key("1"), &a, now), Seen::Running);
        kept.finish(&key("1"), a.clone(), Some((StatusCode::CREATED, b.clone())));
        assert_eq!(kept.begin(&key("1"), &a, now), Seen::Done(StatusCode::CREATED, b.clone()));
        assert_eq!(kept.begin(&key("1"), &b, now), Seen::Mismatch);
        assert_eq!(kept.begin(&key("1"), &b, now + TTL), Seen::New, "it has expired");
    }

    #[test]
    fn what_failed_may_be_repeated() {
        let (kept, now) = (Idempotency::default(), Time::from_millis(1_000));
        let body = Bytes::from_static(b"a");
        assert_eq!(kept.begin(&key("1"), &body, now), Seen::New);
        kept.finish(&key("1"), body.clone(), None);
        assert_eq!(kept.begin(&key("1"), &body, now), Seen::New);
    }

    #[test]
    fn memory_is_bounded() {
        let (kept, now) = (Idempotency::default(), Time::from_millis(1_000));
        for number in 0..2 * MAX_ENTRIES {
            kept.begin(&key(&number.to_string()), &Bytes::new(), now);
        }
        let entries = kept.0.lock();
        assert!(entries.by_key.len() <= MAX_ENTRIES && entries.ages.len() <= MAX_ENTRIES);
    }
}
