//! DR-01 to DR-04: the same message is one receipt, however often and wherever it comes.

use std::{sync::Arc, time::Duration};

use gancho_domain::Clock;
use gancho_inbound::{Outcome, ReceiptStatus, SourceDraft};

use crate::stage::{SECRET, Stage, arrived, core, kept, name, raw, signed};

/// DR-01: a hundred at once, on two nodes.
async fn a_hundred_at_once_are_one(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let second = stage.second_node().await;
    let request = Arc::new(stage.signed(r#"{"event_id":"e_1"}"#));
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let node = if number % 2 == 0 { &stage.node } else { &second };
            let (inbound, request) = (node.inbound.clone(), request.clone());
            tokio::spawn(async move { kept(inbound.receive(&request).await) })
        })
        .collect();
    let mut receipts = Vec::new();
    let mut firsts = 0;
    for task in tasks {
        let kept = task.await.unwrap();
        firsts += usize::from(!kept.is_repeat);
        receipts.push(kept.receipt);
    }
    receipts.dedup();
    assert_eq!((receipts.len(), firsts), (1, 1));
    assert_eq!(stage.ledger().await.len(), 1);
    assert_eq!(stage.receipts("acme").await.len(), 1);
    stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!(core.accepted(), 1);
    let counts = [&stage.node, &second].map(|node| node.inbound.tally.of_partner("acme"));
    assert_eq!(counts[0].received + counts[1].received, 1);
    assert_eq!(counts[0].repeats + counts[1].repeats, 99);
}

