//! Amazon SNS: what it signed is kept once, its subscriptions are confirmed, and nothing else passes.
//! The certificate and the confirmation are fetched over real TLS, from hosts that the operator added.

use std::{sync::Arc, time::Duration};

use gancho_domain::Clock;
use gancho_egress::{Client, Policy, Settings};
use gancho_inbound::{
    Inbound, InboundSetup, Limits, Outcome, PolicyService, Reason, ReceiptStatus, ReceiveError,
    ReceivedRequest, SnsHosts, SourceDraft, sns::certificates::BY_SOURCE,
};
use gancho_testkit::{
    http_request::arrived,
    receiver::{Receiver, Step},
    sns::{Signer, confirmation, document, elliptic_certificate, notification},
    tls::{Authority, Life},
};
use serde_json::{Value, json};

use crate::stage::{Spoil, Stage, core, kept, name, raw, request, url};

const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:ses-feedback";
const ID: &str = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324";

/// A gateway that believes in this SNS.
struct Amazon {
    signer: Signer,
    inbound: Inbound,
    certificates: Receiver,
    subscriptions: Receiver,
    core: Receiver,
}

type Script = Box<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

fn always(steps: Vec<Step>) -> Script {
    Box::new(move |_| steps.clone())
}

impl Amazon {
    async fn new(stage: &Stage) -> Self {
        let signer = Signer::new(Life::Now).unwrap();
        let script = always(document("200 OK", signer.certificate()));
        Self::serving(stage, signer, script, always(document("200 OK", "<ok/>"))).await
    }

    /// With a certificate of its own making at the URL.
    async fn with_certificate(stage: &Stage, signer: Signer, text: &str) -> Self {
        let script = always(document("200 OK", text));
        Self::serving(stage, signer, script, always(document("200 OK", "<ok/>"))).await
    }

    async fn serving(stage: &Stage, signer: Signer, pem: Script, confirm: Script) -> Self {
        let authority = Authority::new().unwrap();
        let tls = || authority.server(&["127.0.0.1"], Life::Now, &["http/1.1"]).unwrap();
        let certificates = Receiver::tls(tls(), pem).await.unwrap();
        let subscriptions = Receiver::tls(tls(), confirm).await.unwrap();
        let client = Client::new(Settings {
            policy: Policy::for_dev(),
            extra_roots: vec![authority.root()],
            ..Settings::default()
        });
        let ports = [certificates.port(), subscriptions.port()];
        let node = &stage.node;
        let inbound = Inbound::new(InboundSetup {
            store: node.store.clone(),
            engine: node.engine.clone(),
            sources: node.sources.clone(),
            keys: node.keys.clone(),
            policy: Arc::new(PolicyService::open(None).unwrap()),
            ids: node.desk.ids.clone(),
            clock: stage.clock.clone(),
            limits: Limits::default(),
        });
        let hosts = SnsHosts::with(ports.map(|port| format!("127.0.0.1:{port}")));
        let inbound = inbound.with_sns(client.unwrap(), hosts);
        let core = core().await;
        let amazon = Self { signer, inbound, certificates, subscriptions, core };
        amazon.source(stage, "ses").await;
        amazon
    }

    async fn source(&self, stage: &Stage, partner: &str) {
        let draft = SourceDraft {
            partner: Some(partner.into()),
            preset: Some(raw(&json!({ "sns": { "topics": [TOPIC] } }).to_string())),
            target_url: Some(url(&self.core)),
            ..SourceDraft::default()
        };
        stage.node.desk.create(draft).await.unwrap();
    }

    fn pem(&self) -> String {
        format!("https://127.0.0.1:{}/SimpleNotificationService-1.pem", self.certificates.port())
    }

    fn notification(&self, stage: &Stage, id: &str, text: &str) -> Value {
        let mut message = notification(TOPIC, &stage.clock.now().to_string(), id, text);
        message["SigningCertURL"] = json!(self.pem());
        message
    }

    fn greeting(&self, stage: &Stage, kind: &str) -> Value {
        let url = format!("https://127.0.0.1:{}/?Action=Confirm", self.subscriptions.port());
        let mut message = confirmation(kind, TOPIC, &stage.clock.now().to_string(), &url);
        message["SigningCertURL"] = json!(self.pem());
        self.sign(message)
    }

