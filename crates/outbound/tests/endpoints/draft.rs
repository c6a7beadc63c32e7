//! Drafts of endpoints: what is accepted, what is refused, and that all errors are reported at once.

use std::time::Duration;

use gancho_domain::{FieldError, Ordering, Rate, RateDraft, RetryDraft, RetryPlan, Time};
use gancho_outbound::{EndpointDraft, EndpointError, Plan, Plans};
use serde_json::value::RawValue;

use crate::stage::{Setup, Stage, draft, ok, pointers};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

async fn refused(stage: &Stage, draft: EndpointDraft) -> Vec<FieldError> {
    match stage.desk.create(stage.scope, &stage.tenant, draft).await {
        Err(EndpointError::Faulty(errors)) => errors,
        Err(other) => panic!("{other}"),
        Ok(created) => panic!("{:?} was taken", created.endpoint),
    }
}

#[tokio::test]
async fn just_a_url_and_events() {
    let stage = Stage::new().await;
    let created = stage
        .create(EndpointDraft {
            url: Some("https://hooks.example.com/in".into()),
            events: Some(vec!["invoice.*".into(), "user.created".into(), "invoice.*".into()]),
            ..EndpointDraft::default()
        })
        .await;
    let endpoint = created.endpoint;
    assert!(created.secret.starts_with("whsec_"));
    assert_eq!(created.secret_format.as_str(), "base64");
    assert_eq!(endpoint, stage.read(endpoint.id).await);
    let events: Vec<String> = endpoint.events.iter().map(ToString::to_string).collect();
    assert_eq!(events, ["invoice.*", "user.created"], "said twice is said once");
    assert_eq!((endpoint.profile.as_str(), endpoint.metadata.as_str()), ("standard", "{}"));
    assert!(endpoint.is_active && endpoint.sealed_headers.is_none());
    assert_eq!((endpoint.plan, endpoint.timeout, endpoint.rate), (None, None, None));
    assert_eq!(endpoint.ordering, Ordering::BestEffort);
    let sealed = String::from_utf8_lossy(&endpoint.sealed_secret).into_owned();
    assert!(!sealed.contains(&**created.secret), "it is sealed");
}

#[tokio::test]
async fn everything_at_once() {
    let stage = Stage::new().await;
    let metadata = "{ \"a\" : 1e400, \"a\":2 }";
    let full = EndpointDraft {
        url: Some("https://EXAMPLE.com:443/a?b=c".into()),
        events: Some(vec!["*".into()]),
        name: Some("Orders".into()),
        secret: Some("an own secret of length".into()),
        is_active: Some(false),
        profile: Some("saas".into()),
        retry: Some(Some(RetryDraft::Exponential {
            base: "500ms".into(),
            max: "1d".into(),
            attempts: 7,
        })),
        timeout: Some(Some("60s".into())),
        rate_limit: Some(Some(RateDraft { count: 10, per: "1m".into() })),
        max_in_flight: Some(Some(3)),
        ordering: Some("per_subject".into()),
        metadata: Some(raw(metadata)),
        ..EndpointDraft::default()
    };
    let created = stage.create(full).await;
    assert_eq!(created.secret_format.as_str(), "raw");
    let endpoint = stage.read(created.endpoint.id).await;
    assert_eq!(endpoint.url, "https://example.com/a?b=c", "in its canonical form");
    assert_eq!(endpoint.metadata, metadata, "as it was given");
    let plan = RetryPlan::Exponential {
        base: Duration::from_millis(500),
        max: Duration::from_hours(24),
        attempts: 7,
    };
    assert_eq!(endpoint.plan, Some(plan));
    assert_eq!(endpoint.timeout, Some(Duration::from_secs(60)));
    assert_eq!(endpoint.rate, Some(Rate { count: 10, per: Duration::from_secs(60) }));
    assert_eq!((endpoint.max_in_flight, endpoint.ordering), (Some(3), Ordering::PerSubject));
    assert!(!endpoint.is_active);
}

