//! The scheme of each sender, with requests of the simulator and handmade ones.

use data_encoding::{BASE64, HEXLOWER};
use gancho_domain::Clock;
use gancho_inbound::{
    Outcome, Reason, ReceiptStatus, ReceivedRequest, SourceDraft, simulate::SimulateError,
};
use gancho_testkit::http_request::arrived;

use crate::stage::{SECRET, Spoil, Stage, core, mac, name, raw, request};

const GENERIC: &str = r#"{"generic":{"header":"X-Sig","encoding":"hex","base":"{timestamp}:{body}","timestamp_header":"X-Time"}}"#;

async fn source(stage: &Stage, preset: &str, core: &gancho_testkit::receiver::Receiver) {
    let draft = SourceDraft { preset: Some(raw(preset)), ..SourceDraft::default() };
    stage.source("acme", core, draft).await;
}

/// A simulated request is received like any other, and marked.
async fn the_simulator_speaks_every_form(stage: &Stage) {
    let core = core().await;
    source(stage, "\"partner\"", &core).await;
    let mut count = 0;
    for preset in [
        "\"partner\"",
        "\"standard\"",
        "\"stripe\"",
        "\"github\"",
        "\"slack\"",
        "\"shopify\"",
        "\"meta\"",
        "\"microsoft\"",
        r#"{"token":{"header":"X-Token"}}"#,
        GENERIC,
    ] {
        let draft = SourceDraft { preset: Some(raw(preset)), ..SourceDraft::default() };
        stage.node.desk.change(&name("acme"), draft).await.unwrap();
        let sent = stage.node.inbound.simulate(&stage.ring, "acme", None).await.unwrap();
        assert!(matches!(sent.outcome, Outcome::Accepted(_)), "{preset}: {sent:?}");
        assert!(!format!("{sent:?}").contains(SECRET), "{preset}: {sent:?}");
        count += 1;
        let seen = arrived(&core, count).await;
        assert_eq!(seen[count - 1].one("x-gancho-test"), "true");
    }
    assert!(stage.receipts("acme").await.iter().all(|receipt| receipt.is_test));
    // The ledger does not claim that the partner sent them.
    assert!(stage.ledger().await.iter().all(|line| line["test"] == true));
    let own = stage.node.inbound.simulate(&stage.ring, "acme", Some("{\"own\":1}".into())).await;
    assert_eq!(own.unwrap().body, "{\"own\":1}");
    let nobody = stage.node.inbound.simulate(&stage.ring, "nobody", None).await;
    assert!(matches!(nobody, Err(SimulateError::UnknownPartner)));
    stage.node.desk.delete_key(&name("acme"), "k1").await.unwrap();
    let keyless = stage.node.inbound.simulate(&stage.ring, "acme", None).await;
    assert!(matches!(keyless, Err(SimulateError::NoKey)));
}

/// GitHub signs neither the event's name nor a delivery id: the name is passed on, and another name on the
/// same body does not make another event.
async fn github(stage: &Stage) {
    let core = core().await;
    source(stage, "\"github\"", &core).await;
    let body = r#"{"zen":"Keep it logically awesome."}"#;
    let hex = HEXLOWER.encode(&mac(SECRET, body));
    let event = |topic: &str| {
        request("acme", body)
            .with("x-hub-signature-256", &format!("sha256={hex}"))
            .with("x-github-event", topic)
    };
    stage.kept(&event("ping")).await;
    assert!(stage.kept(&event("ping")).await.is_repeat);
    assert!(stage.kept(&event("push")).await.is_repeat);
    assert!(stage.kept(&event("ping").with("x-github-delivery", "another")).await.is_repeat);
    assert_eq!(arrived(&core, 1).await[0].one("x-gancho-topic"), "ping");
    let upper =
        event("ping").with("x-hub-signature-256", &format!("sha256={}", hex.to_uppercase()));
    assert_eq!(stage.denied(&upper).await.reason, Reason::MalformedSignature);
    let old = event("ping").with("x-hub-signature-256", &format!("sha1={hex}"));
    assert_eq!(stage.denied(&old).await.status, 403);
    let receipts = stage.receipts("acme").await;
    assert_eq!((receipts.len(), receipts[0].topic.as_deref()), (1, Some("ping")));
}

