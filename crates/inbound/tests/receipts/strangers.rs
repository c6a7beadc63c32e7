//! A caller without a valid signature learns nothing, not even which partners exist or which preset they use:
//! a source of any preset answers like a partner that does not exist.

use std::collections::BTreeSet;

use gancho_domain::Clock;
use gancho_inbound::{Reason, ReceiveError, ReceivedRequest, SourceDraft, rejections::UNKNOWN};

use crate::stage::{Spoil, Stage, core, hmac_key, raw, request};

const PRESETS: [(&str, &str); 11] = [
    ("by-partner", r#""partner""#),
    ("by-standard", r#""standard""#),
    ("by-stripe", r#""stripe""#),
    ("by-github", r#""github""#),
    ("by-slack", r#""slack""#),
    ("by-shopify", r#""shopify""#),
    ("by-meta", r#""meta""#),
    ("by-microsoft", r#""microsoft""#),
    ("by-token", r#"{"token":{"header":"X-Token"}}"#),
    (
        "by-generic",
        r#"{"generic":{"header":"X-Sig","encoding":"hex","base":"{timestamp}:{body}","timestamp_header":"X-Time"}}"#,
    ),
    ("by-sns", r#"{"sns":{"topics":["arn:aws:sns:eu-west-1:123456789012:bounces"]}}"#),
];

/// Every header that any preset reads, well-formed, with a signature that nobody made.
fn headers(now: i64) -> Vec<(&'static str, String)> {
    let (hex, base64) = ("00".repeat(32), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    vec![
        ("x-timestamp", now.to_string()),
        ("x-key-id", "k1".to_owned()),
        ("x-signature", format!("hmac-sha256={base64}")),
        ("webhook-id", "msg_1".to_owned()),
        ("webhook-timestamp", now.to_string()),
        ("webhook-signature", format!("v1,{base64}")),
        ("stripe-signature", format!("t={now},v1={hex}")),
        ("x-hub-signature-256", format!("sha256={hex}")),
        ("x-slack-request-timestamp", now.to_string()),
        ("x-slack-signature", format!("v0={hex}")),
        ("x-shopify-hmac-sha256", base64.to_owned()),
        ("x-token", "a token of some length".to_owned()),
        ("x-sig", hex.clone()),
        ("x-time", now.to_string()),
    ]
}

/// Manipulates each part of a request in each way, with all the other parts present and with none of them.
fn requests(now: i64) -> Vec<ReceivedRequest> {
    let headers = headers(now);
    let bare = request("", "{}");
    let full =
        headers.iter().fold(bare.clone(), |request, (name, value)| request.with(name, value));
    let mut all = vec![bare.clone(), full.clone()];
    let stale = (now - 3_600).to_string();
    let long = "a".repeat(20_000);
    for (name, good) in &headers {
        all.push(full.clone().without(name));
        all.push(full.clone().and(name, good));
        all.push(bare.clone().with(name, good).and(name, "other"));
        let spoiled = format!("{good}.");
        let late = format!("t={stale},v1={}", "00".repeat(32));
        for invalid in ["", "soon", "t=x,v1=00", "t=x", &stale, &late, &long, &spoiled, "\u{e9}"] {
            all.push(full.clone().with(name, invalid));
            all.push(bare.clone().with(name, invalid));
        }
    }
    for body in [
        "",
        "{",
        r#"{"value":[{"clientState":"not the one"}]}"#,
        r#"{"value":[]}"#,
        r#"{"type":"url_verification","challenge":"c"}"#,
        r#"{"Type":"Notification","MessageId":"m","TopicArn":"arn:aws:sns:eu-west-1:1:x"}"#,
    ] {
        all.push(full.clone().body(body));
        all.push(bare.clone().body(body));
    }
    for kind in ["text/plain", "text/xml", "application/json; charset=latin1"] {
        all.push(full.clone().with("content-type", kind));
        all.push(full.clone().with("content-type", kind).with("x-timestamp", "soon"));
    }
    // Queries that only look like a handshake.
    for query in ["validationToken=", "validationToken=a%0Ab", "hub.mode=subscribe"] {
        for request in [bare.clone(), full.clone(), full.clone().with("x-timestamp", "soon")] {
            all.push(ReceivedRequest { query: Some(query.into()), ..request });
        }
    }
    all
}

/// Returns all that the sender sees.
fn told(denied: &ReceiveError) -> impl PartialEq + std::fmt::Debug {
    let ReceiveError { status, code, detail, errors, retry_after, receipt, .. } = denied.clone();
    (status, code, detail, errors, retry_after, receipt)
}

async fn a_source_of_any_form_answers_as_one_that_is_not_there(stage: &Stage) {
    let core = core().await;
    for (partner, preset) in PRESETS {
        let draft = SourceDraft {
            partner: Some(partner.into()),
            preset: Some(raw(preset)),
            target_url: Some(crate::stage::url(&core)),
            ..SourceDraft::default()
        };
        stage.node.desk.create(draft).await.unwrap();
        if partner != "by-sns" {
            // A secret that is long enough for all presets.
            let secret = "another secret of some length, in no header";
            stage.put_key(partner, "k1", hmac_key(secret)).await;
        }
    }
    let mut statuses = BTreeSet::new();
    for request in requests(stage.clock.now().secs()) {
        let unknown = stage.denied(&request.clone().to("nobody")).await;
        statuses.insert(unknown.status);
        for (partner, _) in PRESETS {
            let known = stage.denied(&request.clone().to(partner)).await;
            assert_eq!(told(&known), told(&unknown), "{partner}: {request:?}");
            assert_ne!(known.reason, Reason::UnknownPartner);
        }
    }
    assert_eq!(statuses, BTreeSet::from([400, 403, 415]));
    assert_eq!(stage.ledger().await.len(), 0);
}

/// The operator sees the real reason.
async fn the_true_reason_is_noted(stage: &Stage) {
    let core = core().await;
    for (partner, preset) in &PRESETS[1..3] {
        let draft = SourceDraft { preset: Some(raw(preset)), ..SourceDraft::default() };
        stage.source(partner, &core, draft).await;
    }
    let claim = format!("t=soon,v1={}", "00".repeat(32));
    let invalid = request("by-stripe", "{}").with("stripe-signature", &claim);
    let denied = stage.denied(&invalid).await;
    assert_eq!((denied.status, denied.reason), (403, Reason::MalformedTimestamp));
    let noted = stage.node.inbound.rejections.of("by-stripe");
    assert_eq!((noted[0].status, noted[0].reason), (403, Reason::MalformedTimestamp));
    assert!(noted[0].detail.as_ref().unwrap().contains("expected seconds"), "{noted:?}");
    assert_eq!(stage.node.inbound.counters.of_reason(Reason::MalformedTimestamp), 1);
    assert_eq!(stage.node.inbound.rejections.of(UNKNOWN).len(), 0);
}

on_sqlite!(a_source_of_any_form_answers_as_one_that_is_not_there, the_true_reason_is_noted,);
