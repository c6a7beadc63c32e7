//! The same message is one receipt, however often and to whichever node it is sent.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use gancho_domain::{Clock, Time};
use gancho_inbound::{Acceptance, ReceiptStatus, SourceDraft};
use gancho_store::DeadFilter;
use gancho_testkit::{http_request::arrived, wait_for};

use crate::stage::{SECRET, Stage, core, kept, name, raw, signed};

/// A hundred concurrent requests, on two nodes.
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
    let counts = [&stage.node, &second].map(|node| node.inbound.counters.of_partner("acme"));
    assert_eq!(counts[0].received + counts[1].received, 1);
    assert_eq!(counts[0].repeats + counts[1].repeats, 99);
}

/// faults.md 11: it is stored, signed for and shown with its code; it is sent if the operator replays it.
async fn an_id_with_another_body(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let (created, paid) =
        (r#"{"event_id":"o_1","is":"created"}"#, r#"{"event_id":"o_1","is":"paid"}"#);
    let first = stage.kept(&stage.signed(created)).await;
    let second = stage.kept(&stage.signed(paid)).await;
    assert_eq!((second.clashes_with, second.is_repeat), (Some(first.receipt), false));
    assert!(second.receipt != first.receipt);
    assert!(second.policy_sign.contains(&format!("receipt={}", second.receipt)));
    // Each is recognized as a duplicate, whichever is sent.
    for (body, known) in [(paid, &second), (created, &first), (paid, &second)] {
        stage.clock.advance(Duration::from_secs(1));
        let again = stage.kept(&stage.signed(body)).await;
        assert!(again.is_repeat && again.receipt == known.receipt);
        assert_eq!(again.clashes_with, known.clashes_with);
    }
    let counts = stage.node.inbound.counters.of_partner("acme");
    assert_eq!((counts.received, counts.clashes, counts.repeats), (2, 1, 3));
    assert_eq!((stage.ledger().await.len(), stage.receipts("acme").await.len()), (2, 2));

    let dead = stage.receipts_of("acme", Some(ReceiptStatus::Dlq)).await;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].id, dead[0].attempts), (second.receipt, 0));
    let why = dead[0].last_error.as_deref().unwrap();
    assert!(why.starts_with("ID_CLASH: ") && why.contains(&first.receipt.to_string()), "{why}");
    assert_eq!(arrived(&core, 1).await[0].body, created);

    let filter = DeadFilter { code: Some("ID_CLASH".into()), ..DeadFilter::default() };
    assert_eq!(
        stage
            .node
            .store
            .replay_dead(filter, 10, None, stage.clock.now())
            .await
            .unwrap()
            .retried
            .len() as u64,
        1
    );
    let seen = arrived(&core, 2).await;
    assert_eq!((seen.len(), seen[1].body.as_str()), (2, paid));
    assert_eq!(seen[1].one("webhook-id"), second.receipt.to_string());
    wait_for("the end", || async {
        let all = stage.receipts_of("acme", Some(ReceiptStatus::Dispatched)).await;
        (all.len() == 2).then_some(())
    })
    .await;
    let left = stage.node.store.dead_stats(DeadFilter::default()).await.unwrap();
    assert_eq!(left.total, 0);
}

