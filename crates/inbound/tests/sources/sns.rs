//! Amazon SNS: its signed messages are stored once, its subscriptions are confirmed, and nothing else is
//! accepted. The certificate and the confirmation are fetched over real TLS, from hosts that the operator
//! added.

mod amazon;
mod certificates;
mod subscriptions;

use std::time::Duration;

use gancho_domain::Clock;
use gancho_inbound::{Outcome, Reason, ReceiptStatus, SourceDraft};
use gancho_testkit::{http_request::arrived, sns::Signer, tls::Validity};
use serde_json::{Value, json};

use self::amazon::{Amazon, posted};
use crate::stage::{Spoil, Stage, kept, name, raw, request};

const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:ses-feedback";
const ID: &str = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324";

async fn both_versions_are_kept_once_and_dispatched(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    for (version, id) in [("1", "id-1"), ("2", "id-2")] {
        let mut message = amazon.notification(stage, id, "two\nlines, \"quoted\" \u{e9}");
        message["Subject"] = json!("A subject");
        // Not signed, and not used.
        message["MessageAttributes"] = json!({ "a": { "Type": "String", "Value": "b" } });
        amazon.signer.sign(&mut message, version).unwrap();
        let first = kept(amazon.send(&message).await);
        let again = kept(amazon.send(&message).await);
        assert_eq!((first.is_repeat, again.is_repeat), (false, true));
        assert_eq!(again.receipt, first.receipt);
    }
    assert_eq!(amazon.certificates.accepted(), 1, "it is fetched once");
    let seen = arrived(&amazon.core, 2).await;
    let mut ids: Vec<_> = seen.iter().map(|seen| seen.one("x-gancho-event-id")).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["id-1", "id-2"]);
    assert_eq!(seen[0].one("x-gancho-key-id"), "sns");
    assert_eq!(seen[0].one("x-gancho-topic"), TOPIC);
    assert_eq!(stage.ledger().await[0]["event_id"], "id-1");
    // A JSON content type is accepted too.
    let message = amazon.sign(amazon.notification(stage, "id-3", "hello"));
    let as_json = posted(&message).with("content-type", "application/json");
    let third = kept(amazon.inbound.receive(&as_json).await);
    // An id that is sent again with another text is stored separately, and SNS does not send it again.
    let clash = amazon.sign(amazon.notification(stage, "id-3", "another"));
    assert_eq!(kept(amazon.send(&clash).await).clashes_with, Some(third.receipt));
    assert_eq!(stage.receipts("ses").await.len(), 4);
    let dead = stage.receipts_of("ses", Some(ReceiptStatus::Dlq)).await;
    assert!(dead[0].last_error.as_ref().unwrap().starts_with("ID_CLASH: "));
}

/// Each signed field, and each field that says how it is signed.
async fn nothing_signed_can_be_changed(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let mut fine = amazon.notification(stage, ID, "text");
    fine["Subject"] = json!("subject");
    let fine = amazon.sign(fine);
    let changed = |name: &str, value: Value| {
        let mut message = fine.clone();
        message[name] = value;
        message
    };
    let later = (stage.clock.now() + Duration::from_secs(1)).to_string();
    for (name, value) in [
        ("Message", json!("texts")),
        ("Message", json!("")),
        ("MessageId", json!("another")),
        ("Subject", json!("another")),
        ("Subject", Value::Null),
        ("Timestamp", json!(later)),
        ("SignatureVersion", json!("1")),
        ("Signature", json!("AAAA")),
        ("Signature", json!("")),
    ] {
        amazon.refused(&changed(name, value), Reason::SignatureMismatch).await;
    }
    for (message, reason) in [
        (changed("Signature", json!("not base64!")), Reason::MalformedSignature),
        (changed("SignatureVersion", json!("0")), Reason::NotSns),
        (changed("SignatureVersion", Value::Null), Reason::NotSns),
        (changed("Signature", Value::Null), Reason::NotSns),
        (changed("TopicArn", json!(format!("{TOPIC}-2"))), Reason::Topic),
        (changed("TopicArn", json!(format!("{TOPIC}\n"))), Reason::NotSns),
        // A message that was published so that it is read as another one.
        (changed("MessageId", json!(format!("a\nMessageId\n{ID}"))), Reason::NotSns),
        (changed("Type", json!("SubscriptionConfirmation")), Reason::NotSns),
    ] {
        amazon.refused(&message, reason).await;
    }
    let mut confirm = changed("Type", json!("SubscriptionConfirmation"));
    confirm["Token"] = json!("t");
    confirm["SubscribeURL"] = json!(format!("https://127.0.0.1:{}/", amazon.subscriptions.port()));
    amazon.refused(&confirm, Reason::SignatureMismatch).await;
    // Signed with another key, whose certificate is Amazon's too.
    let mut foreign = fine.clone();
    Signer::new(Validity::Now).unwrap().sign(&mut foreign, "2").unwrap();
    amazon.refused(&foreign, Reason::SignatureMismatch).await;
    amazon.nothing_was_kept(stage).await;
    assert_eq!(amazon.subscriptions.accepted(), 0);
    kept(amazon.send(&fine).await);
}

