//! What receivers get: the unchanged bytes, the headers of the profile, the trace, and the order of attempts
//! that follows from an endpoint's plan and ordering.

use std::time::Duration;

use gancho_domain::{Clock, Ordering, RetryDraft, Status};
use gancho_outbound::{EndpointDraft, NewEvent};
use gancho_store::DeliveryFilter;
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::{Receiver, Step},
    wait_for,
};

use crate::stage::{Stage, draft, event, ok};

#[tokio::test]
async fn data_arrives_byte_for_byte() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    stage.create(EndpointDraft { profile: Some("saas".into()), ..draft(&receiver, &["*"]) }).await;
    let data = "{ \"a\" : 1.00 ,\"a\":2e400, \"\\u0000\":\"\\ud83d\\ude00\", \"z\":[ ]\n}";
    stage.publish(event("a.b", data)).await;
    assert_eq!(arrived(&receiver, 1).await[0].body, data);
}

#[tokio::test]
async fn only_those_who_want_it_get_it() {
    let stage = Stage::new().await;
    let receivers = [ok().await, ok().await, ok().await, ok().await];
    let [all, below, one, off] = &receivers;
    stage.endpoint(all, &["*"]).await;
    stage.endpoint(below, &["invoice.*"]).await;
    stage.endpoint(one, &["invoice.paid", "user.created"]).await;
    stage.create(EndpointDraft { is_active: Some(false), ..draft(off, &["*"]) }).await;
    for (event_type, expected) in [("invoice.paid", 3), ("invoice.failed", 2), ("invoices.paid", 1)]
    {
        assert_eq!(
            stage.publish(event(event_type, "{}")).await.deliveries,
            expected,
            "{event_type}"
        );
    }
    arrived(all, 3).await;
    arrived(below, 2).await;
    arrived(one, 1).await;
    assert_eq!(off.accepted(), 0);
}

#[tokio::test]
async fn attempts_share_a_trace() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number == 0 { "500 No" } else { "200 OK" }).await;
    stage.endpoint(&receiver, &["*"]).await;
    let view = stage.publish_and_end(event("a.b", "{}")).await;
    assert_eq!(view.attempts.len(), 2);
    let seen = arrived(&receiver, 2).await;
    let parents =
        [0, 1].map(|number| seen[number].one("traceparent").split('-').collect::<Vec<_>>());
    let trace = format!("{:032x}", view.row.event.bits());
    for parts in &parents {
        assert_eq!(
            (parts[0], parts[1], parts[2].len(), parts[3]),
            ("00", trace.as_str(), 16, "01")
        );
    }
    assert_ne!(parents[0][2], parents[1][2], "each attempt is a span of its own");
    assert_eq!(seen[0].one("webhook-id"), seen[1].one("webhook-id"));
}

