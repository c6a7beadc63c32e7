//! A verified request is stored, in the ledger, dispatched, and answered with a signature that the partner
//! can verify. The "proof of done" of the partners' blueprint, and related cases.

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::{Clock, RateDraft};
use gancho_inbound::{Outcome, Reason, ReceiptStatus, SourceDraft};
use gancho_ledger::Verifier;
use gancho_testkit::http_request::{answering, arrived};
use gancho_wire::{DEFAULT_TOLERANCE, Preset, VerifyingKey};

use crate::stage::{Spoil, Stage, core, name, quick, raw, signed};

const BODY: &str = r#"{"event":"ping","event_id":"e_123"}"#;

async fn is_kept_once_written_down_and_dispatched(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let kept = stage.kept(&stage.signed(BODY)).await;
    assert!(!kept.is_repeat);
    let lines = stage.ledger().await;
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(line["receipt"], kept.receipt.to_string());
    assert_eq!((&line["partner"], &line["key_id"]), (&"acme".into(), &"k1".into()));
    assert_eq!((&line["event_id"], &line["size"]), (&"e_123".into(), &BODY.len().into()));
    let sum = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, BODY.as_bytes());
    assert_eq!(line["body_sha256"], HEXLOWER.encode(sum.as_ref()));
    let order: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(order.len(), 7);

    let receipt = stage.until("acme", ReceiptStatus::Dispatched).await;
    assert_eq!((receipt.id, receipt.key_id.as_str(), receipt.attempts), (kept.receipt, "k1", 1));
    assert_eq!(receipt.last_error, None);
    let seen = arrived(&core, 1).await.remove(0);
    assert_eq!(seen.body, BODY);
    assert!(seen.line.starts_with("POST /core/hooks/ingest "), "{}", seen.line);
    for (name, value) in [
        ("x-gancho-receipt-id", kept.receipt.to_string().as_str()),
        ("x-gancho-partner", "acme"),
        ("x-gancho-key-id", "k1"),
        ("x-gancho-attempt", "1"),
        ("x-gancho-event-id", "e_123"),
        ("content-type", "application/json"),
        ("webhook-id", kept.receipt.to_string().as_str()),
    ] {
        assert_eq!(seen.one(name), value, "{name}");
    }
}

/// The core verifies with the source's dispatch secret, as any Standard Webhooks receiver does.
async fn the_core_can_verify(stage: &Stage) {
    let core = core().await;
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let draft = SourceDraft { dispatch_secret: Some(secret.into()), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    stage.kept(&stage.signed(BODY)).await;
    let seen = arrived(&core, 1).await.remove(0);
    let headers: Vec<(&str, &[u8])> =
        seen.headers.iter().map(|(n, v)| (n.as_str(), v.as_bytes())).collect();
    let recipe = Preset::Standard.recipe().unwrap();
    let keys = [VerifyingKey::standard(secret).unwrap()];
    let now = stage.clock.now();
    recipe.verify(&keys, &headers, seen.body.as_bytes(), now, DEFAULT_TOLERANCE).unwrap();
    assert!(recipe.verify(&keys, &headers, b"{}", now, DEFAULT_TOLERANCE).is_err());
}

/// Verifies with only the header, the body and the public key.
async fn the_partner_can_prove_it(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let kept = stage.kept(&stage.signed(BODY)).await;
    let parts: Vec<(&str, &str)> =
        kept.policy_sign.split("; ").map(|part| part.split_once('=').unwrap()).collect();
    let [("ed25519", signature), ("receipt", receipt), ("t", time), ("kid", kid)] = parts[..]
    else {
        panic!("{}", kept.policy_sign)
    };
    let jwks = stage.node.keys.jwks();
    assert_eq!(jwks["keys"][0]["kid"], kid);
    let x = jwks["keys"][0]["x"].as_str().unwrap();
    let key = data_encoding::BASE64URL_NOPAD.decode(x.as_bytes()).unwrap();
    let verifier = Verifier::new(key.try_into().unwrap());
    let sum = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, BODY.as_bytes());
    let base = format!("{receipt}.{}.{time}", HEXLOWER.encode(sum.as_ref()));
    let signature = BASE64.decode(signature.as_bytes()).unwrap();
    assert!(verifier.verify_bytes(base.as_bytes(), &signature));
    assert!(!verifier.verify_bytes(format!("{base}0").as_bytes(), &signature));
    assert_eq!(time, stage.clock.now().millis().to_string());

    // Another node of the same store signs with the same key, and both know a new one.
    let other = stage.second_node().await;
    assert_eq!(other.keys.jwks(), jwks);
    let new = other.keys.rotate().await.unwrap();
    assert_ne!(new.kid(), kid);
    stage.node.keys.read().await.unwrap();
    assert_eq!(stage.node.keys.current().kid(), new.kid());
    assert_eq!(stage.node.keys.jwks()["keys"].as_array().unwrap().len(), 2);
}

