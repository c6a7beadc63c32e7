//! Certificates are fetched from SNS only, and rarely.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gancho_inbound::{Reason, sns::certificates::BY_SOURCE};
use gancho_testkit::{
    http_request::arrived,
    receiver::Step,
    sns::{Signer, document, elliptic_certificate},
    tls::Validity,
};
use serde_json::json;

use super::{
    ID,
    amazon::{Amazon, always, posted},
};
use crate::stage::{Spoil, Stage, kept, name};

/// No other host is asked for a certificate.
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
    let now = || Signer::new(Validity::Now).unwrap();
    let good = now();
    let long = format!("{}{}", "#".repeat(17_000), good.certificate());
    let whole = good.certificate().to_owned();
    let cut = whole[..whole.len() / 2].to_owned();
    let weak = Signer::weak().unwrap();
    let weak_text = weak.certificate().to_owned();
    let (over, ahead) =
        (Signer::new(Validity::Over).unwrap(), Signer::new(Validity::Ahead).unwrap());
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

/// A message that may be valid gets a 503, so that SNS retries.
async fn a_certificate_that_is_away(stage: &Stage) {
    let signer = Signer::new(Validity::Now).unwrap();
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

/// Anyone who knows a topic can cause certificate fetches, but few of them.
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
    // Cached certificates still work, and so does another source.
    kept(amazon.send(&amazon.sign(amazon.notification(stage, "id-2", "text"))).await);
    amazon.source(stage, "other").await;
    let mut message = amazon.notification(stage, "id-3", "text");
    message["SigningCertURL"] = json!(amazon.pem().replace("-1.pem", "-other.pem"));
    let request = posted(&amazon.sign(message)).to("other");
    kept(amazon.inbound.receive(&request).await);
}

/// One of many waiting callers fetches, and a URL that hangs delays nobody whose certificate is cached.
async fn a_certificate_that_hangs(stage: &Stage) {
    let signer = Signer::new(Validity::Now).unwrap();
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

/// Forgeries use up all fetches while Amazon's certificate is to be fetched again, and cannot be at first.
async fn a_certificate_that_was_good_stays_in_use(stage: &Stage) {
    let signer = Signer::new(Validity::Now).unwrap();
    let whole = document("200 OK", signer.certificate());
    let is_away = Arc::new(AtomicBool::new(false));
    let away = is_away.clone();
    let script = move |_| {
        if away.load(Ordering::Relaxed) { document("503 Away", "") } else { whole.clone() }
    };
    let amazon =
        Amazon::serving(stage, signer, Box::new(script), always(document("200 OK", ""))).await;
    kept(amazon.send(&amazon.sign(amazon.notification(stage, ID, "text"))).await);
    stage.clock.advance(Duration::from_hours(25));
    let mut forged = amazon.notification(stage, "forged", "text");
    forged["Signature"] = json!("AAAA");
    let spend_all = async |round: u32| {
        for number in 0..2 * BY_SOURCE.count {
            let mut forged = forged.clone();
            forged["Timestamp"] = amazon.notification(stage, "forged", "text")["Timestamp"].clone();
            let url = amazon.pem().replace("-1.pem", &format!("-{round}-{number}.pem"));
            forged["SigningCertURL"] = json!(url);
            amazon.denied(&forged).await;
        }
    };
    is_away.store(true, Ordering::Relaxed);
    spend_all(1).await;
    let before = amazon.certificates.accepted();
    for id in ["id-2", "id-3"] {
        kept(amazon.send(&amazon.sign(amazon.notification(stage, id, "text"))).await);
    }
    assert_eq!(amazon.certificates.accepted(), before + 1, "it was asked for once, all the same");
    is_away.store(false, Ordering::Relaxed);
    stage.clock.advance(Duration::from_secs(61));
    spend_all(2).await;
    let before = amazon.certificates.accepted();
    for id in ["id-4", "id-5"] {
        kept(amazon.send(&amazon.sign(amazon.notification(stage, id, "text"))).await);
    }
    assert_eq!(amazon.certificates.accepted(), before + 1, "it is fetched again, once");
}

/// One that Amazon has withdrawn is used no longer.
async fn a_certificate_that_was_withdrawn_is_not_used(stage: &Stage) {
    let signer = Signer::new(Validity::Now).unwrap();
    let whole = document("200 OK", signer.certificate());
    let script = move |number| match number {
        0 => whole.clone(),
        _ => document("404 Not Found", ""),
    };
    let amazon =
        Amazon::serving(stage, signer, Box::new(script), always(document("200 OK", ""))).await;
    kept(amazon.send(&amazon.sign(amazon.notification(stage, ID, "text"))).await);
    stage.clock.advance(Duration::from_hours(25));
    amazon
        .refused(&amazon.sign(amazon.notification(stage, "id-2", "text")), Reason::Certificate)
        .await;
}

on_sqlite!(
    a_certificate_that_was_good_stays_in_use,
    a_certificate_that_was_withdrawn_is_not_used,
    certificates_come_from_sns_alone,
    odd_certificates_are_refused,
    a_certificate_that_is_away,
    a_flood_of_forgeries_asks_for_few_certificates,
    a_certificate_that_hangs,
);