#[tokio::test]
async fn all_faults_come_at_once() {
    let stage = Stage::new().await;
    let delays = vec!["1s".into(), "soon".into(), "8d".into(), "0s".into()];
    let errors = refused(
        &stage,
        EndpointDraft {
            url: Some("http://169.254.169.254/latest".into()),
            events: Some(vec!["invoice.*".into(), "a..b".into(), "*.x".into()]),
            name: Some("x".repeat(129)),
            secret: Some("short".into()),
            profile: Some("standard".into()),
            retry: Some(Some(RetryDraft::Schedule(delays))),
            timeout: Some(Some("61s".into())),
            rate_limit: Some(Some(RateDraft { count: 0, per: "1ms".into() })),
            max_in_flight: Some(Some(0)),
            ordering: Some("strict".into()),
            metadata: Some(raw("[1]")),
            headers: Some([("host".to_owned(), "x".to_owned())].into()),
            ..EndpointDraft::default()
        },
    )
    .await;
    assert_eq!(
        pointers(&errors),
        [
            ("url_refused", "/url"),
            ("malformed", "/events/1"),
            ("malformed", "/events/2"),
            ("too_long", "/name"),
            ("malformed", "/retry/schedule/1"),
            ("out_of_range", "/retry/schedule/2"),
            ("out_of_range", "/retry/schedule/3"),
            ("out_of_range", "/timeout"),
            ("out_of_range", "/rate_limit/count"),
            ("out_of_range", "/rate_limit/per"),
            ("out_of_range", "/max_in_flight"),
            ("malformed", "/ordering"),
            ("malformed", "/metadata"),
            ("header_reserved", "/headers/host"),
            ("secret_unfit", "/secret"),
        ]
    );
    assert!(errors.iter().all(|error| error.message.len() > 10), "{errors:?}");
    assert_eq!(stage.store.endpoints(stage.scope).await.unwrap(), [], "nothing was written");
}

#[tokio::test]
async fn what_is_missing_or_too_much() {
    let stage = Stage::new().await;
    let errors = refused(&stage, EndpointDraft::default()).await;
    assert_eq!(pointers(&errors), [("missing_field", "/url"), ("missing_field", "/events")]);
    let good = || EndpointDraft {
        url: Some("https://example.com/".into()),
        events: Some(vec!["*".into()]),
        ..EndpointDraft::default()
    };
    let long_metadata = format!("{{\"a\":\"{}\"}}", "x".repeat(16 * 1024));
    for (draft, expected) in [
        (EndpointDraft { events: Some(vec![]), ..good() }, ("missing_field", "/events")),
        (
            EndpointDraft { events: Some(vec!["a.b".into(); 101]), ..good() },
            ("too_many", "/events"),
        ),
        (EndpointDraft { name: Some("a\nb".into()), ..good() }, ("malformed", "/name")),
        (EndpointDraft { profile: Some("gold".into()), ..good() }, ("profile_unknown", "/profile")),
        (
            EndpointDraft { metadata: Some(raw(&long_metadata)), ..good() },
            ("too_long", "/metadata"),
        ),
        (
            EndpointDraft { timeout: Some(Some("900ms".into())), ..good() },
            ("out_of_range", "/timeout"),
        ),
        (
            EndpointDraft { max_in_flight: Some(Some(513)), ..good() },
            ("out_of_range", "/max_in_flight"),
        ),
        (
            EndpointDraft {
                retry: Some(Some(RetryDraft::Schedule(vec!["1s".into(); 31]))),
                ..good()
            },
            ("too_many", "/retry/schedule"),
        ),
    ] {
        assert_eq!(pointers(&refused(&stage, draft).await), [expected]);
    }
    let backwards = RetryDraft::Exponential { base: "2s".into(), max: "1s".into(), attempts: 32 };
    let errors = refused(&stage, EndpointDraft { retry: Some(Some(backwards)), ..good() }).await;
    assert_eq!(
        pointers(&errors),
        [("out_of_range", "/retry/attempts"), ("out_of_range", "/retry/max")]
    );
}

#[tokio::test]
async fn a_change_changes_what_is_given_and_a_replacement_the_rest_too() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let created = stage
        .create(EndpointDraft {
            name: Some("Orders".into()),
            timeout: Some(Some("5s".into())),
            metadata: Some(raw("{\"a\":1}")),
            ..draft(&receiver, &["*"])
        })
        .await;
    let id = created.endpoint.id;
    stage.clock.advance(Duration::from_secs(5));
    let patch = EndpointDraft { name: Some("New".into()), ..EndpointDraft::default() };
    let patched = stage.desk.change(stage.scope, id, patch, false).await.unwrap();
    assert_eq!((patched.name.as_str(), patched.timeout), ("New", Some(Duration::from_secs(5))));
    assert_eq!(patched.version, created.endpoint.version + 1);
    assert_eq!(patched.updated_at, created.endpoint.updated_at + Duration::from_secs(5));
    assert_eq!(patched, stage.read(id).await);

    let unset = EndpointDraft { timeout: Some(None), ..EndpointDraft::default() };
    assert_eq!(stage.desk.change(stage.scope, id, unset, false).await.unwrap().timeout, None);

    let put = EndpointDraft {
        url: Some("https://example.com/new".into()),
        events: Some(vec!["a.b".into()]),
        ..EndpointDraft::default()
    };
    let put = stage.desk.change(stage.scope, id, put, true).await.unwrap();
    assert_eq!((put.name.as_str(), put.metadata.as_str(), put.plan), ("", "{}", None));
    assert_eq!(put.sealed_secret, created.endpoint.sealed_secret, "the secret stays");
    let missing = stage.desk.change(stage.scope, id, EndpointDraft::default(), true).await;
    assert!(matches!(missing, Err(EndpointError::Faulty(errors)) if errors.len() == 2));
}

