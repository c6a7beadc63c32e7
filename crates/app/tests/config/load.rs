//! Settings that the binary accepts and refuses.

use crate::gateway::command;

#[test]
fn every_error_is_reported_at_once_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        "api_listn = \"127.0.0.1:3000\"\nretention = \"soon\"\n\n[plans.pro]\nendpoint = 3\n";
    std::fs::write(folder.path().join("gancho.toml"), file).unwrap();
    let mut serve = command(&["serve", "--log-format", "loud"], folder.path());
    serve.env_remove("GANCHO_LOG_FORMAT").env("GANCHO_ADMIN_TOKEN", "hunter2");
    serve.env("WEBHOOK_URL_M2", "https://192.168.0.1/hook").env("WEBHOOK_SECRET_M2", "hunter2");
    let refused = serve.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let errors = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(
        errors,
        "\
error: invalid configuration: 7 problems

  api_listn (gancho.toml:1)
    unknown setting
    hint: did you mean `api_listen`?
  retention (gancho.toml:2)
    `soon` is not a duration
    hint: for example, 30s, 5m, 2h, 1h30m or 30d
  log_format (flag --log-format)
    `loud` is not one of the allowed values
    hint: use auto, pretty or json
  plans.pro (gancho.toml:5)
    unknown field `endpoint`, expected `endpoints` or `events`
  WEBHOOK_URL_M2 (environment variable WEBHOOK_URL_M2)
    the address is not allowed
    hint: use a public address, or ask the operator to add its network to `allow_cidrs` (`operator_allow_cidrs` for the operator's own targets)
  WEBHOOK_SECRET_M2 (environment variable WEBHOOK_SECRET_M2)
    the secret has only 7 bytes, the minimum is 16
    hint: use 32 random bytes
  admin_token (environment variable GANCHO_ADMIN_TOKEN)
    the token is shorter than 16 characters
    hint: generate one with: openssl rand -hex 32
"
    );
    assert!(!folder.path().join("data").exists(), "nothing was made");
}

#[test]
fn config_shows_what_counts_and_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let file = "retention = \"14d\"\nnotify_url = \"https://ops.example.com/?token=hunter2\"\n";
    std::fs::write(folder.path().join("data/gancho.toml"), file).unwrap();
    let mut config = command(&["config", "--set", "concurrency=7"], folder.path());
    config.env("GANCHO_DATABASE_URL", "postgres://u:hunter2@db/g");
    config.env("GANCHO_RETENTIO", "1d");
    let shown = config.output().unwrap();
    let (text, warned) =
        (String::from_utf8(shown.stdout).unwrap(), String::from_utf8(shown.stderr).unwrap());
    assert!(shown.status.success(), "{warned}");
    for (name, value, origin) in [
        ("retention", "\"14d\"", "data/gancho.toml:1"),
        ("concurrency", "7", "flag --set"),
        ("allow_http", "true", "variable GANCHO_ALLOW_HTTP"),
        ("database_url", "\"postgres://u:••••@db/g\"", "variable GANCHO_DATABASE_URL"),
        ("failing_for", "\"5d\"", "default"),
    ] {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
        assert!(line.contains(value) && line.ends_with(origin), "{line}");
    }
    assert!(!text.contains("hunter2") && !text.contains(crate::gateway::TOKEN), "{text}");
    assert!(warned.contains("did you mean GANCHO_RETENTION?"), "{warned}");

    let mut json = command(&["config", "--json"], folder.path());
    let shown: serde_json::Value = serde_json::from_slice(&json.output().unwrap().stdout).unwrap();
    assert_eq!(shown["settings"]["retention"]["value"], "14d");
    assert_eq!(shown["settings"]["admin_token"]["value"], "••••");
}

#[test]
fn two_on_one_address_or_folder_get_different_errors() {
    let folder = tempfile::tempdir().unwrap();
    let first = crate::gateway::Gateway::start(folder.path(), &[]);
    let address = first.address.to_string();
    let elsewhere = tempfile::tempdir().unwrap();
    let taken = command(&["serve", "--api-listen", &address], elsewhere.path()).output().unwrap();
    let errors = String::from_utf8(taken.stderr).unwrap();
    assert!(!taken.status.success() && errors.contains("(api_listen)"), "{errors}");
    let same = command(&["serve"], folder.path()).output().unwrap();
    let errors = String::from_utf8(same.stderr).unwrap();
    assert!(!same.status.success(), "{errors}");
    assert!(errors.contains("in use by another gancho process"), "{errors}");
    first.stop();
}
