//! faults.md B14: every node shows what all nodes have received and rejected.

use std::time::Duration;

use gancho_domain::Clock;
use gancho_inbound::{Reason, Rejection, SourceDraft, activity::SourceActivity};
use gancho_store::Collection;

use crate::stage::{Node, SECRET, Spoil, Stage, core, kept, name, signed};

const COLLECTION: Collection = Collection::operators("source_activity");

async fn seen(node: &Node, partner: &str) -> SourceActivity {
    let source = node.desk.get(&name(partner)).await.unwrap();
    node.inbound.activity_of(&source).await.unwrap()
}

async fn version(stage: &Stage, key: &str) -> Option<(u64, usize)> {
    let document = stage.node.store.document(COLLECTION, key).await.unwrap();
    document.map(|document| (document.version, document.body.len()))
}

fn sizes(seen: &SourceActivity) -> Vec<usize> {
    seen.rejections.iter().map(|rejection| rejection.size).collect()
}

async fn another_node_sees_it_also_after_a_restart(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let first = stage.signed(r#"{"event_id":"e_1"}"#);
    stage.kept(&first).await;
    stage.kept(&first).await;
    stage.kept(&stage.signed(r#"{"event_id":"e_1","n":2}"#)).await;
    let invalid = stage.signed("{}").with("x-signature", "hmac-sha256=AAAA").with("cookie", "hush");
    stage.denied(&invalid).await;
    stage.clock.advance(Duration::from_secs(1));
    stage.denied(&stage.signed("{}").with("x-key-id", "k9")).await;
    stage.denied(&invalid.clone().to("nobody")).await;

    // The node itself sees it at once; another node, and this one after a restart, once it was saved.
    let here = seen(&stage.node, "acme").await;
    stage.node.inbound.save_activity().await.unwrap();
    let other = stage.another(11, false).await;
    let there = seen(&other, "acme").await;
    assert_eq!(there, here);
    let counts = there.counts;
    assert_eq!((counts.received, counts.repeats, counts.clashes), (2, 1, 1));
    let reasons: Vec<Reason> = there.rejections.iter().map(|one| one.reason).collect();
    assert_eq!(reasons, [Reason::UnknownKey, Reason::MalformedSignature], "newest first");
    let told: Vec<Rejection> = stage.node.inbound.rejections.of("acme");
    assert_eq!(there.rejections, told, "all that was known of them");
    assert!(!format!("{there:?}").contains("hush"));
    let strangers = other.inbound.activity_of_unknown_partners().await.unwrap();
    assert_eq!(
        (strangers.rejections.len(), strangers.rejections[0].partner.as_str()),
        (1, "nobody")
    );

    // New counts are added to it; it does not start at zero.
    assert_eq!(seen(&stage.node, "acme").await, there);
    stage.node.inbound.save_activity().await.unwrap();
    assert_eq!(seen(&other, "acme").await, there);
}

async fn what_two_nodes_saw_adds_up(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let second = stage.second_node().await;
    let third = stage.another(13, false).await;
    for round in 0..10 {
        stage.clock.advance(Duration::from_secs(1));
        for (n, node) in [&stage.node, &second, &stage.node].into_iter().enumerate() {
            let body = format!(r#"{{"round":{round},"n":{n}}}"#);
            // On SQLite there is one node that receives, and one id maker.
            let receiving = if stage.is_postgres() { node } else { &stage.node };
            kept(receiving.inbound.receive(&stage.signed(&body)).await);
            let invalid = stage.signed(&body).with("x-key-id", "k9");
            node.inbound.receive(&invalid).await;
        }
        let (one, other) =
            tokio::join!(stage.node.inbound.save_activity(), second.inbound.save_activity());
        one.and(other).unwrap();
    }
    for node in [&stage.node, &second, &third] {
        let seen = seen(node, "acme").await;
        assert_eq!((seen.counts.received, seen.rejections.len()), (30, 30));
        assert!(seen.rejections.is_sorted_by(|newer, older| newer.at >= older.at));
    }
}

async fn a_flood_costs_a_write_and_not_one_for_each(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let mut invalid = stage.signed("{}").with("x-signature", "no");
    for n in 0..60 {
        invalid = invalid.with(&format!("x-{n}-{}", "a".repeat(200)), &"b".repeat(4_000));
    }
    for n in 0..3_000 {
        stage.denied(&invalid.clone().to(if n % 2 == 0 { "acme" } else { "nobody" })).await;
        if n % 100 == 0 {
            stage.clock.advance(Duration::from_secs(1));
            invalid = invalid.with("x-timestamp", &stage.clock.now().secs().to_string());
        }
    }
    for round in 1..=2 {
        stage.node.inbound.save_activity().await.unwrap();
        for key in [source.id.to_string(), "unknown".to_owned()] {
            let (version, size) = version(stage, &key).await.unwrap();
            assert_eq!(version, 1, "in round {round}");
            assert!(size < 150_000, "{size}");
        }
    }
    assert_eq!(seen(&stage.node, "acme").await.rejections.len(), 50);
    stage.clock.advance(Duration::from_secs(1));
    stage.denied(&stage.signed("{ }").with("x-key-id", "k9")).await;
    stage.node.inbound.save_activity().await.unwrap();
    let seen = seen(&stage.another(17, false).await, "acme").await;
    assert_eq!((seen.rejections.len(), seen.rejections[0].size), (50, 3), "the newest are kept");
}

/// However many partners are flooded, a bounded number of documents is written at a time, and each partner
/// has its turn.
async fn partners_take_turns_in_being_saved(stage: &Stage) {
    let core = core().await;
    for n in 0..45 {
        stage.source(&format!("partner-{n:02}"), &core, SourceDraft::default()).await;
    }
    let time = stage.clock.now().secs().to_string();
    let other = stage.another(19, false).await;
    for saved in [20, 40, 45] {
        for n in 0..45 {
            let partner = format!("partner-{n:02}");
            let body = " ".repeat(saved);
            stage.denied(&signed(&partner, "k9", SECRET, &time, &body)).await;
        }
        stage.node.inbound.save_activity().await.unwrap();
        let mut count = 0;
        for n in 0..45 {
            let seen = seen(&other, &format!("partner-{n:02}")).await;
            count += usize::from(!seen.rejections.is_empty());
        }
        assert_eq!(count, saved);
    }
    let all = seen(&stage.node, "partner-44").await;
    assert_eq!(sizes(&all), [45, 40, 20], "none is lost meanwhile");
}

/// A later source of the same name starts at zero.
async fn it_goes_with_its_source(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    stage.kept(&stage.signed("{}")).await;
    stage.denied(&stage.signed("{}").with("x-key-id", "k9")).await;
    stage.node.inbound.save_activity().await.unwrap();
    let old = stage.node.desk.get(&name("acme")).await.unwrap();
    stage.node.desk.delete(&name("acme")).await.unwrap();
    assert_eq!(version(stage, &old.id.to_string()).await, None);
    stage.acme(&core).await;
    assert_eq!(seen(&stage.node, "acme").await, SourceActivity::default());
    let of = stage.node.sources.partner_of(old.tenant()).await.unwrap();
    assert_eq!(of.as_deref(), Some("acme"), "what it received is still shown under its name");
}

on_both!(
    another_node_sees_it_also_after_a_restart,
    what_two_nodes_saw_adds_up,
    a_flood_costs_a_write_and_not_one_for_each,
    partners_take_turns_in_being_saved,
    it_goes_with_its_source,
);