/// It is recorded and reported, and becomes a dead letter at once.
async fn what_does_not_fit_the_schema_is_given_up_at_once(stage: &Stage) {
    let core = core().await;
    let schema = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#;
    let draft = SourceDraft { schema: Some(Some(raw(schema))), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    let request = stage.signed(r#"{"id":7}"#);
    let denied = stage.denied(&request).await;
    assert_eq!(
        (denied.status, denied.reason, denied.code),
        (422, Reason::Schema, "schema_mismatch")
    );
    assert_eq!(denied.errors[0].pointer, "/id");
    assert_eq!(stage.ledger().await.len(), 1);
    let receipt = stage.until("acme", ReceiptStatus::Dlq).await;
    assert_eq!(denied.receipt.as_deref(), Some(&receipt.id));
    assert_eq!(receipt.attempts, 0, "nothing was tried");
    assert!(receipt.last_error.unwrap().starts_with("SCHEMA_INVALID: "));
    assert_eq!(core.accepted(), 0, "nothing was sent");
    // The same request gets the same answer, and nothing new is stored.
    assert_eq!(stage.denied(&request).await.status, 422);
    assert_eq!(stage.ledger().await.len(), 1);
    stage.kept(&stage.signed(r#"{"id":"7"}"#)).await;
    arrived(&core, 1).await;

    // Once the schema is corrected, the dead letter can be replayed.
    let draft = SourceDraft { schema: Some(None), ..SourceDraft::default() };
    stage.node.desk.change(&name("acme"), draft).await.unwrap();
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let delivery = receipt.deliveries[0].id;
    stage.node.store.retry_now(source.scope(), delivery, stage.clock.now()).await.unwrap();
    let bodies: Vec<String> = arrived(&core, 2).await.into_iter().map(|seen| seen.body).collect();
    assert!(bodies.contains(&r#"{"id":7}"#.to_owned()), "{bodies:?}");
}

async fn each_key_has_its_rate(stage: &Stage) {
    let core = core().await;
    let rate = RateDraft { count: 2, per: "10s".into() };
    let draft = SourceDraft { rate_limit: Some(Some(rate)), ..SourceDraft::default() };
    stage.source("acme", &core, draft).await;
    stage.put_key("acme", "k2", crate::stage::hmac_key("another secret of length")).await;
    // Unverified requests do not count against the rate.
    for n in 0..10 {
        let invalid =
            stage.signed(&format!("{{\"n\":{n}}}")).with("x-signature", "hmac-sha256=AAAA");
        assert_eq!(stage.denied(&invalid).await.status, 403);
    }
    let from_k1 = |n: u32| stage.signed(&format!("{{\"n\":{n}}}"));
    stage.kept(&from_k1(1)).await;
    stage.kept(&from_k1(2)).await;
    let denied = stage.denied(&from_k1(3)).await;
    assert_eq!((denied.status, denied.reason), (429, Reason::Rate));
    assert_eq!(denied.retry_after, Some(std::time::Duration::from_secs(5)));
    let time = stage.clock.now().secs().to_string();
    stage.kept(&signed("acme", "k2", "another secret of length", &time, "{\"n\":3}")).await;
    stage.clock.advance(std::time::Duration::from_secs(5));
    stage.kept(&from_k1(3)).await;
    assert_eq!(stage.ledger().await.len(), 4);
}

async fn bytes_are_kept_as_they_came(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let body = "{ \"a\" : 1.00 , \"b\":2e400, \"\\u0000\":\"\\ud800\", \"z\":[ ]\n}";
    let kept = stage.kept(&stage.signed(body)).await;
    assert_eq!(arrived(&core, 1).await[0].body, body);
    let source = stage.node.desk.get(&name("acme")).await.unwrap();
    let view = stage.node.store.event(source.scope(), kept.receipt.cast()).await.unwrap().unwrap();
    assert_eq!(view.parcel.body, body.as_bytes());
}

/// Both forms of the signature, and both of the time.
async fn every_form_of_the_headers_is_taken(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let request = stage.signed("{\"n\":1}");
    let signature = request.headers["x-signature"].to_str().unwrap().to_owned();
    let value = signature.strip_prefix("hmac-sha256=").unwrap();
    stage.kept(&request.with("x-signature", &format!("scheme=hmac-sha256,sig={value}"))).await;
    let iso = stage.clock.now().to_string();
    let request = signed("acme", "k1", crate::stage::SECRET, &iso, "{\"n\":2}");
    stage.kept(&request).await;
}

async fn several_targets_each_get_it(stage: &Stage) {
    let (first, second) = (core().await, answering(|_| "503 No").await);
    let targets = Some(vec![crate::stage::url(&first), crate::stage::url(&second)]);
    let draft = SourceDraft { targets, retry: Some(Some(quick())), ..SourceDraft::default() };
    stage.source("acme", &first, draft).await;
    stage.kept(&stage.signed(BODY)).await;
    let receipt = stage.until("acme", ReceiptStatus::Dlq).await;
    assert_eq!(receipt.deliveries.len(), 2);
    assert_eq!((first.accepted(), second.accepted()), (1, 3));
    assert_eq!(receipt.attempts, 4);
    assert!(receipt.last_error.unwrap().contains("HTTP_503"));
    assert_eq!(stage.receipts_of("acme", Some(ReceiptStatus::Dlq)).await.len(), 1);
    assert_eq!(stage.receipts_of("acme", Some(ReceiptStatus::Dispatched)).await.len(), 0);
}

async fn a_closed_policy_lets_nothing_pass(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let path = stage.place.folder().join("pack.json");
    std::fs::write(&path, gancho_inbound::receive::policy::BUILT_IN).unwrap();
    let policy =
        std::sync::Arc::new(gancho_inbound::PolicyService::open(Some(path.clone())).unwrap());
    let node = &stage.node;
    let inbound = gancho_inbound::Inbound::new(gancho_inbound::InboundSetup {
        store: node.store.clone(),
        engine: node.engine.clone(),
        sources: node.sources.clone(),
        keys: node.keys.clone(),
        policy: policy.clone(),
        ids: node.desk.ids.clone(),
        clock: stage.clock.clone(),
        limits: gancho_inbound::Limits::default(),
    });
    assert!(matches!(inbound.receive(&stage.signed("{}")).await, Outcome::Accepted(_)));
    let closed = r#"{"version":1,"bits":[],"wires":[],"else":"deny_invalid_access"}"#;
    std::fs::write(&path, closed).unwrap();
    policy.reload().unwrap();
    let Outcome::Rejected(denied) = inbound.receive(&stage.signed("{\"n\":2}")).await else {
        panic!()
    };
    assert_eq!(
        (denied.status, denied.code, denied.reason),
        (403, "deny_invalid_access", Reason::Policy)
    );
    assert_eq!(stage.ledger().await.len(), 1);
}

on_both!(
    is_kept_once_written_down_and_dispatched,
    the_core_can_verify,
    the_partner_can_prove_it,
    what_does_not_fit_the_schema_is_given_up_at_once,
    each_key_has_its_rate,
    bytes_are_kept_as_they_came,
    every_form_of_the_headers_is_taken,
    several_targets_each_get_it,
    a_closed_policy_lets_nothing_pass,
);