/// Raw message delivery is not signed at all.
async fn what_is_not_signed_is_refused(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let refused = |body: &'static str| async {
        let request = request("ses", body).with("content-type", "text/plain; charset=UTF-8");
        match amazon.inbound.receive(&request).await {
            Outcome::Rejected(denied) => (denied.status, denied.reason),
            other => panic!("{other:?}"),
        }
    };
    for body in ["", "hello", "{\"notificationType\":\"Bounce\"}", "[]", "{\"Type\":1,\"Type\":2}"]
    {
        assert_eq!(refused(body).await, (403, Reason::NotSns), "{body}");
    }
    let detail = amazon.inbound.rejections.of("ses")[0].detail.clone().unwrap();
    assert!(detail.contains("raw message delivery"), "{detail}");
    // Plain text reveals no SNS partner: others are refused alike until they are verified.
    stage.acme(&amazon.core).await;
    for partner in ["acme", "nobody", "ses"] {
        let plain = request(partner, "{}").with("content-type", "text/plain");
        let Outcome::Rejected(denied) = amazon.inbound.receive(&plain).await else { panic!() };
        assert_eq!((denied.status, &*denied.detail), (403, "the request could not be verified"));
    }
    let proved = stage.signed("{}").with("content-type", "text/plain");
    let Outcome::Rejected(denied) = amazon.inbound.receive(&proved).await else { panic!() };
    assert_eq!(denied.status, 415);
    amazon.nothing_was_kept(stage).await;
    assert_eq!(amazon.certificates.accepted(), 0);
    // A gateway without SNS makes the sender retry.
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    assert_eq!(stage.denied(&posted(&message)).await.status, 503);
}

async fn old_messages_are_replays(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    let begin = stage.clock.now();
    // SNS retries for up to an hour.
    stage.clock.set(begin + Duration::from_secs(3_700));
    kept(amazon.send(&message).await);
    stage.clock.set(begin + Duration::from_secs(2 * 3_600 + 1));
    amazon.refused(&message, Reason::StaleTimestamp).await;
    stage.clock.set(begin - Duration::from_secs(301));
    amazon.refused(&message, Reason::StaleTimestamp).await;
    assert_eq!(stage.receipts("ses").await.len(), 1);
}

async fn the_source_of_a_topic(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let errors = |result: Result<_, gancho_inbound::SourceError>| match result {
        Err(gancho_inbound::SourceError::Faulty(errors)) => errors[0].code,
        _ => panic!("it was taken"),
    };
    let desk = &stage.node.desk;
    let key = desk.put_key(&name("ses"), "k1", crate::stage::hmac_key("a secret of length")).await;
    assert_eq!(errors(key.map(|_| ())), "keys_unused");
    let draft = |preset: &str| SourceDraft { preset: Some(raw(preset)), ..SourceDraft::default() };
    for (preset, code) in [
        (r#""sns""#, "preset_unknown"),
        (r#"{"sns":{}}"#, "preset_unknown"),
        (r#"{"sns":{"topics":[]}}"#, "preset_malformed"),
        (r#"{"sns":{"topics":["*"]}}"#, "preset_malformed"),
    ] {
        let changed = desk.change(&name("ses"), draft(preset)).await;
        assert_eq!(errors(changed.map(|_| ())), code, "{preset}");
    }
    stage.acme(&amazon.core).await;
    let sns = format!(r#"{{"sns":{{"topics":["{TOPIC}"]}}}}"#);
    let changed = desk.change(&name("acme"), draft(&sns)).await;
    assert_eq!(errors(changed.map(|_| ())), "preset_unfit", "it has a key");
    // Messages that arrive while the source is paused are sent again later.
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    let off = SourceDraft { is_active: Some(false), ..SourceDraft::default() };
    desk.change(&name("ses"), off).await.unwrap();
    let denied = amazon.denied(&message).await;
    assert_eq!((denied.status, denied.reason), (503, Reason::Paused));
    let on = SourceDraft { is_active: Some(true), ..SourceDraft::default() };
    desk.change(&name("ses"), on).await.unwrap();
    kept(amazon.send(&message).await);
    stage.until("ses", ReceiptStatus::Dispatched).await;
}

on_both!(both_versions_are_kept_once_and_dispatched, the_source_of_a_topic);
on_sqlite!(nothing_signed_can_be_changed, what_is_not_signed_is_refused, old_messages_are_replays,);