async fn stripe(stage: &Stage) {
    let core = core().await;
    source(stage, "\"stripe\"", &core).await;
    let time = stage.clock.now().secs();
    let event = |body: &str| {
        let hex = HEXLOWER.encode(&mac(SECRET, format!("{time}.{body}")));
        request("acme", body).with("stripe-signature", &format!("t={time},v1={hex},v0=00"))
    };
    let first = stage.kept(&event(r#"{"id":"evt_1","type":"charge.succeeded"}"#)).await;
    let clash = stage.kept(&event(r#"{"id":"evt_1","type":"charge.failed"}"#)).await;
    assert_eq!(clash.clashes_with, Some(first.receipt), "its id is the event's");
    assert_eq!(stage.receipts("acme").await[0].event_id.as_deref(), Some("evt_1"));
}

async fn shopify_and_generic(stage: &Stage) {
    let core = core().await;
    source(stage, "\"shopify\"", &core).await;
    let body = r#"{"id":1}"#;
    let event = request("acme", body)
        .with("x-shopify-hmac-sha256", &BASE64.encode(&mac(SECRET, body)))
        .with("x-shopify-topic", "orders/create");
    stage.kept(&event).await;
    assert_eq!(arrived(&core, 1).await[0].one("x-gancho-topic"), "orders/create");
    // An order that is created and paid at once has the same body twice; text that is not in Shopify's format
    // is not a topic.
    assert!(!stage.kept(&event.clone().with("x-shopify-topic", "orders/paid")).await.is_repeat);
    stage.kept(&event.clone().without("x-shopify-topic")).await;
    for invalid in ["a1", "orders/paid/2", "orders/a1", "Orders/paid", "orders/", "orders/paid."] {
        assert!(
            stage.kept(&event.clone().with("x-shopify-topic", invalid)).await.is_repeat,
            "{invalid}"
        );
    }
    let draft = SourceDraft { preset: Some(raw(GENERIC)), ..SourceDraft::default() };
    stage.node.desk.change(&name("acme"), draft).await.unwrap();
    let time = stage.clock.now().secs();
    let hex = HEXLOWER.encode(&mac(SECRET, format!("{time}:{body}")));
    let generic: ReceivedRequest =
        request("acme", body).with("x-sig", &hex).with("x-time", &time.to_string());
    stage.kept(&generic).await;
    assert_eq!(stage.denied(&event).await.status, 403, "the old form is no longer taken");
}

/// A token that is compared, whatever its length.
async fn tokens(stage: &Stage) {
    let core = core().await;
    source(stage, r#"{"token":{"header":"X-Token"}}"#, &core).await;
    let with = |token: &str| request("acme", "{\"n\":1}").with("x-token", token);
    for invalid in
        ["", "a", "a secret of some lengt", "a secret of some length ", "a secret of some lengthx"]
    {
        assert_eq!(stage.denied(&with(invalid)).await.status, 403, "{invalid}");
    }
    assert_eq!(stage.denied(&request("acme", "{\"n\":1}")).await.status, 403);
    assert_eq!(stage.denied(&with(SECRET).and("x-token", SECRET)).await.status, 403);
    stage.kept(&with(SECRET)).await;
    assert!(stage.kept(&with(SECRET)).await.is_repeat, "the body is its identity");
    stage.until("acme", ReceiptStatus::Dispatched).await;
    let noted = stage.node.inbound.rejections.of("acme");
    assert!(!format!("{noted:?}").contains("secret of some"), "tokens are masked");
}

on_both!(the_simulator_speaks_every_form, github, stripe, shopify_and_generic, tokens);
