//! The process may end between any two steps. What was acknowledged is not lost, and what was not
//! acknowledged can be sent again.

use gancho_inbound::{ReceiptStatus, SourceDraft};
use gancho_testkit::wait_for;

use crate::stage::{Stage, core, kept};

/// Received by a node without a dispatch lane, as with `--role ingest`, and dispatched by another.
async fn what_one_node_received_another_dispatches(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let ingest = stage.another(21, false).await;
    let first = kept(ingest.inbound.receive(&stage.signed("{}")).await);
    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!(receipt.id, first.receipt);
}

/// The node that holds the delivery dies after the commit, before or during the dispatch: another takes it
/// over.
async fn a_node_that_dies_holding_it(stage: &Stage) {
    let hanging = gancho_testkit::receiver::Receiver::plain(|number| {
        use gancho_testkit::receiver::Step;
        match number {
            0 => vec![Step::ReadRequest, Step::Hang],
            _ => vec![Step::ReadRequest, Step::ok()],
        }
    })
    .await
    .unwrap();
    stage.source("acme", &hanging, SourceDraft::default()).await;
    let body = r#"{"event_id":"e_1"}"#;
    let dying = stage.another(23, true).await;
    let first = kept(dying.inbound.receive(&stage.signed(body)).await);
    wait_for("the first attempt", || async { (hanging.accepted() > 0).then_some(()) }).await;
    dying.engine.abort();
    // The node does not leave: its heartbeat expires, and its work is taken over.
    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!(receipt.id, first.receipt);
    assert!(hanging.accepted() >= 2);
    // The partner, which may not have received the response, sends it again.
    let again = kept(stage.node.inbound.receive(&stage.signed(body)).await);
    assert!(again.is_repeat && again.receipt == first.receipt);
    assert_eq!(stage.ledger().await.len(), 1);
}

/// A caller that disconnects halfway changes nothing: the webhook is stored, or it can be sent again.
async fn a_caller_that_goes_away(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    for n in 0..50_u64 {
        let request = stage.signed(&format!("{{\"n\":{n}}}"));
        let receive = stage.node.inbound.receive(&request);
        let _ = tokio::time::timeout(std::time::Duration::from_micros(n * 40), receive).await;
        stage.kept(&request).await;
    }
    assert_eq!(stage.ledger().await.len(), 50);
    wait_for("all of them", || async {
        let done = stage.receipts_of("acme", Some(ReceiptStatus::Dispatched)).await;
        stage.clock_step();
        (done.len() == 50).then_some(())
    })
    .await;
}

on_both!(
    what_one_node_received_another_dispatches,
    a_node_that_dies_holding_it,
    a_caller_that_goes_away,
);