#[tokio::test]
async fn another_tenants_endpoint_is_not_there() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let other = stage.operator;
    let patch = EndpointDraft { name: Some("mine".into()), ..EndpointDraft::default() };
    assert!(matches!(
        stage.desk.change(other, id, patch, false).await,
        Err(EndpointError::NotFound)
    ));
    assert!(matches!(stage.desk.rotate(other, id, None, None).await, Err(EndpointError::NotFound)));
    assert!(matches!(stage.desk.reveal(other, id).await, Err(EndpointError::NotFound)));
    assert!(matches!(stage.desk.delete(other, id).await, Err(EndpointError::NotFound)));
    stage.desk.delete(stage.scope, id).await.unwrap();
    assert!(matches!(stage.desk.delete(stage.scope, id).await, Err(EndpointError::NotFound)));
}

/// Twenty concurrent changes: none undoes another.
#[tokio::test]
async fn changes_at_the_same_time_all_count() {
    let stage = std::sync::Arc::new(Stage::new().await);
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let mut work = tokio::task::JoinSet::new();
    for number in 0..20_u32 {
        let stage = stage.clone();
        work.spawn(async move {
            let patch = match number % 2 {
                0 => EndpointDraft { name: Some(format!("n{number}")), ..EndpointDraft::default() },
                _ => {
                    EndpointDraft { max_in_flight: Some(Some(number)), ..EndpointDraft::default() }
                }
            };
            loop {
                match stage.desk.change(stage.scope, id, patch.clone(), false).await {
                    Ok(_) => return,
                    Err(EndpointError::Busy) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        });
    }
    while let Some(done) = work.join_next().await {
        done.unwrap();
    }
    let endpoint = stage.read(id).await;
    assert_eq!(endpoint.version, 21);
    assert!(endpoint.name.starts_with('n') && endpoint.max_in_flight.is_some());
}

#[tokio::test]
async fn a_plan_bounds_the_number_of_endpoints() {
    let plans = Plans::built_in().with("two", Plan { endpoints: Some(2), events: None });
    let mut stage = Stage::with(Setup { plans, ..Setup::default() }).await;
    stage.tenant.plan = "two".into();
    let receiver = ok().await;
    let first = stage.endpoint(&receiver, &["*"]).await;
    stage.endpoint(&receiver, &["*"]).await;
    let third = stage.desk.create(stage.scope, &stage.tenant, draft(&receiver, &["*"])).await;
    let Err(EndpointError::PlanLimit(limit)) = third.map(|_| ()) else { panic!("it was taken") };
    assert_eq!((limit.what, limit.limit, limit.used), ("endpoints", 2, 2));
    assert_eq!(limit.resets_at, None::<Time>);
    stage.desk.delete(stage.scope, first).await.unwrap();
    stage.endpoint(&receiver, &["*"]).await;
    stage.tenant.plan = "free".into();
    let none = stage.desk.create(stage.scope, &stage.tenant, draft(&receiver, &["*"])).await;
    assert!(matches!(none.map(|_| ()), Err(EndpointError::PlanLimit(limit)) if limit.limit == 0));
}

/// Every node has them in memory.
#[tokio::test]
async fn what_the_endpoints_of_a_tenant_may_take_is_bounded() {
    let stage = Stage::new().await;
    let large = || EndpointDraft {
        metadata: Some(raw(&format!("{{\"a\":\"{}\"}}", "x".repeat(15_000)))),
        headers: Some((0..16).map(|one| (format!("x-{one}"), "y".repeat(3_900))).collect()),
        url: Some("https://hooks.example.com/in".into()),
        events: Some(vec!["*".into()]),
        ..EndpointDraft::default()
    };
    let mut created = 0;
    let refused = loop {
        match stage.desk.create(stage.scope, &stage.tenant, large()).await {
            Ok(_) => created += 1,
            Err(error) => break error,
        }
        assert!(created < 1_000);
    };
    assert!(created > 300, "{created}");
    assert!(matches!(refused, EndpointError::TooLarge), "{refused}");
    assert!(refused.to_string().contains("64 MiB"), "{refused}");
    let some = stage.desk.store.endpoints(stage.scope).await.unwrap();
    assert_eq!(some.len(), created, "nothing of it is stored");
    let smaller = EndpointDraft { headers: Some([].into()), ..EndpointDraft::default() };
    for one in &some[..2] {
        stage.desk.change(stage.scope, one.id, smaller.clone(), false).await.unwrap();
    }
    stage.desk.registry.of(stage.scope.tenant()).await.unwrap();
    stage.desk.create(stage.scope, &stage.tenant, large()).await.unwrap();
}
