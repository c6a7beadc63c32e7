//! Settings that change while the gateway is running.

use gancho_testkit::until;
use serde_json::json;

use crate::{gateway::Gateway, receiver, scripted_receiver};

/// A delivery rate that allows only the first delivery, so that a change is visible.
const CLOSED: &str = "delivery_rate = \"1/24h\"\n";

#[test]
fn limits_of_a_lane_change_on_sighup_and_by_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("gancho.toml");
    std::fs::write(&config, CLOSED).unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let (target, seen) = receiver::start();
    let key = served.tenant("acme");
    served.endpoint(&key, &format!("http://{target}/hook"));
    for _ in 0..5 {
        served.publish(&key, "a.b", "{}");
    }
    let arrived = || seen.counts().values().sum::<usize>();
    until("the first arrives", || arrived() == 1);

    std::fs::write(&config, "delivery_rate = \"none\"\nconcurrency = 7\n").unwrap();
    served.signal("HUP");
    until("the others arrive", || arrived() == 5);

    // By the API, which returns what it did.
    std::fs::write(&config, format!("{CLOSED}api_listen = \"127.0.0.1:1\"\n")).unwrap();
    let reloaded = served.operator("POST", "/v1/_reload", "").json();
    assert_eq!(reloaded["applied"], json!(["concurrency", "delivery_rate"]), "{reloaded}");
    // The listen address comes from the environment here, so it has not changed.
    assert_eq!(reloaded["needs_restart"], json!([]), "{reloaded}");
    let again = served.operator("POST", "/v1/_reload", "").json();
    assert_eq!(again["applied"], json!([]), "{again}");
    std::fs::write(&config, format!("{CLOSED}retention = \"2d\"\n")).unwrap();
    let pending = served.operator("POST", "/v1/_reload", "").json();
    assert_eq!(pending["needs_restart"], json!(["retention"]), "{pending}");

    // An invalid file changes nothing, and the response names the setting.
    std::fs::write(&config, "delivery_rate = \"none\"\nconcurrency = 0\n").unwrap();
    let refused = served.operator("POST", "/v1/_reload", "");
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("concurrency"), "{}", refused.body);
    for _ in 0..3 {
        served.publish(&key, "a.b", "{}");
    }
    std::fs::write(&config, "delivery_rate = \"none\"\n").unwrap();
    let before = arrived();
    assert!(before <= 6, "the rate was in force: {before}");
    assert_eq!(served.operator("POST", "/v1/_reload", "").status, 200);
    until("the rest arrives", || arrived() == 8);

    // While the file is being replaced, no setting is reset to its default.
    std::fs::rename(&config, folder.path().join("gancho.toml.new")).unwrap();
    let refused = served.operator("POST", "/v1/_reload", "");
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("gancho.toml is gone"), "{}", refused.body);
    served.stop();
}

/// The gateway's adjustments for this machine do not count as changes of the settings.
#[test]
fn reloading_unchanged_settings_asks_for_no_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("prlimit");
    let gancho = crate::gateway::command(&["serve"], folder.path());
    command.arg("--nofile=512:512").arg(gancho.get_program()).args(gancho.get_args());
    command.env_clear().current_dir(folder.path());
    command.envs(gancho.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let served = Gateway::of(command);
    let cut = "open-file limit is lower than the settings require; connection limits were reduced";
    until("the limits are cut", || !served.logged(cut).is_empty());
    served.signal("HUP");
    until("it was reloaded", || !served.logged("settings reloaded").is_empty());
    let reloaded = served.operator("POST", "/v1/_reload", "").json();
    assert_eq!((&reloaded["applied"], &reloaded["needs_restart"]), (&json!([]), &json!([])));
    assert!(served.logged("some changed settings need a restart").is_empty());
    served.stop();
}

#[test]
fn a_webhook_that_is_too_old_becomes_a_dead_letter() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("gancho.toml");
    std::fs::write(&config, "delivery_expiry = \"1m\"\n").unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let refusing = scripted_receiver::Receiver::start();
    refusing.answer(503);
    served.endpoint(&key, &refusing.url());
    served.publish(&key, "a.b", "{}");
    let dead = || served.operator("GET", "/v1/dlq", "").json();
    // Its retries come after 5 s and after 5 min, which is too late.
    until("it is given up", || dead()["data"][0]["last_failure_code"] == "EXPIRED");
    served.stop();
}
