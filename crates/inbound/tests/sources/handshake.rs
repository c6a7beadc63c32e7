//! Handshakes of senders: answered where they should be, and never stored.

use data_encoding::HEXLOWER;
use gancho_domain::Clock;
use gancho_inbound::{Outcome, Reason, ReceivedRequest, RequestMethod, SourceDraft};

use crate::stage::{SECRET, Spoil, Stage, core, mac, raw, request};

async fn source(stage: &Stage, preset: &str) {
    let draft = SourceDraft {
        preset: Some(raw(preset)),
        verify_token: Some(Some("the token we agreed on".into())),
        ..SourceDraft::default()
    };
    stage.source("acme", &core().await, draft).await;
}

async fn reply(stage: &Stage, request: &ReceivedRequest) -> (String, &'static str) {
    match stage.send(request).await {
        Outcome::Reply(reply) => {
            (String::from_utf8(reply.body.to_vec()).unwrap(), reply.content_type)
        }
        other => panic!("{other:?}"),
    }
}

fn query(verb: RequestMethod, query: &str) -> ReceivedRequest {
    ReceivedRequest { verb, query: Some(query.to_owned()), ..request("acme", "") }
}

/// Signed like all requests of Slack.
async fn slack(stage: &Stage) {
    source(stage, "\"slack\"").await;
    let time = stage.clock.now().secs();
    let body = r#"{"token":"x","challenge":"3eZbrw1aB\"<b>","type":"url_verification"}"#;
    let hex = HEXLOWER.encode(&mac(SECRET, format!("v0:{time}:{body}")));
    let asked = request("acme", body)
        .with("x-slack-request-timestamp", &time.to_string())
        .with("x-slack-signature", &format!("v0={hex}"));
    let (body, content_type) = reply(stage, &asked).await;
    assert_eq!(
        (body.as_str(), content_type),
        (r#"{"challenge":"3eZbrw1aB\"<b>"}"#, "application/json")
    );
    let unsigned = asked.with("x-slack-signature", &format!("v0={}", "0".repeat(64)));
    assert_eq!(stage.denied(&unsigned).await.status, 403);
    assert_eq!(stage.ledger().await.len(), 0);
    assert_eq!(stage.node.inbound.counters.greetings(), 1);
}

async fn meta(stage: &Stage) {
    source(stage, "\"meta\"").await;
    let asked =
        "hub.mode=subscribe&hub.challenge=115%3C8201444&hub.verify_token=the+token+we+agreed+on";
    let (body, content_type) = reply(stage, &query(RequestMethod::Get, asked)).await;
    assert_eq!((body.as_str(), content_type), ("115<8201444", "text/plain; charset=utf-8"));
    for invalid in [
        "",
        "hub.mode=subscribe&hub.challenge=1",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong",
        "hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=the+token+we+agreed+on",
        "hub.mode=subscribe&hub.verify_token=the+token+we+agreed+on",
        "hub.mode=subscribe&hub.challenge=a%0d%0ab&hub.verify_token=the+token+we+agreed+on",
    ] {
        let denied = stage.denied(&query(RequestMethod::Get, invalid)).await;
        assert_eq!((denied.status, denied.reason), (403, Reason::Handshake), "{invalid}");
    }
    let body = "{}";
    let hex = HEXLOWER.encode(&mac(SECRET, body));
    stage.kept(&request("acme", body).with("x-hub-signature-256", &format!("sha256={hex}"))).await;
}

async fn microsoft(stage: &Stage) {
    source(stage, "\"microsoft\"").await;
    let asked = query(RequestMethod::Post, "validationToken=Validation%3a+Testing+client&x=1");
    let (body, content_type) = reply(stage, &asked.without("content-type")).await;
    assert_eq!(
        (body.as_str(), content_type),
        ("Validation: Testing client", "text/plain; charset=utf-8")
    );
    let long = format!("validationToken={}", "a".repeat(2_049));
    assert_eq!(stage.denied(&query(RequestMethod::Post, &long)).await.status, 403);
    let notified = |state: &str| {
        request(
            "acme",
            &format!(r#"{{"value":[{{"clientState":"{SECRET}"}},{{"clientState":"{state}"}}]}}"#),
        )
    };
    stage.kept(&notified(SECRET)).await;
    for invalid in [
        notified("another"),
        request("acme", r#"{"value":[]}"#),
        request("acme", "{}"),
        request("acme", r#"{"value":[{}]}"#),
        request("acme", "nothing"),
    ] {
        assert_eq!(stage.denied(&invalid).await.status, 403);
    }
}

/// No other preset answers a GET, and no handshake is answered for another preset.
async fn the_others_are_silent(stage: &Stage) {
    source(stage, "\"partner\"").await;
    for asked in [
        query(
            RequestMethod::Get,
            "hub.mode=subscribe&hub.challenge=1&hub.verify_token=the+token+we+agreed+on",
        ),
        query(RequestMethod::Get, "").to("nobody"),
    ] {
        assert_eq!(stage.denied(&asked).await.status, 403);
    }
}

/// faults.md 32: the answer to Microsoft's handshake does not reveal which partners use Microsoft. It is not
/// stored, and no request with a body is taken for one.
async fn a_validation_is_answered_for_everyone(stage: &Stage) {
    let asked = query(RequestMethod::Post, "validationToken=abc%26d").without("content-type");
    let expected = ("abc&d".to_owned(), "text/plain; charset=utf-8");
    assert_eq!(reply(stage, &asked.clone().to("nobody")).await, expected);
    for preset in ["\"partner\"", "\"microsoft\"", "\"slack\"", "\"meta\"", "\"github\""] {
        source(stage, preset).await;
        assert_eq!(reply(stage, &asked).await, expected, "{preset}");
        let invalid = query(RequestMethod::Post, "validationToken=a%0ab");
        let known = stage.denied(&invalid).await;
        let unknown = stage.denied(&invalid.clone().to("nobody")).await;
        assert_eq!((known.status, &known.detail), (unknown.status, &unknown.detail), "{preset}");
        let full = ReceivedRequest { query: asked.query.clone(), ..request("acme", "{}") };
        assert_eq!(stage.denied(&full).await.status, 403, "{preset}");
        stage.node.desk.delete(&"acme".parse().unwrap()).await.unwrap();
    }
}

on_both!(slack, meta, microsoft, the_others_are_silent, a_validation_is_answered_for_everyone);
