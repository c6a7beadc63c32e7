//! From the receipt to the core: retried by its plan, given up in the end, and never sent twice at once.

use std::time::Duration;

use gancho_domain::{Clock, Code, Failure, Lane};
use gancho_inbound::{InternalSinkError, ReceiptStatus, SourceDraft, SourceError, Sources};
use gancho_store::{DeadFilter, PageRequest};
use gancho_testkit::{
    http_request::{answering, arrived},
    wait_for,
};

use crate::stage::{Stage, core, name, quick};

/// The fourth "proof of done": the core is down, attempts increase, and the delivery becomes a dead letter.
async fn a_core_that_is_away_makes_a_dead_letter(stage: &Stage) {
    let core = answering(|_| "503 Service Unavailable").await;
    stage.acme(&core).await;
    stage.kept(&stage.signed("{}")).await;
    let failing = stage.until("acme", ReceiptStatus::Failed).await;
    assert!(failing.last_error.unwrap().contains("HTTP_503"));
    let receipt = stage.until("acme", ReceiptStatus::Dlq).await;
    assert_eq!((receipt.attempts, core.accepted()), (10, 10));
    let numbers: Vec<String> = arrived(&core, 10)
        .await
        .iter()
        .map(|seen| seen.one("x-gancho-attempt").to_owned())
        .collect();
    assert_eq!(numbers, (1..=10).map(|n: u32| n.to_string()).collect::<Vec<_>>());
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let filter = DeadFilter {
        tenant: Some(source.tenant()),
        lane: Some(Lane::Dispatch),
        ..DeadFilter::default()
    };
    let dead = stage.node.store.dead_letters(filter, PageRequest::first(10)).await.unwrap().rows;
    assert_eq!((dead.len(), dead[0].failed_attempts), (1, 10));
}

/// 2 s, doubled up to 32 s, with a jitter of a quarter.
async fn the_usual_plan_is_that_of_the_lane(stage: &Stage) {
    let core = answering(|_| "500 No").await;
    stage.acme(&core).await;
    stage.kept(&stage.signed("{}")).await;
    let receipt = stage.until("acme", ReceiptStatus::Dlq).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let view =
        stage.node.store.delivery(source.scope(), receipt.deliveries[0].id).await.unwrap().unwrap();
    let planned: Vec<u64> = view
        .attempts
        .iter()
        .filter_map(|attempt| {
            Some(attempt.next_at?.since(attempt.started_at).as_secs_f64().round() as u64)
        })
        .collect();
    // The clock moves in steps of half a second while an attempt is made.
    for (seen, wanted) in planned.iter().zip([2, 4, 8, 16, 32, 32, 32, 32, 32]) {
        assert!(seen.abs_diff(wanted) <= 1 + wanted / 8, "{planned:?}");
    }
    assert_eq!(planned.len(), 9);
}

async fn what_was_received_stays_when_the_source_goes(stage: &Stage) {
    let other = core().await;
    stage.acme(&other).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let kept = stage.kept(&stage.signed("{\"n\":2}")).await;
    arrived(&other, 1).await;
    stage.node.desk.delete(&name("acme")).await.unwrap();
    let left = stage.node.receipts.get(source.scope(), kept.receipt).await.unwrap();
    assert!(left.is_some(), "what was received stays");
}

/// Each partner is its own tenant: a hanging core delays no other partner.
async fn partners_do_not_wait_for_each_other(stage: &Stage) {
    let hanging = gancho_testkit::receiver::Receiver::plain(|_| {
        vec![gancho_testkit::receiver::Step::ReadRequest, gancho_testkit::receiver::Step::Hang]
    })
    .await
    .unwrap();
    let core = core().await;
    stage.source("slow", &hanging, SourceDraft::default()).await;
    stage.acme(&core).await;
    let time = stage.clock.now().secs().to_string();
    for n in 0..100 {
        let body = format!("{{\"n\":{n}}}");
        stage.kept(&crate::stage::signed("slow", "k1", crate::stage::SECRET, &time, &body)).await;
    }
    let started = tokio::time::Instant::now();
    for n in 0..5 {
        stage.kept(&stage.signed(&format!("{{\"n\":{n}}}"))).await;
    }
    arrived(&core, 5).await;
    assert!(started.elapsed() < Duration::from_secs(5));
}