    fn sign(&self, mut message: Value) -> Value {
        self.signer.sign(&mut message, "2").unwrap();
        message
    }

    async fn send(&self, message: &Value) -> Outcome {
        self.inbound.receive(&posted(message)).await
    }

    async fn denied(&self, message: &Value) -> ReceiveError {
        match self.send(message).await {
            Outcome::Rejected(denied) => denied,
            other => panic!("{other:?}: {message}"),
        }
    }

    /// Refused as anything unproven is, for this reason.
    async fn refused(&self, message: &Value, reason: Reason) {
        let denied = self.denied(message).await;
        let told = (denied.status, denied.code, &*denied.detail);
        assert_eq!(told, (403, "deny_invalid_access", "the request could not be verified"));
        assert_eq!(denied.reason, reason, "{:?}: {message}", denied.note);
        let rejection = self.inbound.rejections.of("ses").into_iter().next().unwrap();
        assert_eq!(rejection.reason, reason);
        assert!(rejection.detail.is_some(), "the operator is told more");
    }

    async fn nothing_was_kept(&self, stage: &Stage) {
        assert_eq!(stage.receipts("ses").await.len(), 0);
        assert_eq!(stage.ledger().await.len(), 0);
        assert_eq!(self.core.accepted(), 0);
    }
}

fn posted(message: &Value) -> ReceivedRequest {
    request("ses", &message.to_string()).with("content-type", "text/plain; charset=UTF-8")
}

async fn both_versions_are_kept_once_and_dispatched(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    for (version, id) in [("1", "id-1"), ("2", "id-2")] {
        let mut message = amazon.notification(stage, id, "two\nlines, \"quoted\" \u{e9}");
        message["Subject"] = json!("A subject");
        // Not signed, and none of our business.
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
    // JSON by name is JSON too.
    let message = amazon.sign(amazon.notification(stage, "id-3", "hello"));
    let as_json = posted(&message).with("content-type", "application/json");
    let third = kept(amazon.inbound.receive(&as_json).await);
    // An id that comes again with another text is kept apart, and SNS is not asked to send it again.
    let clash = amazon.sign(amazon.notification(stage, "id-3", "another"));
    assert_eq!(kept(amazon.send(&clash).await).clashes_with, Some(third.receipt));
    assert_eq!(stage.receipts("ses").await.len(), 4);
    let dead = stage.receipts_of("ses", Some(ReceiptStatus::Dlq)).await;
    assert!(dead[0].last_error.as_ref().unwrap().starts_with("ID_CLASH: "));
}

/// Each field that is signed, and each that says how.
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
        // A message that a stranger published to be read as something else.
        (changed("MessageId", json!(format!("a\nMessageId\n{ID}"))), Reason::NotSns),
        (changed("Type", json!("SubscriptionConfirmation")), Reason::NotSns),
    ] {
        amazon.refused(&message, reason).await;
    }
    let mut confirm = changed("Type", json!("SubscriptionConfirmation"));
    confirm["Token"] = json!("t");
    confirm["SubscribeURL"] = json!(format!("https://127.0.0.1:{}/", amazon.subscriptions.port()));
    amazon.refused(&confirm, Reason::SignatureMismatch).await;
    // Another's key, though its certificate is Amazon's too.
    let mut foreign = fine.clone();
    Signer::new(Life::Now).unwrap().sign(&mut foreign, "2").unwrap();
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
    // Plain text tells nobody which partner is SNS: others are refused alike until they are proved.
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
    // A gateway that knows nothing of SNS asks for it to be sent again.
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    assert_eq!(stage.denied(&posted(&message)).await.status, 503);
}

async fn old_messages_are_replays(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    let begin = stage.clock.now();
    // SNS tries for up to an hour.
    stage.clock.set(begin + Duration::from_secs(3_700));
    kept(amazon.send(&message).await);
    stage.clock.set(begin + Duration::from_secs(2 * 3_600 + 1));
    amazon.refused(&message, Reason::StaleTimestamp).await;
    stage.clock.set(begin - Duration::from_secs(301));
    amazon.refused(&message, Reason::StaleTimestamp).await;
    assert_eq!(stage.receipts("ses").await.len(), 1);
}

