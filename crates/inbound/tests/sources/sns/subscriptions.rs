//! Subscriptions are confirmed at SNS only.

use std::time::Duration;

use gancho_inbound::{Outcome, Reason};
use gancho_testkit::{
    http_request::arrived,
    sns::{Signer, document},
    tls::Validity,
};
use serde_json::json;

use super::amazon::{Amazon, Script, always};
use crate::stage::Stage;

async fn subscriptions_are_confirmed(stage: &Stage) {
    let signer = Signer::new(Validity::Now).unwrap();
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
    // The end of a subscription is accepted, and nothing is fetched to renew it.
    let ended = amazon.greeting(stage, "UnsubscribeConfirmation");
    assert!(matches!(amazon.send(&ended).await, Outcome::Reply(_)));
    assert_eq!(amazon.subscriptions.accepted(), 3);
    amazon.nothing_was_kept(stage).await;
}

/// Anyone who saw a confirmation can repeat it while its timestamp is valid: that causes few requests.
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

/// Even a signed message can send the gateway only to SNS.
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

on_sqlite!(
    subscriptions_are_confirmed,
    a_confirmation_that_is_sent_again_and_again,
    confirmations_go_to_sns_alone,
);