async fn a_source_may_have_a_plan_of_its_own(stage: &Stage) {
    let core = answering(|_| "500 No").await;
    let draft = SourceDraft { retry: Some(Some(quick())), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    stage.kept(&stage.signed("{}")).await;
    assert_eq!(stage.until("acme", ReceiptStatus::Dlq).await.attempts, 3);
}

/// An internal target gets the body and is treated like a core: it may fail temporarily or permanently.
async fn a_target_inside_the_gateway(stage: &Stage) {
    let internal_target =
        |url: &str| SourceDraft { targets: Some(vec![url.into()]), ..SourceDraft::default() };
    let core = core().await;
    stage.source("acme", &core, internal_target("gancho:email-feedback")).await;
    let failed = |why: &str| Failure::new(Code::from_text("AWAY"), why);
    stage.node.internal_target.answers.lock().unwrap().extend([
        Err(InternalSinkError::Later(failed("for now"))),
        Ok("noted".to_owned()),
        Err(InternalSinkError::Never(failed("for good"))),
    ]);
    let kept = stage.kept(&stage.signed("{\"n\": 1}")).await;
    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!((receipt.id, receipt.attempts), (kept.receipt, 2));
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let delivery = receipt.deliveries[0].id;
    let view = stage.node.store.delivery(source.scope(), delivery).await.unwrap().unwrap();
    let said: Vec<_> = view.attempts.iter().map(|one| &one.response_body[..]).collect();
    assert_eq!(said, [&b""[..], b"noted"]);
    assert_eq!(stage.node.internal_target.taken.lock().unwrap()[1], "{\"n\": 1}");

    stage.kept(&stage.signed("{\"n\": 2}")).await;
    let receipt = stage.until("acme", ReceiptStatus::Dlq).await;
    assert_eq!((receipt.attempts, &*receipt.last_error.unwrap()), (1, "AWAY: for good"));
    assert_eq!(core.accepted(), 0);
    for invalid in ["gancho:", "gancho:email", "gancho:email-feedback/", "gancho://email-feedback"]
    {
        let refused = stage.node.desk.change(&name("acme"), internal_target(invalid)).await;
        let Err(SourceError::Faulty(errors)) = refused else { panic!("{invalid}") };
        assert_eq!(
            (errors[0].code, &*errors[0].pointer),
            ("url_refused", "/targets/0"),
            "{invalid}"
        );
    }
}

/// A node without e-mail leaves it to a node with e-mail: no report is given up because the wrong node
/// claimed it.
async fn a_node_without_that_part_gives_nothing_up(stage: &Stage) {
    let core = core().await;
    let targets = Some(vec!["gancho:email-feedback".to_owned()]);
    stage.source("acme", &core, SourceDraft { targets, ..SourceDraft::default() }).await;
    // Alone at first, so that no other node is faster.
    stage.node.engine.abort();
    let without = stage.node_without_inside(31).await;
    let first = crate::stage::kept(without.inbound.receive(&stage.signed("{}")).await);
    let failed = stage.until("acme", ReceiptStatus::Failed).await;
    assert!(failed.last_error.unwrap().contains("e-mail is off on this node"));
    without.engine.abort();
    let with = stage.another(33, true).await;
    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!(receipt.id, first.receipt);
    assert_eq!(with.internal_target.taken.lock().unwrap().len(), 1);
}

/// A dead letter that is replayed during or after the deletion of its source is not sent.
async fn a_replay_beside_a_delete_goes_nowhere(stage: &Stage) {
    let core = answering(|_| "503 No").await;
    let draft = SourceDraft { retry: Some(Some(quick())), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    stage.kept(&stage.signed("{}")).await;
    let dead = stage.until("acme", ReceiptStatus::Dlq).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let delivery = dead.deliveries[0].id;
    stage.node.desk.delete(&name("acme")).await.unwrap();
    let sent = core.accepted();
    for _ in 0..3 {
        stage.node.store.retry_now(source.scope(), delivery, stage.clock.now()).await.unwrap();
        wait_for("the end of it", || async {
            stage.clock_step();
            let receipt = stage.node.receipts.get(source.scope(), dead.id).await.unwrap().unwrap();
            let is_gone = |error: &String| error.starts_with("TARGET_GONE");
            receipt.last_error.as_ref().is_some_and(is_gone).then_some(())
        })
        .await;
    }
    assert_eq!(core.accepted(), sent);
}

/// A node receives for a source that was just created; another node dispatches it.
async fn a_source_of_another_node_does_not_count_as_deleted(stage: &Stage) {
    let elsewhere = Sources::new(stage.node.store.clone(), stage.ring.clone());
    elsewhere.all().await.unwrap();
    stage.acme(&core().await).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    assert!(elsewhere.known(source.tenant()).is_none(), "it is not cached there");
    assert!(elsewhere.of_tenant(source.tenant()).await.unwrap().is_some());
    stage.node.desk.delete(&name("acme")).await.unwrap();
    elsewhere.forget();
    assert!(elsewhere.of_tenant(source.tenant()).await.unwrap().is_none());
}

on_both!(
    a_source_of_another_node_does_not_count_as_deleted,
    a_node_without_that_part_gives_nothing_up,
    a_replay_beside_a_delete_goes_nowhere,
    a_target_inside_the_gateway,
    a_core_that_is_away_makes_a_dead_letter,
    the_usual_plan_is_that_of_the_lane,
    what_was_received_stays_when_the_source_goes,
    partners_do_not_wait_for_each_other,
    a_source_may_have_a_plan_of_its_own,
);