/// Nobody is asked for a certificate who is not SNS.
async fn certificates_come_from_sns_alone(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let port = amazon.certificates.port();
    for url in [
        format!("http://127.0.0.1:{port}/a.pem"),
        format!("https://localhost:{port}/a.pem"),
        format!("https://user@127.0.0.1:{port}/a.pem"),
        format!("https://127.0.0.1:{port}/a.txt"),
        format!("https://127.0.0.1:{port}/a.pem?b"),
        format!("https://127.0.0.1:{}/a.pem", amazon.core.port()),
        "https://sns.eu-west-1.amazonaws.com.evil.com/a.pem".to_owned(),
        "https://sns.eu-west-1.amazonaws.com@evil.com/a.pem".to_owned(),
        "https://169.254.169.254/a.pem".to_owned(),
        "file:///etc/ssl/a.pem".to_owned(),
    ] {
        let mut message = amazon.notification(stage, ID, "text");
        message["SigningCertURL"] = json!(url);
        amazon.refused(&amazon.sign(message), Reason::Certificate).await;
    }
    assert_eq!(amazon.certificates.accepted() + amazon.core.accepted(), 0);
    amazon.nothing_was_kept(stage).await;
}

async fn odd_certificates_are_refused(stage: &Stage) {
    let now = || Signer::new(Life::Now).unwrap();
    let good = now();
    let long = format!("{}{}", "#".repeat(17_000), good.certificate());
    let whole = good.certificate().to_owned();
    let cut = whole[..whole.len() / 2].to_owned();
    let weak = Signer::weak().unwrap();
    let weak_text = weak.certificate().to_owned();
    let (over, ahead) = (Signer::new(Life::Over).unwrap(), Signer::new(Life::Ahead).unwrap());
    let (over_text, ahead_text) = (over.certificate().to_owned(), ahead.certificate().to_owned());
    for (what, signer, text) in [
        ("expired", over, over_text),
        ("not valid yet", ahead, ahead_text),
        ("not RSA", now(), elliptic_certificate().unwrap()),
        ("too short a key", weak, weak_text),
        ("too long", good, long),
        ("cut off", now(), cut),
        ("a page", now(), "<html>sign in</html>".to_owned()),
        ("nothing", now(), String::new()),
    ] {
        let amazon = Amazon::with_certificate(stage, signer, &text).await;
        for version in ["1", "2"] {
            let mut message = amazon.notification(stage, ID, "text");
            amazon.signer.sign(&mut message, version).unwrap();
            amazon.refused(&message, Reason::Certificate).await;
        }
        assert_eq!(amazon.certificates.accepted(), 1, "{what}: it is not asked for again at once");
        amazon.nothing_was_kept(stage).await;
        stage.node.desk.delete(&name("ses")).await.unwrap();
    }
}

/// What may pass is told as such, so that SNS tries again.
async fn a_certificate_that_is_away(stage: &Stage) {
    let signer = Signer::new(Life::Now).unwrap();
    let whole = document("200 OK", signer.certificate());
    let script = move |number| match number {
        0 => document("503 Away", ""),
        1 => vec![Step::ReadRequest, Step::Reset],
        2 => document("302 Found\r\nlocation: https://127.0.0.1:1/", ""),
        _ => whole.clone(),
    };
    let amazon =
        Amazon::serving(stage, signer, Box::new(script), always(document("200 OK", ""))).await;
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    for tried in 1..=2 {
        for _ in 0..3 {
            let denied = amazon.denied(&message).await;
            assert_eq!((denied.status, denied.reason), (503, Reason::CertificateAway));
            assert!(denied.retry_after.is_some());
        }
        assert_eq!(amazon.certificates.accepted(), tried);
        stage.clock.advance(Duration::from_secs(3));
    }
    amazon.refused(&message, Reason::Certificate).await;
    stage.clock.advance(Duration::from_secs(61));
    kept(amazon.send(&message).await);
    assert_eq!(amazon.certificates.accepted(), 4, "no redirect was followed");
}

