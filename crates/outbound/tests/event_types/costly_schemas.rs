//! Schemas that take long to check or to compile: a tenant's delay only its own events.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use gancho_domain::{Tenant, TenantScope};
use gancho_outbound::{EventTypeError, EventTypes, NewEventType};
use gancho_store::{Collection, Precondition};
use serde_json::value::RawValue;

use crate::stage::{Stage, pointers};

/// A schema of patterns whose DFA is too large, each of `length` states.
fn costly(count: usize, length: usize) -> Box<RawValue> {
    let pattern = |n: usize| format!(r#"{{"pattern":"a[ab]{{{}}}[^ab]"}}"#, length - n);
    let patterns: Vec<String> = (0..count).map(pattern).collect();
    RawValue::from_string(format!(r#"{{"anyOf":[{}]}}"#, patterns.join(","))).unwrap()
}

/// A text that matches none of the patterns, and makes their DFAs large.
fn text(length: usize) -> Bytes {
    let mut state = 1_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    format!("\"{}\"", (0..length).map(letter).collect::<String>()).into()
}

fn named(name: &str, schema: Box<RawValue>) -> NewEventType {
    NewEventType { name: name.into(), schema: Some(schema), ..NewEventType::default() }
}

struct Publishing<'a> {
    types: &'a EventTypes,
    scope: TenantScope,
    tenant: Tenant,
}

impl<'a> Publishing<'a> {
    fn of(stage: &'a Stage, scope: TenantScope) -> Self {
        let mut tenant = stage.tenant.clone();
        tenant.id = scope.tenant();
        Self { types: &stage.outbound.event_types, scope, tenant }
    }

    async fn check(&self, event_type: &str, data: &Bytes) -> Result<(), EventTypeError> {
        self.types.check(self.scope, &self.tenant, event_type, data).await
    }
}

/// The test has one thread: if a check ran on it, nothing else would.
#[tokio::test]
async fn many_costly_checks_of_a_tenant_delay_only_its_own() {
    let stage = Stage::new().await;
    let types = &stage.outbound.event_types;
    types.put(stage.scope, named("a.costly", costly(10, 900))).await.unwrap();
    types.put(stage.operator, named("a.costly", costly(2, 300))).await.unwrap();
    let (attacker, other) =
        (Publishing::of(&stage, stage.scope), Publishing::of(&stage, stage.operator));
    // Compiles both.
    other.check("a.costly", &text(10)).await.unwrap_err();
    attacker.check("a.costly", &text(10)).await.unwrap_err();

    let (data, small, is_over) = (text(3_000), text(500), AtomicBool::new(false));
    let checks: Vec<_> = (0..16).map(|_| attacker.check("a.costly", &data)).collect();
    let attack = async {
        let started = Instant::now();
        for refused in futures_util::future::join_all(checks).await {
            refused.unwrap_err();
        }
        is_over.store(true, Ordering::Relaxed);
        started.elapsed()
    };
    let others = async {
        let mut slowest = Duration::ZERO;
        while !is_over.load(Ordering::Relaxed) {
            let started = Instant::now();
            other.check("a.costly", &small).await.unwrap_err();
            slowest = slowest.max(started.elapsed());
            // Sleeps for the pace of the other tenant's events.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        slowest
    };
    let pauses = async {
        let mut longest = Duration::ZERO;
        while !is_over.load(Ordering::Relaxed) {
            let started = Instant::now();
            // Sleeps to measure how late the thread is.
            tokio::time::sleep(Duration::from_millis(1)).await;
            longest = longest.max(started.elapsed());
        }
        longest
    };
    let (attack, slowest, longest) = tokio::join!(attack, others, pauses);
    assert!(attack > Duration::from_millis(500), "the attack is one: {attack:?}");
    assert!(slowest < attack / 4, "another tenant's check took {slowest:?} of {attack:?}");
    assert!(longest < attack / 8, "the thread was busy for {longest:?} of {attack:?}");
}

#[tokio::test]
async fn schemas_that_take_much_memory_are_refused() {
    let stage = Stage::new().await;
    let types = &stage.outbound.event_types;
    let put = async |name: &str, schema| match types.put(stage.scope, named(name, schema)).await {
        Ok(_) => Ok(()),
        Err(EventTypeError::Faulty(errors)) => Err(errors),
        Err(other) => panic!("{other:?}"),
    };
    let errors = put("a.large", costly(100, 900)).await.unwrap_err();
    assert_eq!(pointers(&errors), [("schema_too_costly", "/schema")]);
    let mut accepted = 0;
    let errors = loop {
        match put(&format!("a.n{accepted}"), costly(5, 900)).await {
            Ok(()) => accepted += 1,
            Err(errors) => break errors,
        }
    };
    assert_eq!(pointers(&errors), [("schema_too_costly", "/schema")]);
    assert!(errors[0].message.contains("32 MiB"), "{errors:?}");
    assert!((5..40).contains(&accepted), "{accepted}");
    put("a.n0", costly(4, 900)).await.expect("one may be replaced");
    let small = RawValue::from_string(r#"{"pattern":"^[a-z]+$"}"#.to_owned()).unwrap();
    put("a.small", small).await.expect("small ones are always accepted");
    types.put(stage.operator, named("a.large", costly(5, 900))).await.expect("another tenant's");
}

/// What was stored before there was a limit can still be published.
#[tokio::test]
async fn stored_schemas_beyond_the_limit_still_work() {
    let stage = Stage::new().await;
    let schema = costly(30, 900);
    let body = format!(r#"{{"description":"","example":null,"schema":{schema}}}"#);
    let place = Collection::of(stage.scope, gancho_store::VERSIONED_KIND);
    for number in 0..20 {
        let (name, body) = (format!("a.n{number}"), Bytes::from(body.clone()));
        stage.store.put_document(place, &name, body, Precondition::Anything).await.unwrap();
    }
    let publishing = Publishing::of(&stage, stage.scope);
    let started = Instant::now();
    assert!(publishing.check("a.other", &text(10)).await.is_ok());
    assert!(started.elapsed() < Duration::from_millis(100), "reading them compiles none");
    assert!(matches!(publishing.check("a.n0", &text(10)).await, Err(EventTypeError::Faulty(_))));
    assert!(publishing.check("a.n1", &Bytes::from_static(b"7")).await.is_ok());
}
