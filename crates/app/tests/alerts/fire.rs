//! Each alert has a real cause, is sent, and is resolved when its cause is gone.

use std::process::Command;

use gancho_testkit::until;
use serde_json::json;

use super::recorder::Recorder;
use crate::{
    browser::Browser,
    gateway::{Gateway, command},
    http, partner, receiver,
    scripted_receiver::Receiver,
};

const QUICK: [(&str, &str); 2] = [("GANCHO_ALERT_INTERVAL", "200ms"), ("GANCHO_ALERT_AFTER", "0s")];

pub fn failing_endpoint(served: &Gateway, key: &str, url: &str) -> String {
    let body = json!({"url": url, "events": ["*"], "retry": {"schedule": []}}).to_string();
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", key)], &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn dead_letters_fire_are_sent_everywhere_silenced_and_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let (hook, slack, target) = (Recorder::start(), Recorder::start(), Receiver::start());
    target.answer(500);
    let (hook_url, slack_url) = (hook.url(), slack.url());
    let more = [
        ("GANCHO_NOTIFY_URL", hook_url.as_str()),
        ("GANCHO_NOTIFY_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="),
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
        ("GANCHO_NOTIFY_EMAILS", "ops@example.com"),
        ("GANCHO_EMAIL_VIA", "sink"),
        ("GANCHO_ALERT_DEAD_LETTERS", "6"),
        ("GANCHO_ALERT_TENANT_DEAD_LETTERS", "4"),
    ];
    let served = Gateway::start(folder.path(), &[&QUICK[..], &more].concat());
    let key = served.tenant("acme");
    let endpoint = failing_endpoint(&served, &key, &target.url());
    for _ in 0..8 {
        served.publish(&key, "a.b", "{}");
    }
    until("they fire", || {
        ["dead_letters_high", "tenant_dead_letters_high", "endpoint_failing"]
            .iter()
            .all(|rule| served.is_firing(rule))
    });
    until("the URL is notified", || hook.has("dead_letters_high", "", "fired"));
    until("the URL is notified of the tenant", || {
        hook.has("tenant_dead_letters_high", "acme", "fired")
    });
    until("the URL is notified of the endpoint", || {
        hook.has("endpoint_failing", &endpoint, "fired")
    });
    let (head, body) =
        hook.all().into_iter().find(|(_, body)| body["type"] == "webhook.alert").unwrap();
    assert!(head.to_ascii_lowercase().contains("webhook-signature: v1,"), "{head}");
    assert!(body["data"]["title"].is_string(), "{body}");
    until("Slack is notified", || slack.texts().contains("Many dead letters of one tenant"));
    until("the mailbox has it", || {
        served.operator("GET", "/v1/dev/emails", "").body.contains("Gancho: ")
    });

    // The page shows it, and silences it.
    let browser = Browser::logged_in(&served);
    browser.open("/ui/alerts").has("Many dead letters of one tenant").has("Firing");
    let form = [("rule", "dead_letters_high"), ("duration", "1h")];
    browser.submit_and_follow("/ui/alerts/silences", &form).has("Silenced. It is still evaluated");
    let silences = served.operator("GET", "/v1/alerts/silences", "").json();
    assert_eq!(silences["data"][0]["rule"], "dead_letters_high", "{silences}");

    // The cause is gone: an alert that was reported as firing is reported as resolved, silenced or not.
    target.answer(200);
    let purged = served.operator("DELETE", "/v1/dlq?all=true", "");
    assert!(purged.status < 300, "{}", purged.body);
    until("it is resolved", || hook.has("tenant_dead_letters_high", "acme", "resolved"));
    until("and what is silenced by now", || hook.has("dead_letters_high", "", "resolved"));
    until("the history has both", || {
        let history = served.operator("GET", "/v1/alerts/history", "").json();
        let has = |change: &str| {
            let rows = history["data"].as_array().unwrap();
            rows.iter().any(|row| row["rule"] == "dead_letters_high" && row["change"] == change)
        };
        has("fired") && has("resolved")
    });
    browser.open("/ui/alerts").has("Resolved").has("End silence");
    let id = silences["data"][0]["id"].as_str().unwrap();
    let ended = served.operator("DELETE", &format!("/v1/alerts/silences/{id}"), "");
    assert_eq!(ended.status, 204, "{}", ended.body);
    assert_eq!(served.operator("DELETE", "/v1/alerts/silences/sil_x", "").status, 404);

    let tested = served.operator("POST", "/v1/alerts/test", "").json();
    let sent: Vec<_> = tested["channels"].as_array().unwrap().iter().collect();
    assert_eq!(sent.len(), 3, "{tested}");
    assert!(sent.iter().all(|channel| channel["is_sent"] == true), "{tested}");
    let invalid = served.operator("POST", "/v1/alerts/silences", r#"{"duration":"0s"}"#);
    assert_eq!(invalid.status, 422, "{}", invalid.body);
    let log = served.stop();
    assert!(log.contains("\"alert fired\"") && log.contains("\"alert resolved\""), "{log}");
    for secret in ["slack-canary", "ops@example.com"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn a_full_storage_is_reported_although_nothing_can_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let slack = Recorder::start();
    let (target, seen) = receiver::start();
    let config = folder.path().join("gancho.toml");
    std::fs::write(&config, "store_max_bytes = \"4MiB\"\n").unwrap();
    let slack_url = slack.url();
    // The data directory has its own disk, because this machine's may be nearly full.
    let data = tempfile::tempdir_in("/dev/shm").unwrap();
    let data_dir = data.path().display().to_string();
    let database = format!("sqlite:{}", folder.path().join("gancho.db").display());
    let more = [
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
        ("GANCHO_DATA_DIR", data_dir.as_str()),
        ("GANCHO_DATABASE_URL", database.as_str()),
    ];
    let served = Gateway::start(folder.path(), &[&QUICK[..], &more].concat());
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    // An event that is delivered later, when the storage is full.
    let at = date("+5 seconds");
    let later = json!({"type": "a.b", "data": {}, "deliver_at": at}).to_string();
    let headers = [("x-api-key", key.as_str())];
    let made = http::call(served.address, "POST", "/v1/events", &headers, &later);
    assert_eq!(made.status, 202, "{}", made.body);
    let later = made.json()["id"].as_str().unwrap().to_owned();
    let filling = json!({"type": "c.d", "data": {"filling": "x".repeat(200_000)}}).to_string();
    let publish = || http::call(served.address, "POST", "/v1/events", &headers, &filling);
    until("it is full", || publish().status == 503);
    let refused = publish();
    assert_eq!(refused.json()["code"], "storage_full", "{}", refused.body);
    assert!(refused.head.to_ascii_lowercase().contains("retry-after: "), "{}", refused.head);
    until("it is reported", || {
        let texts = slack.texts();
        texts.contains("The storage is almost full") && texts.contains("are being refused")
    });
    until("deliveries go on", || seen.body(&later).is_some());

    // More room, without a restart.
    std::fs::write(&config, "store_max_bytes = \"400MiB\"\n").unwrap();
    served.signal("HUP");
    until("it accepts again", || publish().status == 202);
    until("it says so", || !served.logged("writes accepted again").is_empty());
    until("it is resolved", || slack.texts().contains("[resolved] The storage is almost full"));
    served.stop();
}

#[test]
fn a_changed_ledger_and_an_expiring_key_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let slack = Recorder::start();
    let slack_url = slack.url();
    let (target, _) = receiver::start();
    let more = [("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str())];
    let variables = [&QUICK[..], &more].concat();
    let served = Gateway::start(folder.path(), &variables);
    served.source("acme", partner::SECRET, &format!("http://{target}/core"));
    served.simulate("acme");
    let soon = "2026-01-01T00:00:00Z";
    let ends = json!({"scheme": "hmac", "secret": partner::SECRET, "not_after": soon});
    let refused = served.operator("PUT", "/v1/sources/acme/keys/k1", &ends.to_string());
    assert!(refused.status < 300, "{}", refused.body);
    until("a key that has ended is reported", || {
        slack.texts().contains("acme has had no valid key since k1 ended at 2026-01-01")
    });
    let tomorrow = date("+1 day");
    let ends = json!({"scheme": "hmac", "secret": partner::SECRET, "not_after": tomorrow});
    let put = served.operator("PUT", "/v1/sources/acme/keys/k1", &ends.to_string());
    assert!(put.status < 300, "{}", put.body);
    until("the key is reported", || served.is_firing("source_key_expiring"));
    let again = json!({"scheme": "hmac", "secret": partner::SECRET});
    served.operator("PUT", "/v1/sources/acme/keys/k2", &again.to_string());
    until("a second key resolves it", || !served.is_firing("source_key_expiring"));
    served.stop();

    // A checkpoint that this gateway did not sign.
    let checkpoints = folder.path().join("data/checkpoints");
    let file = std::fs::read_dir(&checkpoints).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen('\n', "x\n", 1)).unwrap();
    let served = Gateway::start(folder.path(), &variables);
    until("the ledger is reported", || served.is_firing("ledger_check_failed"));
    until("it is sent", || slack.texts().contains("The ledger is no longer signed"));
    served.stop();
}

fn date(when: &str) -> String {
    let said = Command::new("date").args(["-u", "-d", when, "+%Y-%m-%dT%H:%M:%SZ"]).output();
    String::from_utf8(said.unwrap().stdout).unwrap().trim().to_owned()
}

/// Two nodes of one database: one of them evaluates; when it dies the other does, and reports that.
#[test]
fn a_fleet_reports_once_and_a_lost_node_is_reported() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let database_url = database.url();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (slack, target) = (Recorder::start(), Receiver::start());
    target.answer(410);
    let slack_url = slack.url();
    let more = [
        ("GANCHO_DATABASE_URL", database_url.as_str()),
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
        ("GANCHO_ALERT_DEAD_LETTERS", "2"),
    ];
    let variables = [&QUICK[..], &more].concat();
    let first = Gateway::start(folders[0].path(), &variables);
    let ring = "master.key";
    std::fs::create_dir_all(folders[1].path().join("data")).unwrap();
    std::fs::copy(
        folders[0].path().join("data").join(ring),
        folders[1].path().join("data").join(ring),
    )
    .unwrap();
    let second = Gateway::start(folders[1].path(), &variables);
    let key = first.tenant("acme");
    for number in 0..4 {
        let url = format!("{}/{number}", target.url());
        failing_endpoint(&first, &key, &url);
    }
    first.publish(&key, "a.b", "{}");
    until("it is sent", || slack.texts().contains("Many dead letters"));
    until("both show it", || {
        first.is_firing("dead_letters_high") && second.is_firing("dead_letters_high")
    });
    let count = slack.texts().matches("Many dead letters: ").count();
    assert_eq!(count, 2, "title and line of one message: {}", slack.texts());
    let holder_log = first.logged("alert fired");
    let (dies, lives) = if holder_log.is_empty() { (second, first) } else { (first, second) };
    dies.signal("KILL");
    until("the other reports it", || {
        slack.texts().contains("A node stopped without leaving: declared dead: ")
    });
    lives.first_logged("alert fired");
    lives.stop();
}

fn alone_with(more: &[(&str, &str)]) -> (Gateway, Recorder, tempfile::TempDir) {
    let (folder, slack) = (tempfile::tempdir().unwrap(), Recorder::start());
    let slack_url = slack.url();
    let slack_setting = [("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str())];
    let served = Gateway::start(folder.path(), &[&QUICK[..], &slack_setting, more].concat());
    (served, slack, folder)
}

#[test]
fn late_deliveries_fire_until_the_queue_goes_on() {
    let (served, slack, _folder) = alone_with(&[("GANCHO_ALERT_QUEUE_AGE", "1s")]);
    let (target, seen) = receiver::start();
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    assert_eq!(served.operator("POST", "/v1/queues/webhook/pause", "").status, 204);
    let event = served.publish(&key, "a.b", "{}");
    until("it is late", || served.is_firing("queue_delayed"));
    until("it is sent", || slack.texts().contains("Deliveries are late"));
    let alert = served.alerts().into_iter().find(|alert| alert["rule"] == "queue_delayed").unwrap();
    assert_eq!(alert["subject"], "webhook", "{alert}");
    assert!(seen.body(&event).is_none());
    assert_eq!(served.operator("POST", "/v1/queues/webhook/resume", "").status, 204);
    until("it is delivered", || seen.body(&event).is_some());
    until("it is resolved", || !served.is_firing("queue_delayed"));
    until("it is said", || slack.texts().contains("[resolved] Deliveries are late"));
    served.stop();
}

#[test]
fn a_high_rate_of_dead_letters_fires_until_enough_is_delivered() {
    let more = [("GANCHO_ALERT_DEAD_LETTER_PERCENT", "50"), ("GANCHO_ALERT_DEAD_LETTERS", "1000")];
    let (served, slack, _folder) = alone_with(&more);
    let target = Receiver::start();
    target.answer(500);
    let key = served.tenant("acme");
    // An endpoint for each delivery, so that no circuit breaker holds any of them back.
    for number in 0..60 {
        failing_endpoint(&served, &key, &format!("{}/{number}", target.url()));
    }
    served.publish(&key, "a.b", "{}");
    until("it fires", || served.is_firing("dead_letter_rate_high"));
    until("it is sent", || slack.texts().contains("60 of 60 deliveries became dead letters"));
    // Below 40 %, which is clearly below the threshold.
    target.answer(200);
    for _ in 0..2 {
        served.publish(&key, "a.b", "{}");
    }
    until("it is resolved", || !served.is_firing("dead_letter_rate_high"));
    until("it is said", || {
        slack.texts().contains("[resolved] Many deliveries become dead letters")
    });
    served.stop();
}

#[test]
fn an_api_key_that_is_used_and_about_to_expire_fires_until_it_is_replaced() {
    let (served, slack, _folder) = alone_with(&[]);
    let lasting = served.tenant("acme");
    let path = "/v1/tenants/acme/api-keys";
    let keys = served.operator("GET", path, "").json();
    let first = keys["data"][0]["id"].as_str().unwrap().to_owned();
    let made = served.operator("POST", path, &json!({"expires_at": date("+1 day")}).to_string());
    assert_eq!(made.status, 201, "{}", made.body);
    let (id, key) = (made.json()["id"].clone(), made.json()["key"].as_str().unwrap().to_owned());
    served.publish(&lasting, "a.b", "{}");
    served.publish(&key, "a.b", "{}");
    until("it fires", || served.is_firing("api_key_expiring"));
    until("it is sent", || slack.texts().contains("An API key is about to expire"));
    let alert = served.alerts().into_iter().find(|one| one["rule"] == "api_key_expiring").unwrap();
    assert_eq!(alert["subject"], format!("acme/{}", id.as_str().unwrap()), "{first}");
    assert_eq!(served.operator("POST", path, "{}").status, 201);
    until("a new key resolves it", || !served.is_firing("api_key_expiring"));
    Browser::logged_in(&served).open("/ui/alerts").has("An API key is about to expire");
    served.stop();
}

#[test]
fn alerts_can_be_off() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[("GANCHO_ALERT_INTERVAL", "0s")]);
    let off = served.operator("GET", "/v1/alerts", "");
    assert_eq!((off.status, &off.json()["code"]), (404, &json!("alerts_off")));
    Browser::logged_in(&served).open("/ui/alerts").has("Alerts are off");
    served.stop();
    let mut invalid = command(&["serve"], folder.path());
    invalid.env("GANCHO_NOTIFY_SLACK_URL", "slack-canary-without-scheme");
    let output = invalid.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("notify_slack_url"), "{said}");
    assert!(!said.contains("slack-canary"), "{said}");
}