/// Whoever knows a topic can have certificates asked for, but not many, and not for long.
async fn a_flood_of_forgeries_asks_for_few_certificates(stage: &Stage) {
    let amazon = Arc::new(Amazon::new(stage).await);
    let known = amazon.sign(amazon.notification(stage, ID, "text"));
    kept(amazon.send(&known).await);
    let mut floods = tokio::task::JoinSet::new();
    for number in 0..300 {
        let mut forged = known.clone();
        forged["MessageId"] = json!(format!("forged-{number}"));
        forged["Signature"] = json!("AAAA");
        forged["SigningCertURL"] = json!(amazon.pem().replace("-1.pem", &format!("-{number}.pem")));
        let amazon = amazon.clone();
        floods.spawn(async move { amazon.denied(&forged).await.status });
    }
    let statuses = floods.join_all().await;
    assert!(statuses.iter().all(|status| [403, 503].contains(status)), "{statuses:?}");
    assert!(amazon.certificates.accepted() <= BY_SOURCE.count as usize);
    // What is known still works, and so does another source.
    kept(amazon.send(&amazon.sign(amazon.notification(stage, "id-2", "text"))).await);
    amazon.source(stage, "other").await;
    let mut message = amazon.notification(stage, "id-3", "text");
    message["SigningCertURL"] = json!(amazon.pem().replace("-1.pem", "-other.pem"));
    let request = posted(&amazon.sign(message)).to("other");
    kept(amazon.inbound.receive(&request).await);
}

/// One of many who wait asks, and a URL that hangs holds up nobody whose certificate is known.
async fn a_certificate_that_hangs(stage: &Stage) {
    let signer = Signer::new(Life::Now).unwrap();
    let whole = document("200 OK", signer.certificate());
    let script = move |number| match number {
        0 => whole.clone(),
        _ => vec![Step::ReadRequest, Step::Hang],
    };
    let amazon =
        Amazon::serving(stage, signer, Box::new(script), always(document("200 OK", ""))).await;
    let amazon = Arc::new(amazon);
    kept(amazon.send(&amazon.sign(amazon.notification(stage, ID, "text"))).await);
    let mut slow = amazon.notification(stage, "id-2", "text");
    slow["SigningCertURL"] = json!(amazon.pem().replace("-1.pem", "-2.pem"));
    let slow = amazon.sign(slow);
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (amazon, slow) = (amazon.clone(), slow.clone());
        waiting.spawn(async move { amazon.denied(&slow).await });
    }
    arrived(&amazon.certificates, 2).await;
    kept(amazon.send(&amazon.sign(amazon.notification(stage, "id-3", "text"))).await);
    for denied in waiting.join_all().await {
        assert_eq!((denied.status, denied.reason), (503, Reason::CertificateAway));
    }
    assert_eq!(amazon.certificates.accepted(), 2, "one asked for all of them");
}

async fn subscriptions_are_confirmed(stage: &Stage) {
    let signer = Signer::new(Life::Now).unwrap();
    let pem = always(document("200 OK", signer.certificate()));
    let confirm: Script = Box::new(|number| match number {
        0 => document("500 No", ""),
        1 => document("302 Found\r\nlocation: https://127.0.0.1:1/", ""),
        _ => document("200 OK", "<ConfirmSubscriptionResponse/>"),
    });
    let amazon = Amazon::serving(stage, signer, pem, confirm).await;
    let asked = amazon.greeting(stage, "SubscriptionConfirmation");
    for _ in 0..2 {
        let denied = amazon.denied(&asked).await;
        assert_eq!((denied.status, denied.reason), (503, Reason::Confirmation));
    }
    let Outcome::Reply(reply) = amazon.send(&asked).await else { panic!() };
    assert!(reply.body.is_empty());
    let seen = arrived(&amazon.subscriptions, 3).await;
    assert_eq!(seen[2].line, "GET /?Action=Confirm HTTP/1.1");
    // The end of a subscription is heard, and nobody is asked to begin it anew.
    let ended = amazon.greeting(stage, "UnsubscribeConfirmation");
    assert!(matches!(amazon.send(&ended).await, Outcome::Reply(_)));
    assert_eq!(amazon.subscriptions.accepted(), 3);
    amazon.nothing_was_kept(stage).await;
}

/// Whoever saw a confirmation can send it again as long as its time is good: that makes few requests.
async fn a_confirmation_that_is_sent_again_and_again(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let seen = amazon.greeting(stage, "SubscriptionConfirmation");
    for _ in 0..20 {
        assert!(matches!(amazon.send(&seen).await, Outcome::Reply(_)));
    }
    for _ in 0..30 {
        let denied = amazon.denied(&seen).await;
        assert_eq!((denied.status, denied.reason), (503, Reason::Confirmation));
    }
    assert_eq!(amazon.subscriptions.requests().len(), 20);
    stage.clock.advance(Duration::from_secs(3));
    assert!(matches!(amazon.send(&seen).await, Outcome::Reply(_)), "one more every three seconds");
    amazon.denied(&seen).await;
    amazon.nothing_was_kept(stage).await;
}

