//! Targets that change while receipts wait for them: waiting and replayed receipts go to the current targets
//! of the source.

use gancho_domain::{Clock, Lane};
use gancho_inbound::{Receipt, ReceiptStatus, SourceDraft};
use gancho_store::DeadFilter;
use gancho_testkit::{
    http_request::{answering, arrived},
    receiver::Receiver,
    wait_for,
};

use crate::stage::{Stage, core, name, quick, url};

async fn down() -> Receiver {
    answering(|_| "503 Service Unavailable").await
}

fn to_one(target: &Receiver) -> SourceDraft {
    SourceDraft { target_url: Some(url(target)), ..SourceDraft::default() }
}

fn to_many(targets: &[&Receiver]) -> SourceDraft {
    let targets = targets.iter().map(|target| url(target)).collect();
    SourceDraft { targets: Some(targets), ..SourceDraft::default() }
}

async fn change(stage: &Stage, draft: SourceDraft) {
    stage.node.desk.change(&name("acme"), draft).await.unwrap();
}

/// Advances the clock until this number of requests has arrived.
async fn arrives(stage: &Stage, target: &Receiver, count: usize) -> Vec<String> {
    wait_for("requests", || async {
        stage.clock_step();
        (target.accepted() >= count).then_some(())
    })
    .await;
    arrived(target, count).await.into_iter().map(|seen| seen.body).collect()
}

async fn dead(stage: &Stage, count: usize) -> Vec<Receipt> {
    wait_for("dead letters", || async {
        stage.clock_step();
        let found = stage.receipts_of("acme", Some(ReceiptStatus::Dlq)).await;
        (found.len() == count).then_some(found)
    })
    .await
}

async fn replay(stage: &Stage) -> u64 {
    let filter = DeadFilter { lane: Some(Lane::Dispatch), ..DeadFilter::default() };
    stage.node.store.replay_dead(filter, 100, None, stage.clock.now()).await.unwrap().retried.len()
        as u64
}

/// faults.md B1
async fn a_corrected_url_gets_what_waits(stage: &Stage) {
    let (wrong, right) = (down().await, core().await);
    stage.acme(&wrong).await;
    for n in 1..=3 {
        stage.kept(&stage.signed(&format!(r#"{{"n":{n}}}"#))).await;
    }
    arrived(&wrong, 3).await;
    change(stage, to_one(&right)).await;
    let mut bodies = arrives(stage, &right, 3).await;
    bodies.sort();
    assert_eq!(bodies, [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#]);
    stage.until("acme", ReceiptStatus::Dispatched).await;
    assert!(stage.receipts_of("acme", Some(ReceiptStatus::Dlq)).await.is_empty());
}

/// faults.md B1: also after it was given up.
async fn a_corrected_url_gets_what_is_replayed(stage: &Stage) {
    let (wrong, right) = (down().await, core().await);
    let draft = SourceDraft { retry: Some(Some(quick())), ..SourceDraft::default() };
    stage.source("acme", &wrong, draft).await;
    stage.kept(&stage.signed(r#"{"n":1}"#)).await;
    dead(stage, 1).await;
    change(stage, to_one(&right)).await;
    assert_eq!(replay(stage).await, 1);
    assert_eq!(arrives(stage, &right, 1).await, [r#"{"n":1}"#]);
    stage.until("acme", ReceiptStatus::Dispatched).await;
}

/// faults.md B1: whichever URL is the last, and whatever came in between.
async fn a_url_that_is_put_back_gets_what_waits(stage: &Stage) {
    let (first, second, up) = (down().await, down().await, core().await);
    stage.acme(&first).await;
    stage.kept(&stage.signed(r#"{"n":1}"#)).await;
    arrived(&first, 1).await;
    change(stage, to_one(&second)).await;
    arrives(stage, &second, 1).await;
    let before = first.accepted();
    change(stage, to_one(&first)).await;
    arrives(stage, &first, before + 1).await;
    change(stage, to_many(&[&up])).await;
    assert_eq!(arrives(stage, &up, 1).await, [r#"{"n":1}"#]);
    stage.until("acme", ReceiptStatus::Dispatched).await;
}

/// faults.md B1: one of several is changed, and the others keep their deliveries.
async fn one_of_several_is_changed(stage: &Stage) {
    let (up, wrong, right) = (core().await, down().await, core().await);
    stage.source("acme", &up, to_many(&[&up, &wrong])).await;
    stage.kept(&stage.signed(r#"{"n":1}"#)).await;
    arrived(&up, 1).await;
    arrived(&wrong, 1).await;
    change(stage, to_many(&[&right, &up])).await;
    assert_eq!(arrives(stage, &right, 1).await, [r#"{"n":1}"#]);
    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!((receipt.deliveries.len(), up.accepted()), (2, 1));
}

/// faults.md B1: deliveries that waited for a removed target are dead letters; if they are replayed, they go
/// to an existing target. A target whose URL is added again gets its own.
async fn one_of_several_is_taken_away(stage: &Stage) {
    let (up, other, gone) = (core().await, core().await, down().await);
    stage.source("acme", &up, to_many(&[&gone, &up, &other])).await;
    stage.kept(&stage.signed(r#"{"n":1}"#)).await;
    arrived(&up, 1).await;
    arrived(&other, 1).await;
    arrived(&gone, 1).await;
    change(stage, to_many(&[&up, &other])).await;
    let receipt = dead(stage, 1).await.remove(0);
    assert!(receipt.last_error.unwrap().starts_with("TARGET_GONE: "));
    assert_eq!((up.accepted(), other.accepted()), (1, 1), "each has its own already");

    assert_eq!(replay(stage).await, 1);
    assert_eq!(arrives(stage, &up, 2).await[1], r#"{"n":1}"#);
    stage.until("acme", ReceiptStatus::Dispatched).await;

    change(stage, to_many(&[&up, &other, &gone])).await;
    stage.kept(&stage.signed(r#"{"n":2}"#)).await;
    arrived(&up, 3).await;
    arrived(&other, 2).await;
    change(stage, to_many(&[&up, &other])).await;
    dead(stage, 1).await;
    change(stage, to_many(&[&up, &other, &gone])).await;
    let before = gone.accepted();
    assert_eq!(replay(stage).await, 1);
    arrives(stage, &gone, before + 1).await;
    assert_eq!((up.accepted(), other.accepted()), (3, 2), "it went to where it was meant to go");
}

on_both!(
    a_corrected_url_gets_what_waits,
    a_corrected_url_gets_what_is_replayed,
    a_url_that_is_put_back_gets_what_waits,
    one_of_several_is_changed,
    one_of_several_is_taken_away,
);
