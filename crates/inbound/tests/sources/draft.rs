//! Creating and changing sources: all errors are reported at once, and changes apply at once.

use gancho_domain::{Clock, RateDraft, RetryDraft};
use gancho_inbound::{Outcome, SourceDraft, SourceError};
use gancho_store::{Collection, Precondition};
use gancho_testkit::{
    http_request::{answering, arrived},
    wait_for,
};

use crate::stage::{SECRET, Spoil, Stage, core, hmac_key, name, raw, signed, url};

fn draft(partner: &str) -> SourceDraft {
    SourceDraft { partner: Some(partner.into()), ..SourceDraft::default() }
}

async fn the_preset_that_was_meant_is_named(stage: &Stage) {
    for (preset, part) in [
        (r#""strip""#, "there is no preset `strip`: did you mean `stripe`?"),
        (r#""paypal""#, "there is no preset `paypal`; use partner"),
        (r#""sns""#, "the preset `sns` takes settings; use partner"),
    ] {
        let invalid = SourceDraft { preset: Some(raw(preset)), ..draft("acme") };
        let Err(SourceError::Faulty(errors)) = stage.node.desk.create(invalid).await else {
            panic!("{preset} was taken")
        };
        let said = errors.iter().find(|error| error.pointer == "/preset").unwrap();
        assert!(said.message.contains(part), "{}", said.message);
    }
}

async fn every_error_is_reported(stage: &Stage) {
    let invalid = SourceDraft {
        preset: Some(raw(r#""paypal""#)),
        targets: Some(vec![
            "ftp://x".into(),
            "http://10.0.0.1/".into(),
            "https://ok.example/".into(),
        ]),
        schema: Some(Some(raw(r#"{"$ref":"http://169.254.169.254/"}"#))),
        rate_limit: Some(Some(RateDraft { count: 0, per: "1s".into() })),
        event_id_pointer: Some(Some("id".into())),
        retry: Some(Some(RetryDraft::Exponential {
            base: "soon".into(),
            max: "1s".into(),
            attempts: 0,
        })),
        dispatch_secret: Some("short".into()),
        verify_token: Some(Some("x".into())),
        ..draft("acme")
    };
    let Err(SourceError::Faulty(errors)) = stage.node.desk.create(invalid).await else { panic!() };
    let pointers: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
    for pointer in [
        "/preset",
        "/targets/0",
        "/targets/1",
        "/schema",
        "/rate_limit/count",
        "/event_id_pointer",
        "/retry/base",
        "/retry/attempts",
        "/dispatch_secret",
        "/verify_token",
    ] {
        assert!(pointers.contains(&pointer), "{pointer}: {pointers:?}");
    }
    for partner in ["", "..", "Acme", "a/b", "_health"] {
        let refused = stage.node.desk.create(draft(partner)).await;
        assert!(matches!(refused, Err(SourceError::Faulty(_))), "{partner}");
    }
    assert!(matches!(
        stage.node.desk.create(SourceDraft::default()).await,
        Err(SourceError::Faulty(_))
    ));
    let both = SourceDraft {
        target_url: Some("https://a.example/".into()),
        targets: Some(vec![]),
        ..draft("acme")
    };
    assert!(matches!(stage.node.desk.create(both).await, Err(SourceError::Faulty(_))));
    assert!(stage.node.desk.list(None, 10).await.unwrap().is_empty());
}

async fn a_name_is_taken_once(stage: &Stage) {
    stage.node.desk.create(draft("acme")).await.unwrap();
    let again = stage.node.desk.create(draft("acme")).await;
    assert!(matches!(again, Err(SourceError::Taken(partner)) if partner == name("acme")));
    stage.node.desk.create(draft("beta")).await.unwrap();
    let names: Vec<String> = stage
        .node
        .desk
        .list(None, 10)
        .await
        .unwrap()
        .iter()
        .map(|s| s.partner.to_string())
        .collect();
    assert_eq!(names, ["acme", "beta"]);
    assert_eq!(stage.node.desk.list(Some("acme"), 10).await.unwrap().len(), 1);
}

/// A change applies to the next request, also while deliveries wait; a target keeps its id as long as it
/// exists.
async fn changes_count_at_once(stage: &Stage) {
    let (old, new) = (answering(|_| "503 No").await, core().await);
    stage.acme(&old).await;
    let before = stage.node.desk.get(&name("acme")).await.unwrap();
    let targets = Some(vec![url(&new), url(&old)]);
    let patch = SourceDraft { targets, ..SourceDraft::default() };
    let changed = stage.node.desk.change(&name("acme"), patch).await.unwrap();
    assert_eq!(changed.targets[1], before.targets[0]);
    assert_eq!(changed.id, before.id);
    stage.kept(&stage.signed("{}")).await;
    arrived(&new, 1).await;
    arrived(&old, 1).await;
    let unknown = stage.node.desk.change(&name("nobody"), SourceDraft::default()).await;
    assert!(matches!(unknown, Err(SourceError::NotFound)));
    // A change must not leave keys that do not fit.
    let pair = gancho_wire::new_key_pair().unwrap();
    let key = gancho_inbound::KeyDraft {
        scheme: Some("ed25519".into()),
        public_key: Some(pair.public_key.clone()),
        ..gancho_inbound::KeyDraft::default()
    };
    stage.put_key("acme", "k9", key).await;
    let patch = SourceDraft { preset: Some(raw("\"github\"")), ..SourceDraft::default() };
    let refused = stage.node.desk.change(&name("acme"), patch).await;
    assert!(matches!(refused, Err(SourceError::Faulty(errors)) if errors[0].pointer == "/preset"));
    stage.kept(&stage.signed("{\"n\":2}")).await;
}

/// Another node sees a change within seconds; a source that was deleted and created again is another source.
async fn other_nodes_follow(stage: &Stage) {
    let core = core().await;
    let second = stage.second_node().await;
    stage.acme(&core).await;
    wait_for("the second node", || async {
        let outcome = second.inbound.receive(&stage.signed("{}")).await;
        matches!(outcome, Outcome::Accepted(_)).then_some(())
    })
    .await;
    let first = stage.node.desk.get(&name("acme")).await.unwrap();
    stage.node.desk.delete(&name("acme")).await.unwrap();
    assert_eq!(stage.denied(&stage.signed("{}")).await.status, 403);
    assert!(matches!(stage.node.desk.delete(&name("acme")).await, Err(SourceError::NotFound)));
    stage.acme(&core).await;
    assert_ne!(stage.node.desk.get(&name("acme")).await.unwrap().id, first.id);
    assert!(!stage.kept(&stage.signed("{}")).await.is_repeat, "it is another source");
}

/// A document that this node cannot read, for instance of a newer version, affects only its source: the
/// others continue, and a removed key is removed.
async fn one_unreadable_document_holds_up_no_other(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    stage.source("beta", &core, SourceDraft::default()).await;
    stage.kept(&stage.signed("{\"n\":1}")).await;
    let put = async |kind: &'static str, key: &str| {
        let (collection, body) = (Collection::operators(kind), r#"{"of":"tomorrow"}"#.into());
        stage
            .node
            .store
            .put_document(collection, key, body, Precondition::Nothing)
            .await
            .unwrap()
            .unwrap();
        stage.node.sources.forget();
    };
    put("source", "odd").await;
    put("source_key", "beta/k2").await;
    stage.kept(&stage.signed("{\"n\":2}")).await;
    for partner in ["odd", "beta"] {
        assert_eq!(stage.denied(&stage.signed("{}").to(partner)).await.status, 503, "{partner}");
    }
    stage.node.desk.delete_key(&name("acme"), "k1").await.unwrap();
    assert_eq!(stage.denied(&stage.signed("{\"n\":3}")).await.status, 403);
    // A node that starts now.
    let second = stage.second_node().await;
    stage.put_key("acme", "k1", hmac_key(SECRET)).await;
    let outcome = second.inbound.receive(&stage.signed("{\"n\":4}")).await;
    assert!(matches!(outcome, Outcome::Accepted(_)), "{outcome:?}");
}

/// A key may outlive its source, because the process ended or because it was added while the source was
/// deleted. It is not valid for the next source of that name, and does not count as one of its keys.
async fn keys_do_not_outlive_their_source(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let pair = gancho_wire::new_key_pair().unwrap();
    let key = gancho_inbound::KeyDraft {
        scheme: Some("ed25519".into()),
        public_key: Some(pair.public_key.clone()),
        ..gancho_inbound::KeyDraft::default()
    };
    stage.put_key("acme", "k9", key).await;
    let time = stage.clock.now().secs().to_string();
    let private = gancho_wire::SigningKey::ed25519(&pair.private_key).unwrap();
    let signature = gancho_wire::sign_as_partner(&private, &time, b"{}");
    let by_old = signed("acme", "k9", SECRET, &time, "{}").with("x-signature", &signature);
    stage.kept(&by_old).await;
    let collection = Collection::operators("source_key");
    let old = stage.node.store.documents(collection, None, 10).await.unwrap();
    assert_eq!(old.len(), 2);
    let unbound = old.iter().map(|document| {
        let mut key: serde_json::Value = serde_json::from_slice(&document.body).unwrap();
        key.as_object_mut().unwrap().remove("source").unwrap();
        (document.key.clone(), serde_json::to_vec(&key).unwrap().into())
    });
    // Keys in the current form, and in the form before they named their source.
    let bound = old.iter().map(|document| (document.key.clone(), document.body.clone()));
    let both: [Vec<(String, bytes::Bytes)>; 2] = [bound.collect(), unbound.collect()];
    for left in both {
        stage.node.desk.delete(&name("acme")).await.unwrap();
        assert!(stage.node.store.documents(collection, None, 10).await.unwrap().is_empty());
        for (key, body) in left {
            stage
                .node
                .store
                .put_document(collection, &key, body, Precondition::Nothing)
                .await
                .unwrap();
        }
        let draft = SourceDraft { target_url: Some(url(&core)), ..draft("acme") };
        stage.node.desk.create(draft).await.unwrap();
        assert_eq!(stage.denied(&by_old).await.status, 403);
        assert_eq!(stage.denied(&stage.signed("{}")).await.status, 403);
        assert!(stage.node.desk.keys(&name("acme")).await.unwrap().is_empty());
    }
    // Written late by a process that had read the old source.
    for document in old {
        stage
            .node
            .store
            .put_document(collection, &document.key, document.body, Precondition::Nothing)
            .await
            .unwrap();
    }
    stage.put_key("acme", "k2", hmac_key("the new secret of acme")).await;
    assert_eq!(stage.denied(&by_old).await.status, 403);
    assert_eq!(stage.node.desk.keys(&name("acme")).await.unwrap().len(), 1);
    stage.kept(&signed("acme", "k2", "the new secret of acme", &time, "{}")).await;
}

on_both!(
    every_error_is_reported,
    the_preset_that_was_meant_is_named,
    a_name_is_taken_once,
    changes_count_at_once,
    other_nodes_follow,
    one_unreadable_document_holds_up_no_other,
    keys_do_not_outlive_their_source,
);
