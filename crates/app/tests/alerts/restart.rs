//! A message that no channel has accepted outlives the node that wrote it.

use std::time::Duration;

use gancho_testkit::until;

use super::{fire::failing_endpoint, recorder::Recorder};
use crate::{gateway::Gateway, scripted_receiver::Receiver};

#[test]
fn what_was_not_accepted_before_a_crash_is_sent_after_it() {
    let (folder, slack, target) =
        (tempfile::tempdir().unwrap(), Recorder::start(), Receiver::start());
    target.answer(500);
    slack.refuse(true);
    let slack_url = slack.url();
    let variables = [
        ("GANCHO_ALERT_INTERVAL", "200ms"),
        ("GANCHO_ALERT_AFTER", "0s"),
        ("GANCHO_ALERT_TENANT_DEAD_LETTERS", "4"),
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
    ];
    let served = Gateway::start(folder.path(), &variables);
    let key = served.tenant("acme");
    failing_endpoint(&served, &key, &target.url());
    for _ in 0..5 {
        served.publish(&key, "a.b", "{}");
    }
    until("it fires", || served.is_firing("tenant_dead_letters_high"));
    until("the channel has refused it", || slack.refused() > 0);
    served.signal("KILL");
    served.ended(Duration::from_secs(10));

    slack.refuse(false);
    let served = Gateway::start(folder.path(), &variables);
    let line = "Many dead letters of one tenant";
    until("it is sent", || slack.texts().contains(line));
    served.stop();
    // Once it was accepted, it is not sent again.
    let served = Gateway::start(folder.path(), &variables);
    until("it is still firing", || served.is_firing("tenant_dead_letters_high"));
    served.operator("DELETE", "/v1/dlq?all=true", "");
    until("it is resolved", || slack.texts().contains(&format!("[resolved] {line}")));
    let texts = slack.texts();
    assert_eq!(texts.matches(&format!("*Gancho: [warning] {line}")).count(), 1, "{texts}");
    served.stop();
}
