//! Notices as chat messages and e-mails.

use gancho_testkit::until;

use super::{fire::failing_endpoint, recorder::Recorder};
use crate::{gateway::Gateway, operator::Operator, scripted_receiver::Receiver};

/// A dead endpoint of a tenant: the tenant's addresses and the operator get e-mails, and many dead letters
/// are one message.
#[test]
fn notices_go_to_slack_and_by_email() {
    let folder = tempfile::tempdir().unwrap();
    let (slack, target) = (Recorder::start(), Receiver::start());
    target.answer(400);
    let slack_url = slack.url();
    let more = [
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
        ("GANCHO_NOTIFY_EMAILS", "ops@example.com"),
        ("GANCHO_EMAIL_VIA", "sink"),
        ("GANCHO_ALERT_INTERVAL", "0s"),
    ];
    let served = Gateway::start(folder.path(), &more);
    let key = served.tenant("acme");
    let path = "/v1/tenants/acme/notice-emails";
    let set = served.operator("PUT", path, r#"{"addresses":["people@acme.example"]}"#);
    assert_eq!(set.status, 200, "{}", set.body);
    assert_eq!(served.operator("GET", path, "").json()["addresses"][0], "people@acme.example");
    let invalid = served.operator("PUT", path, r#"{"addresses":["nobody"]}"#);
    assert_eq!(invalid.status, 422, "{}", invalid.body);
    let endpoint = failing_endpoint(&served, &key, &target.url());
    for _ in 0..12 {
        served.publish(&key, "a.b", r#"{"card":"payload-canary"}"#);
    }
    until("Slack has them", || slack.texts().contains(&endpoint));
    // The first five are reported one by one, the others together; all of them in one or two messages.
    assert!(slack.all().len() <= 2, "{}", slack.texts());
    let caught = || served.operator("GET", "/v1/dev/emails", "").json();
    until("both mailboxes have it", || {
        let caught = caught().to_string();
        caught.contains("Gancho: ") && caught.contains("acme.example")
            || caught.contains("p***@a***me.example")
    });
    assert!(!slack.texts().contains("payload-canary"));
    served.stop();
}

/// The counts of every endpoint's digest are sent when the gateway stops.
#[test]
fn a_stop_sends_the_digests_of_all_endpoints() {
    let folder = tempfile::tempdir().unwrap();
    let (slack, target) = (Recorder::start(), Receiver::start());
    target.answer(400);
    let slack_url = slack.url();
    let more = [("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()), ("GANCHO_ALERT_INTERVAL", "0s")];
    let served = Gateway::start(folder.path(), &more);
    let key = served.tenant("acme");
    let endpoint = |number| failing_endpoint(&served, &key, &format!("{}/{number}", target.url()));
    let endpoints: Vec<String> = (0..7).map(endpoint).collect();
    for _ in 0..8 {
        served.publish(&key, "a.b", "{}");
    }
    let dead = || served.operator("GET", "/v1/dlq/stats", "").json()["total"].as_u64();
    until("all have failed", || dead() == Some(56));
    until("single ones are sent", || slack.texts().contains("became a dead letter after"));
    served.stop();
    let texts = slack.texts();
    for endpoint in endpoints {
        let digest = format!("3 deliveries to {endpoint} ");
        assert!(texts.contains(&digest), "{digest} is not in {texts}");
    }
    assert!(texts.contains("became dead letters: 3 × HTTP_400"), "{texts}");
}

/// A script that tests the channels notices one that does not work.
#[test]
fn a_test_of_a_channel_that_fails_ends_with_an_exit_code() {
    let hook = Recorder::start();
    let hook_url = hook.url();
    let at = Operator::with(&[
        ("GANCHO_NOTIFY_URL", hook_url.as_str()),
        ("GANCHO_NOTIFY_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="),
        ("GANCHO_NOTIFY_SLACK_URL", "http://127.0.0.1:1/slack"),
    ]);
    let tested = at.run(&["alerts", "test"]);
    assert_eq!(tested.code, 8, "{}", tested.err);
    assert!(tested.out.contains("sent"), "{}", tested.out);
    assert!(tested.err.contains("1 of 2 channels failed: slack"), "{}", tested.err);
    let tested = at.run(&["alerts", "test", "--json"]);
    assert_eq!((tested.code, tested.json()["channels"].as_array().unwrap().len()), (8, 2));
    at.stop();
}