/// A signed message may still not send the gateway anywhere but to SNS.
async fn confirmations_go_to_sns_alone(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let fine = amazon.greeting(stage, "SubscriptionConfirmation");
    for url in [
        "https://sns.eu-west-1.amazonaws.com.evil.com/?Action=ConfirmSubscription".to_owned(),
        format!("http://127.0.0.1:{}/", amazon.subscriptions.port()),
        format!("https://a:b@127.0.0.1:{}/", amazon.subscriptions.port()),
        format!("https://127.0.0.1:{}/", amazon.core.port()),
        "https://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let mut message = fine.clone();
        message["SubscribeURL"] = json!(url);
        amazon.refused(&amazon.sign(message), Reason::Confirmation).await;
    }
    let mut other = fine.clone();
    other["TopicArn"] = json!("arn:aws:sns:eu-west-1:999999999999:strangers");
    amazon.refused(&amazon.sign(other), Reason::Topic).await;
    let mut unsigned = fine;
    unsigned["Token"] = json!("another");
    amazon.refused(&unsigned, Reason::SignatureMismatch).await;
    assert_eq!(amazon.subscriptions.accepted(), 0);
    amazon.nothing_was_kept(stage).await;
}

async fn the_source_of_a_topic(stage: &Stage) {
    let amazon = Amazon::new(stage).await;
    let faults = |result: Result<_, gancho_inbound::SourceError>| match result {
        Err(gancho_inbound::SourceError::Faulty(faults)) => faults[0].code,
        _ => panic!("it was taken"),
    };
    let desk = &stage.node.desk;
    let key = desk.put_key(&name("ses"), "k1", crate::stage::hmac_key("a secret of length")).await;
    assert_eq!(faults(key.map(|_| ())), "keys_unused");
    let draft = |preset: &str| SourceDraft { preset: Some(raw(preset)), ..SourceDraft::default() };
    for (preset, code) in [
        (r#""sns""#, "preset_unknown"),
        (r#"{"sns":{}}"#, "preset_unknown"),
        (r#"{"sns":{"topics":[]}}"#, "preset_malformed"),
        (r#"{"sns":{"topics":["*"]}}"#, "preset_malformed"),
    ] {
        let changed = desk.change(&name("ses"), draft(preset)).await;
        assert_eq!(faults(changed.map(|_| ())), code, "{preset}");
    }
    stage.acme(&amazon.core).await;
    let sns = format!(r#"{{"sns":{{"topics":["{TOPIC}"]}}}}"#);
    let changed = desk.change(&name("acme"), draft(&sns)).await;
    assert_eq!(faults(changed.map(|_| ())), "preset_unfit", "it has a key");
    // Switched off, it looks as if it were not there.
    let message = amazon.sign(amazon.notification(stage, ID, "text"));
    let off = SourceDraft { is_active: Some(false), ..SourceDraft::default() };
    desk.change(&name("ses"), off).await.unwrap();
    let denied = amazon.denied(&message).await;
    assert_eq!((denied.status, denied.reason), (403, Reason::SwitchedOff));
    let on = SourceDraft { is_active: Some(true), ..SourceDraft::default() };
    desk.change(&name("ses"), on).await.unwrap();
    kept(amazon.send(&message).await);
    stage.until("ses", ReceiptStatus::Dispatched).await;
}

on_both!(both_versions_are_kept_once_and_dispatched, the_source_of_a_topic);
on_sqlite!(
    nothing_signed_can_be_changed,
    what_is_not_signed_is_refused,
    old_messages_are_replays,
    certificates_come_from_sns_alone,
    odd_certificates_are_refused,
    a_certificate_that_is_away,
    a_flood_of_forgeries_asks_for_few_certificates,
    a_certificate_that_hangs,
    subscriptions_are_confirmed,
    a_confirmation_that_is_sent_again_and_again,
    confirmations_go_to_sns_alone,
);