/// DR-02: answered as accepted, counted, and neither kept nor signed for.
async fn an_id_with_another_body(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let first = stage.kept(&stage.signed(r#"{"event_id":"e_1","n":1}"#)).await;
    let again = stage.send(&stage.signed(r#"{"event_id":"e_1","n":2}"#)).await;
    assert!(
        matches!(again, Outcome::Clash { first: known } if known == first.receipt),
        "{again:?}"
    );
    assert_eq!(stage.node.inbound.tally.of_partner("acme").clashes, 1);
    assert_eq!((stage.ledger().await.len(), stage.receipts("acme").await.len()), (1, 1));
    arrived(&core, 1).await;
    stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!(core.accepted(), 1);
}

/// DR-03: a replay within the window is a repeat, after it is refused, and a proper retry with a new
/// timestamp is a repeat for a day.
async fn replays_and_retries(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let body = r#"{"event_id":"e_1"}"#;
    let request = stage.signed(body);
    let first = stage.kept(&request).await;
    stage.clock.advance(Duration::from_secs(299));
    let again = stage.kept(&request).await;
    assert!(again.is_repeat && again.receipt == first.receipt);
    stage.clock.advance(Duration::from_secs(2));
    assert_eq!(stage.denied(&request).await.status, 403);
    let retried = stage.kept(&stage.signed(body)).await;
    assert!(retried.is_repeat && retried.receipt == first.receipt);
    stage.clock.advance(Duration::from_hours(23));
    assert!(stage.kept(&stage.signed(body)).await.is_repeat);
    stage.clock.advance(Duration::from_hours(2));
    let later = stage.kept(&stage.signed(body)).await;
    assert!(!later.is_repeat && later.receipt != first.receipt, "after a day it is a new one");
}

/// Without an id the signed text is the identity: the same body later is another message.
async fn without_an_id_what_was_signed_counts(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let request = stage.signed(r#"{"event":"ping"}"#);
    let first = stage.kept(&request).await;
    assert!(stage.kept(&request).await.is_repeat);
    stage.clock.advance(Duration::from_secs(1));
    let second = stage.kept(&stage.signed(r#"{"event":"ping"}"#)).await;
    assert!(!second.is_repeat && second.receipt != first.receipt);
    // An id that is empty, or no plain value, is none.
    for body in [r#"{"event_id":""}"#, r#"{"event_id":{"a":1}}"#, r#"{"event_id":null}"#] {
        assert!(!stage.kept(&stage.signed(body)).await.is_repeat, "{body}");
    }
}

/// DR-04
async fn two_partners_with_one_id(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    stage.source("beta", &core, SourceDraft::default()).await;
    let body = r#"{"event_id":"e_1"}"#;
    let time = stage.clock.now().secs().to_string();
    let acme = stage.kept(&signed("acme", "k1", SECRET, &time, body)).await;
    let beta = stage.kept(&signed("beta", "k1", SECRET, &time, body)).await;
    assert!(!acme.is_repeat && !beta.is_repeat && acme.receipt != beta.receipt);
    assert_eq!((stage.receipts("acme").await.len(), stage.receipts("beta").await.len()), (1, 1));
}

/// The place of the id can be said.
async fn ids_stand_where_the_source_says(stage: &Stage) {
    let core = core().await;
    let pointer = Some(Some("/meta/delivery/0".to_owned()));
    let draft = SourceDraft { event_id_pointer: pointer, ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    let body = |id: u32, n: u32| format!(r#"{{"id":"same","meta":{{"delivery":[{id}]}},"n":{n}}}"#);
    stage.kept(&stage.signed(&body(1, 1))).await;
    stage.kept(&stage.signed(&body(2, 1))).await;
    assert!(matches!(stage.send(&stage.signed(&body(2, 2))).await, Outcome::Clash { .. }));
    let ids: Vec<_> = stage.receipts("acme").await.into_iter().filter_map(|r| r.event_id).collect();
    assert_eq!(ids, ["2", "1"]);
}

/// DR-05: what was refused for its schema is not a repeat once it is corrected, or once the schema is
/// mended; until then it is the same dead letter, however often it comes.
async fn what_did_not_fit_can_come_again(stage: &Stage) {
    let core = core().await;
    let schema = r#"{"properties":{"n":{"type":"string"}}}"#;
    let draft = SourceDraft { schema: Some(Some(raw(schema))), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    let (faulty, corrected) = (r#"{"event_id":"e_1","n":1}"#, r#"{"event_id":"e_1","n":"1"}"#);
    for _ in 0..3 {
        assert_eq!(stage.denied(&stage.signed(faulty)).await.status, 422);
        stage.clock.advance(Duration::from_secs(1));
    }
    assert_eq!((stage.ledger().await.len(), stage.receipts("acme").await.len()), (1, 1));
    let first = stage.kept(&stage.signed(corrected)).await;
    assert!(!first.is_repeat);
    assert_eq!(arrived(&core, 1).await[0].body, corrected);
    assert!(stage.kept(&stage.signed(corrected)).await.is_repeat);
    // Another one that does not fit is told so, and is no clash that would look accepted.
    let denied = stage.denied(&stage.signed(r#"{"event_id":"e_1","n":2}"#)).await;
    assert_eq!(denied.status, 422);

    let faulty = r#"{"event_id":"e_2","n":1}"#;
    assert_eq!(stage.denied(&stage.signed(faulty)).await.status, 422);
    let mended = SourceDraft { schema: Some(None), ..SourceDraft::default() };
    stage.node.desk.change(&name("acme"), mended).await.unwrap();
    let second = stage.kept(&stage.signed(faulty)).await;
    assert!(!second.is_repeat);
    assert_eq!(arrived(&core, 2).await[1].body, faulty);
    let again = stage.kept(&stage.signed(faulty)).await;
    assert!(again.is_repeat && again.receipt == second.receipt);
}

/// DR-07: while keys are forgotten whose time is over, no other is, and at its last moment none passes
/// twice.
async fn pruning_opens_no_window(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let body = r#"{"event_id":"e_1"}"#;
    let first = stage.kept(&stage.signed(body)).await;
    let end = stage.clock.now() + Duration::from_hours(24);
    for (now, new) in [(end - Duration::from_millis(1), 0), (end, 1)] {
        stage.clock.set(now);
        let request = Arc::new(stage.signed(body));
        let prune = async {
            for _ in 0..50 {
                stage.node.store.prune(now, 100, now).await.unwrap();
            }
        };
        let send = async {
            let mut all = tokio::task::JoinSet::new();
            for _ in 0..50 {
                let (inbound, request) = (stage.node.inbound.clone(), request.clone());
                all.spawn(async move { kept(inbound.receive(&request).await) });
            }
            all.join_all().await
        };
        let ((), all) = tokio::join!(prune, send);
        assert_eq!(all.iter().filter(|one| !one.is_repeat).count(), new);
        assert_eq!(all.iter().any(|one| one.receipt == first.receipt), new == 0);
    }
    assert_eq!(stage.ledger().await.len(), 2);
}

on_both!(
    a_hundred_at_once_are_one,
    an_id_with_another_body,
    replays_and_retries,
    without_an_id_what_was_signed_counts,
    two_partners_with_one_id,
    ids_stand_where_the_source_says,
    what_did_not_fit_can_come_again,
    pruning_opens_no_window,
);
