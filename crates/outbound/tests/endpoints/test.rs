//! Testing an endpoint.

use std::time::Duration;

use gancho_domain::{EndpointId, Lane, Status};
use gancho_outbound::{EndpointDraft, EndpointTest, EndpointTestError, test_endpoint};
use gancho_store::{DeadFilter, DeliveryFilter, Pause};
use gancho_testkit::{
    http_request::arrived,
    receiver::{Receiver, Step},
};

use crate::stage::{Stage, draft, failing, ok};

async fn trying(
    stage: &Stage,
    id: EndpointId,
    event_type: Option<&str>,
) -> Result<EndpointTest, EndpointTestError> {
    let event_type = event_type.map(str::to_owned);
    test_endpoint(&stage.publisher, stage.scope, &stage.tenant, id, event_type).await
}

#[tokio::test]
async fn a_sample_goes_to_it_alone_and_says_how_it_went() {
    let stage = Stage::new().await;
    let receiver = Receiver::plain(|_| {
        let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\nx-a: b\r\nconnection: close\r\n\r\nhello";
        vec![Step::ReadRequest, Step::send(answer)]
    })
    .await
    .unwrap();
    let other = ok().await;
    stage.endpoint(&other, &["*"]).await;
    let id = stage.endpoint(&receiver, &["user.created"]).await;
    let tried = trying(&stage, id, None).await.unwrap();
    assert_eq!((tried.status, tried.event_type.as_str()), (Status::Delivered, "user.created"));
    let attempt = tried.attempt.unwrap();
    assert_eq!((attempt.response_status, &attempt.response_body[..]), (Some(202), &b"hello"[..]));
    let seen = &arrived(&receiver, 1).await[0];
    assert_eq!(seen.json()["data"]["email"], "ana@example.com", "the catalog's example");
    seen.one("webhook-signature");
    assert_eq!(other.accepted(), 0);
    let rows = stage.deliveries(DeliveryFilter::default()).await;
    assert_eq!(rows.len(), 1);
    assert!(rows[0].is_test, "marked in the log");
    assert_eq!(rows[0].id, tried.delivery);
}

#[tokio::test]
async fn which_type_is_sent() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    for (events, profile, asked, expected) in [
        (["*"].as_slice(), "standard", None, "invoice.paid"),
        (&["*"], "email-gateway", None, "email.sent"),
        (&["*"], "auracore", None, "agent.request.completed"),
        (&["voice.*"], "standard", None, "voice.synthesis.completed"),
        (&["own.*"], "standard", None, "own.test"),
        (&["a.b"], "standard", Some("c.d"), "c.d"),
        (&["webhook.*"], "standard", None, "webhook.delivery.exhausted"),
    ] {
        let made = EndpointDraft { profile: Some(profile.into()), ..draft(&receiver, events) };
        let id = stage.create(made).await.endpoint.id;
        let tried = trying(&stage, id, asked).await.unwrap();
        assert_eq!((tried.event_type.as_str(), tried.status), (expected, Status::Delivered));
    }
    let seen = arrived(&receiver, 7).await;
    assert!(
        seen.iter().any(|seen| seen.body.contains("\"test\":true")),
        "for types without an example"
    );
}

#[tokio::test]
async fn a_failure_is_an_answer_too() {
    let stage = Stage::new().await;
    let receiver = failing().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let tried = trying(&stage, id, None).await.unwrap();
    // faults.md B9: it is not retried, whatever the endpoint's plan, and leaves no dead letter.
    assert_eq!(tried.status, Status::Failed);
    let attempt = tried.attempt.unwrap();
    assert_eq!(attempt.response_status, Some(503));
    assert_eq!(attempt.failure.unwrap().code().as_str(), "HTTP_503");
    assert_eq!(
        stage.view(tried.delivery).await.row.last_failure.unwrap().code().as_str(),
        "HTTP_503"
    );
    assert_eq!(stage.store.dead_stats(DeadFilter::default()).await.unwrap().total, 0);
    let depths = stage.store.depths().await.unwrap();
    assert!(depths.iter().all(|depth| depth.pending + depth.leased == 0), "{depths:?}");
}

/// Someone who repairs an endpoint wants to know now, not when its circuit breaker closes.
#[tokio::test]
async fn an_open_circuit_breaker_does_not_hold_up_a_test() {
    let stage = Stage::new().await;
    let receiver = failing().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    for number in 1..=14 {
        let tried = trying(&stage, id, None).await.unwrap();
        assert!(tried.attempt.is_some(), "test {number}");
    }
    assert_eq!(receiver.accepted(), 14);
}

#[tokio::test]
async fn what_cannot_be_tried() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let unknown = trying(&stage, EndpointId::from_bits(7), None).await;
    assert!(matches!(unknown, Err(EndpointTestError::NotFound)));
    let malformed = trying(&stage, id, Some("a..b")).await;
    assert!(
        matches!(malformed, Err(EndpointTestError::Faulty(errors)) if errors[0].pointer == "/event_type")
    );
    // faults.md C6: a test would wait with the other deliveries, so it is refused at once.
    let tenant = stage.scope.tenant();
    for pause in [Pause::Endpoint(tenant, id), Pause::Tenant(tenant), Pause::Lane(Lane::Webhook)] {
        stage.publisher.engine.pause(pause).await.unwrap();
        let refused = trying(&stage, id, None).await;
        assert!(
            matches!(refused, Err(EndpointTestError::Paused(what)) if what == pause),
            "{refused:?}"
        );
        stage.publisher.engine.resume(pause).await.unwrap();
    }
    assert_eq!(stage.deliveries(DeliveryFilter::default()).await, []);
    let off = EndpointDraft { is_active: Some(false), ..EndpointDraft::default() };
    stage.desk.change(stage.scope, id, off, false).await.unwrap();
    assert!(matches!(trying(&stage, id, None).await, Err(EndpointTestError::EndpointOff)));
    assert_eq!(receiver.accepted(), 0);
}

/// The answer comes even if the endpoint's response does not: slightly after its timeout.
#[tokio::test]
async fn an_endpoint_that_hangs_is_not_waited_for_for_ever() {
    let stage = Stage::new().await;
    let silent = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let made = EndpointDraft { timeout: Some(Some("1s".into())), ..draft(&silent, &["*"]) };
    let id = stage.create(made).await.endpoint.id;
    let started = std::time::Instant::now();
    let tried = trying(&stage, id, None).await.unwrap();
    assert_eq!(tried.attempt.unwrap().failure.unwrap().code().as_str(), "TIMEOUT");
    assert!(started.elapsed() < Duration::from_secs(4));
}
