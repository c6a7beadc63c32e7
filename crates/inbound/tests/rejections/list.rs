//! What the operator sees of rejected requests: the reason, and never a secret.

use std::time::Duration;

use gancho_domain::Clock;
use gancho_inbound::{Reason, SourceDraft, rejections::UNKNOWN};

use crate::stage::{SECRET, Spoil, Stage, core, raw, request};

async fn the_reason_is_for_the_operator(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let invalid = stage
        .signed("{\"card\":\"4111\"}")
        .with("x-signature", "hmac-sha256=AAAA")
        .with("authorization", "Bearer hush")
        .with("cookie", "session=hush")
        .with("x-api-key", "hush")
        .with("user-agent", "partner/1.0");
    stage.denied(&invalid).await;
    stage.denied(&invalid.clone().to("nobody")).await;
    let noted = stage.node.inbound.rejections.of("acme");
    assert_eq!(noted.len(), 1);
    let one = &noted[0];
    assert_eq!(
        (one.status, one.reason, one.at),
        (403, Reason::MalformedSignature, stage.clock.now())
    );
    let value = |name: &str| one.headers.iter().find(|(n, _)| n == name).unwrap().1.as_str();
    assert_eq!((value("user-agent"), value("x-key-id")), ("partner/1.0", "k1"));
    for hidden in ["authorization", "cookie", "x-api-key"] {
        assert_eq!(value(hidden), "••••");
    }
    let text = format!("{noted:?}");
    assert!(!text.contains("hush") && !text.contains("4111"), "{text}");
    let unknown = stage.node.inbound.rejections.of(UNKNOWN);
    assert_eq!((unknown.len(), unknown[0].partner.as_str()), (1, "nobody"));
    let counters = &stage.node.inbound.counters;
    assert_eq!(counters.of_reason(Reason::MalformedSignature), 1);
    assert_eq!(counters.of_reason(Reason::UnknownPartner), 1);
    assert_eq!(Reason::MalformedSignature.deny_label(), "policy_fail");
}

/// Recorded rejections are bounded by partner, by name and by time, whatever is sent; all are counted.
async fn a_flood_is_counted_and_not_kept(stage: &Stage) {
    let core = core().await;
    stage.acme(&core).await;
    let invalid = stage.signed("{}").with("x-signature", "no");
    for n in 0..2_000 {
        stage.denied(&invalid.clone().to(&format!("nobody-{n}"))).await;
    }
    let rejections = &stage.node.inbound.rejections;
    stage.denied(&invalid).await;
    assert_eq!(rejections.of("acme").len(), 1, "others' flood hides nothing");
    for _ in 1..2_000 {
        stage.denied(&invalid).await;
    }
    assert_eq!(rejections.of("acme").len(), 50);
    assert_eq!(rejections.of(UNKNOWN).len(), 50);
    assert_eq!(stage.node.inbound.counters.of_reason(Reason::MalformedSignature), 2_000);
    assert_eq!(stage.node.inbound.counters.by_partner().len(), 0);
    stage.clock.advance(Duration::from_secs(1));
    stage.denied(&stage.signed("{}").with("x-key-id", "new")).await;
    assert_eq!(rejections.of("acme")[0].reason, Reason::UnknownKey, "the newest stands first");
    assert_eq!(stage.ledger().await.len(), 0);
}

/// A token is a secret, so the header that carries it is never shown, whatever its name.
async fn tokens_are_never_shown(stage: &Stage) {
    let core = core().await;
    for (n, header) in ["User-Agent", "X-Signature", "X-Key-Id", "X-Request-Id"].iter().enumerate()
    {
        let preset = raw(&format!(r#"{{"token":{{"header":"{header}"}}}}"#));
        let draft = SourceDraft { preset: Some(preset), ..SourceDraft::default() };
        let partner = format!("partner-{n}");
        stage.source(&partner, &core, draft).await;
        // Verified, but rejected for its form.
        let request = request(&partner, "{").with(header, SECRET).with("date", "today");
        assert_eq!(stage.denied(&request).await.status, 400);
        let noted = stage.node.inbound.rejections.of(&partner);
        let text = format!("{noted:?}");
        assert!(text.contains("today") && !text.contains(SECRET), "{header}: {text}");
    }
}

on_both!(the_reason_is_for_the_operator, a_flood_is_counted_and_not_kept, tokens_are_never_shown);
