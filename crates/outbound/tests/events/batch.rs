//! Batches: each event has its own result, in order, and large batches take turns with other tenants.

use std::time::Duration;

use gancho_domain::{Clock, Rate, Tenant, TenantScope};
use gancho_outbound::{NewEvent, Plan, Plans, PublishError};
use gancho_testkit::http_request::arrived;

use crate::stage::{Setup, Stage, draft, event, ok};

#[tokio::test]
async fn each_has_its_own_answer() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    stage.create(draft(&receiver, &["good.*"])).await;
    let keyed = |content: u8| NewEvent {
        idempotency_key: Some("1".into()),
        external_id: Some(content.to_string().into()),
        ..event("good.keyed", "3")
    };
    let events = vec![
        event("good.one", "1"),
        event("webhook.bad", "{}"),
        event("unwanted.two", "2"),
        keyed(1),
        keyed(1),
        keyed(2),
        event("good.last", "4"),
    ];
    let answers = stage.publisher.publish_all(stage.scope, &stage.tenant, events).await;
    let deliveries: Vec<_> =
        answers.iter().map(|answer| answer.as_ref().ok().map(|ok| ok.deliveries)).collect();
    assert_eq!(deliveries, [Some(1), None, Some(0), Some(1), Some(1), None, Some(1)]);
    assert!(matches!(&answers[1], Err(PublishError::Faulty(_))));
    assert!(answers[4].as_ref().is_ok_and(|again| again.is_repeat));
    assert!(
        matches!(&answers[5], Err(PublishError::KeyClash { first }) if *first == answers[3].as_ref().unwrap().id)
    );
    let mut data: Vec<i64> = arrived(&receiver, 3)
        .await
        .iter()
        .map(|seen| seen.json()["data"].as_i64().unwrap())
        .collect();
    data.sort_unstable();
    assert_eq!(data, [1, 3, 4]);
    assert_eq!(stage.publisher.publish_all(stage.scope, &stage.tenant, vec![]).await, []);
}

/// A batch that is stored as a whole would delay all other tenants for as long as it takes.
#[tokio::test]
async fn others_have_their_turn_while_a_large_batch_is_stored() {
    let stage = Stage::new().await;
    let other = Tenant::new(stage.ids.make(), "other", stage.clock.now());
    stage.store.create_tenant(other.clone()).await.unwrap();
    let scope = TenantScope::internal(other.id);

    let large = vec![event("a.b", "{}"); 8_000];
    let large = stage.publisher.publish_all(stage.scope, &stage.tenant, large);
    let mut between = 0;
    let singles = async {
        loop {
            stage.publisher.publish(scope, &other, event("a.b", "{}")).await.unwrap();
            between += 1;
        }
    };
    let answers = tokio::select! {
        answers = large => answers,
        () = singles => unreachable!("it goes on for ever"),
    };
    assert!(answers.len() == 8_000 && answers.iter().all(Result::is_ok));
    assert!(between >= 8, "{between} were stored between the parts of the batch");
}

#[tokio::test]
async fn a_plan_takes_as_many_as_fit() {
    let plans = Plans::built_in().with("few", Plan { endpoints: None, events: Some(3) });
    let mut stage = Stage::with(Setup { plans, ..Setup::default() }).await;
    stage.tenant.plan = "few".into();
    let mut events = vec![event("a.b", "{}"); 5];
    events.insert(1, event("webhook.bad", "{}"));
    let answers = stage.publisher.publish_all(stage.scope, &stage.tenant, events).await;
    let taken: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, false, true, true, false, false]);
    assert!(matches!(&answers[5], Err(PublishError::PlanLimit(limit)) if limit.used == 3));
    assert_eq!(stage.store.used(stage.scope, "2026-11").await, Ok(3));
    let answers =
        stage.publisher.publish_all(stage.scope, &stage.tenant, vec![event("a.b", "{}"); 2]).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(PublishError::PlanLimit(_)))));
}

#[tokio::test]
async fn a_rate_takes_as_many_as_fit() {
    let rate = Rate { count: 2, per: Duration::from_secs(1) };
    let stage = Stage::with(Setup { rate: Some(rate), ..Setup::default() }).await;
    let events = vec![event("a.b", "{}"); 4];
    let answers = stage.publisher.publish_all(stage.scope, &stage.tenant, events).await;
    let taken: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, true, false, false]);
    assert!(matches!(answers[2], Err(PublishError::TooFast { remaining: 0, .. })));
}

#[tokio::test]
async fn a_thousand_are_delivered() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    stage.create(draft(&receiver, &["*"])).await;
    let events = vec![event("a.b", "{\"n\":1}"); 1_000];
    let answers = stage.publisher.publish_all(stage.scope, &stage.tenant, events).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.as_ref().is_ok_and(|published| published.deliveries == 1))
    );
    let seen = arrived(&receiver, 1_000).await;
    let mut ids: Vec<&str> = seen.iter().map(|seen| seen.one("webhook-id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 1_000, "each of its own");
}