#[tokio::test]
async fn retry_after_is_kept_to_and_shown() {
    let stage = Stage::new().await;
    let receiver = Receiver::plain(|number| {
        let answer = match number {
            0 => "HTTP/1.1 429 Slow\r\nretry-after: 120\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        };
        vec![Step::ReadRequest, Step::send(answer)]
    })
    .await
    .unwrap();
    stage.endpoint(&receiver, &["a.b"]).await;
    let beside = ok().await;
    stage.endpoint(&beside, &["c.d"]).await;
    let start = stage.clock.now();
    let id = stage.publish(event("a.b", "{}")).await.id;
    let row = wait_for("a first attempt", || async {
        let rows =
            stage.deliveries(DeliveryFilter { event: Some(id), ..DeliveryFilter::default() }).await;
        rows.into_iter().find(|row| row.attempts == 1)
    })
    .await;
    assert_eq!(row.next_retry_at, Some(start + Duration::from_secs(120)));
    assert_eq!((row.status(), row.response_status), (Status::Retrying, Some(429)));
    // A delivery that is claimed a second early shows that the store was asked in time. (faults.md E5)
    let deliver_at = Some(start + Duration::from_secs(119));
    stage.publish(NewEvent { deliver_at, ..event("c.d", "{}") }).await;
    stage.clock.advance(Duration::from_secs(119));
    arrived(&beside, 1).await;
    assert_eq!(receiver.accepted(), 1, "it is not asked before it wants to be");
    let view = stage.until_ended(row.id).await;
    assert_eq!(view.row.status(), Status::Delivered);
    assert!(view.attempts[1].started_at >= start + Duration::from_secs(120));
}

#[tokio::test]
async fn an_endpoints_own_plan_and_time_limit_count() {
    let stage = Stage::new().await;
    let silent = Receiver::plain(|_| vec![Step::ReadRequest, Step::Hang]).await.unwrap();
    let own = EndpointDraft {
        retry: Some(Some(RetryDraft::Schedule(vec![]))),
        timeout: Some(Some("1s".into())),
        ..draft(&silent, &["*"])
    };
    stage.create(own).await;
    let view = stage.publish_and_end(event("a.b", "{}")).await;
    assert_eq!(view.attempts.len(), 1, "a plan without delays has one attempt");
    assert_eq!(view.row.status(), Status::Failed);
    let latency = view.attempts[0].latency;
    assert!((Duration::from_millis(900)..Duration::from_secs(5)).contains(&latency), "{latency:?}");
}

#[tokio::test]
async fn in_order_by_subject_through_a_failure() {
    let stage = Stage::new().await;
    let receiver = answering(|number| if number == 0 { "500 No" } else { "200 OK" }).await;
    let strict = EndpointDraft { ordering: Some("per_subject".into()), ..draft(&receiver, &["*"]) };
    let created = stage.create(strict).await;
    assert_eq!(created.endpoint.ordering, Ordering::PerSubject);
    let mut last = None;
    for data in ["1", "2", "3"] {
        let mut new = event("a.b", data);
        new.subject = Some("order-7".into());
        last = Some(stage.publish(new).await.id);
    }
    let view = stage.store.event(stage.scope, last.unwrap()).await.unwrap().unwrap();
    stage.until_ended(view.deliveries[0].id).await;
    let seen = arrived(&receiver, 4).await;
    let order: Vec<i64> = seen.iter().map(|seen| seen.json()["data"].as_i64().unwrap()).collect();
    assert_eq!(order, [1, 1, 2, 3]);
}

/// A change applies to the next attempt, also of deliveries that wait.
#[tokio::test]
async fn a_changed_url_is_used_at_once() {
    let stage = Stage::new().await;
    let (old, new) = (answering(|_| "500 No").await, ok().await);
    let id = stage.endpoint(&old, &["*"]).await;
    let event = stage.publish(event("a.b", "{}")).await;
    arrived(&old, 1).await;
    let url = Some(format!("http://127.0.0.1:{}/new", new.port()));
    let patch = EndpointDraft { url, ..EndpointDraft::default() };
    stage.desk.change(stage.scope, id, patch, false).await.unwrap();
    let view = stage.store.event(stage.scope, event.id).await.unwrap().unwrap();
    let view = stage.until_ended(view.deliveries[0].id).await;
    assert_eq!(view.row.status(), Status::Delivered);
    assert_eq!((old.accepted(), new.accepted()), (1, 1));
}

#[tokio::test]
async fn what_waits_for_a_deleted_endpoint_ends() {
    let stage = Stage::new().await;
    let receiver = answering(|_| "500 No").await;
    let id = stage.endpoint(&receiver, &["*"]).await;
    let published = stage.publish(event("a.b", "{}")).await;
    arrived(&receiver, 1).await;
    stage.desk.delete(stage.scope, id).await.unwrap();
    let view = stage.store.event(stage.scope, published.id).await.unwrap().unwrap();
    let view = stage.until_ended(view.deliveries[0].id).await;
    assert_eq!(view.row.last_failure.unwrap().code().as_str(), "TARGET_GONE");
    assert_eq!(receiver.accepted(), 1, "it is not asked again");
}