/// faults.md 11: thirty bodies under one id, each four times, concurrently and on two nodes: each body is one
/// receipt, one of them is dispatched, and none is lost.
async fn bodies_that_fight_for_an_id_are_all_kept(stage: &Stage) {
    const BODIES: usize = 30;
    let core = core().await;
    stage.acme(&core).await;
    let second = stage.second_node().await;
    // On SQLite there is one node, and one id maker.
    let second = if stage.is_postgres() { &second } else { &stage.node };
    let body = |n: usize| format!(r#"{{"event_id":"e_1","n":{n}}}"#);
    let mut all = tokio::task::JoinSet::new();
    for n in 0..4 * BODIES {
        let node = if n % 3 == 0 { second } else { &stage.node };
        let (inbound, request) = (node.inbound.clone(), stage.signed(&body(n % BODIES)));
        all.spawn(async move { (n % BODIES, kept(inbound.receive(&request).await)) });
    }
    let all = all.join_all().await;
    let mut receipts = BTreeMap::<usize, BTreeSet<_>>::new();
    for (n, kept) in &all {
        receipts.entry(*n).or_default().insert(kept.receipt);
    }
    assert!(receipts.values().all(|of_body| of_body.len() == 1), "{receipts:?}");
    let apart: BTreeSet<_> = receipts.values().flatten().collect();
    assert_eq!((apart.len(), stage.ledger().await.len()), (BODIES, BODIES));
    let unclashed = |kept: &&(usize, Acceptance)| kept.1.clashes_with.is_none();
    let sent: BTreeSet<_> = all.iter().filter(unclashed).map(|one| one.1.receipt).collect();
    assert_eq!(sent.len(), 1);
    assert_eq!(arrived(&core, 1).await[0].one("webhook-id"), sent.first().unwrap().to_string());
    let filter = DeadFilter { code: Some("ID_CLASH".into()), ..DeadFilter::default() };
    let dead = stage.node.store.dead_stats(filter).await.unwrap();
    assert_eq!((dead.total, core.accepted()), (BODIES as u64 - 1, 1));
}

/// A replay within the window is a duplicate; after the window it is refused; a proper retry with a new
/// timestamp is a duplicate for a day.
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
    assert!(stage.kept(&stage.signed(body)).await.is_repeat, "upkeep has not named the time");
    stage.node.store.prune(Time::ZERO, 100, stage.clock.now()).await.unwrap();
    let later = stage.kept(&stage.signed(body)).await;
    assert!(!later.is_repeat && later.receipt != first.receipt, "after a day it is a new one");
}

/// Without an id the signed text is the identity: the same body at a later time is another message.
async fn without_an_id_what_was_signed_counts(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let request = stage.signed(r#"{"event":"ping"}"#);
    let first = stage.kept(&request).await;
    assert!(stage.kept(&request).await.is_repeat);
    stage.clock.advance(Duration::from_secs(1));
    let second = stage.kept(&stage.signed(r#"{"event":"ping"}"#)).await;
    assert!(!second.is_repeat && second.receipt != first.receipt);
    // An id that is empty, or not a plain value, does not count.
    for body in [r#"{"event_id":""}"#, r#"{"event_id":{"a":1}}"#, r#"{"event_id":null}"#] {
        assert!(!stage.kept(&stage.signed(body)).await.is_repeat, "{body}");
    }
}

/// Each partner has its own event ids: two partners with the same id make two receipts.
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

/// The location of the id can be configured.
async fn ids_stand_where_the_source_says(stage: &Stage) {
    let core = core().await;
    let pointer = Some(Some("/meta/delivery/0".to_owned()));
    let draft = SourceDraft { event_id_pointer: pointer, ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    let body = |id: u32, n: u32| format!(r#"{{"id":"same","meta":{{"delivery":[{id}]}},"n":{n}}}"#);
    stage.kept(&stage.signed(&body(1, 1))).await;
    let second = stage.kept(&stage.signed(&body(2, 1))).await;
    let third = stage.kept(&stage.signed(&body(2, 2))).await;
    assert_eq!(third.clashes_with, Some(second.receipt));
    let ids: Vec<_> = stage.receipts("acme").await.into_iter().filter_map(|r| r.event_id).collect();
    assert_eq!(ids, ["2", "2", "1"]);
}

/// A body that was refused for its schema is no duplicate once the body or the schema is corrected; until
/// then it is the same dead letter, however often it is sent.
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
    // Another body that does not match is refused; it must not look accepted because of the id clash.
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

/// While expired keys are deleted, no other key is, and no message passes twice at the last moment of its
/// key.
async fn pruning_opens_no_window(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let body = r#"{"event_id":"e_1"}"#;
    let first = stage.kept(&stage.signed(body)).await;
    let end = stage.clock.now() + Duration::from_hours(24);
    for (now, new) in [(end - Duration::from_millis(1), 0), (end, 1)] {
        stage.clock.set(now);
        // No key expires before upkeep has passed the time to the store.
        stage.node.store.prune(now, 100, now).await.unwrap();
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
    bodies_that_fight_for_an_id_are_all_kept,
    replays_and_retries,
    without_an_id_what_was_signed_counts,
    two_partners_with_one_id,
    ids_stand_where_the_source_says,
    what_did_not_fit_can_come_again,
    pruning_opens_no_window,
);
