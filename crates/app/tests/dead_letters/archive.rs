//! A gateway whose archive is a bucket.

use std::{collections::BTreeMap, path::Path};

use gancho_testkit::{python::PythonServer, until};
use serde_json::{Value, json};

use crate::{
    gateway::{Gateway, command},
    http,
    scripted_receiver::Receiver,
};

const NAMED: &str = "could not archive dead letters; keeping them in the store";

fn total(served: &Gateway) -> u64 {
    served.operator("GET", "/v1/dlq/stats", "").json()["total"].as_u64().unwrap()
}

fn doctor(folder: &Path, variables: &[(&str, &str)]) -> (String, String) {
    let mut doctor = command(&["doctor", "--json"], folder);
    let ran = doctor.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    let all: Value = serde_json::from_str(&said).unwrap();
    let check = all["checks"].as_array().unwrap().iter().find(|one| one["check"] == "archive");
    (check.unwrap()["state"].as_str().unwrap().to_owned(), said)
}

fn goes_to_a_bucket(database: Option<&str>) {
    let server = PythonServer::start("crates/archive/tests/servers/s3.py", &[]).unwrap();
    let ready: Value = serde_json::from_str(&server.first().unwrap()).unwrap();
    let text = |name: &str| ready[name].as_str().unwrap().to_owned();
    let (port, key_id, secret) = (ready["s3"].as_u64().unwrap(), text("key_id"), text("secret"));
    let endpoint = format!("http://127.0.0.1:{port}");
    let test = |path: &str| {
        let at = format!("127.0.0.1:{port}").parse().unwrap();
        let answer = http::call(at, "GET", &format!("/test/{path}"), &[], "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let folder = tempfile::tempdir().unwrap();
    let target = Receiver::start();
    target.answer(500);
    let stored: Vec<_> = database.map(|url| ("GANCHO_DATABASE_URL", url)).into_iter().collect();

    // Five dead letters, of which the archive gets four at the next start.
    let served = Gateway::start(folder.path(), &stored);
    let key = served.tenant("acme");
    let body = json!({"url": target.url(), "events": ["*"], "retry": {"schedule": []}});
    let headers = [("x-api-key", key.as_str())];
    let made = http::call(served.address, "POST", "/v1/webhooks", &headers, &body.to_string());
    assert_eq!(made.status, 201, "{}", made.body);
    for number in 1..=5 {
        served.publish(&key, "a.b", &json!({"number": number}).to_string());
        until("it is given up", || total(&served) == number);
    }
    served.stop();
    let more = [
        ("GANCHO_ARCHIVE_URL", "s3://dead-letters/gancho"),
        ("GANCHO_ARCHIVE_ENDPOINT", endpoint.as_str()),
        ("GANCHO_ARCHIVE_ACCESS_KEY_ID", key_id.as_str()),
        ("GANCHO_ARCHIVE_SECRET_ACCESS_KEY", secret.as_str()),
        ("GANCHO_DEAD_LETTERS_PER_TENANT", "1"),
        ("GANCHO_ALERT_INTERVAL", "200ms"),
        ("GANCHO_ALERT_AFTER", "0s"),
    ];
    let variables = [&stored[..], &more].concat();

    let served = Gateway::start(folder.path(), &variables);
    let why = served.first_logged(NAMED).to_string();
    assert!(why.contains("NoSuchBucket"), "{why}");
    assert_eq!(total(&served), 5, "nothing leaves the store");
    until("an alert says so", || served.is_firing("archive_failing"));
    let (state, said) = doctor(folder.path(), &variables);
    assert!(state == "fail" && said.contains("create the bucket"), "{said}");
    let log = served.stop();
    assert!(!log.contains(&secret), "{log}");

    test("create?bucket=dead-letters");
    let (state, said) = doctor(folder.path(), &variables);
    assert_eq!(state, "ok", "{said}");
    let wrong = [("GANCHO_ARCHIVE_SECRET_ACCESS_KEY", "canary-of-a-secret")];
    let (state, said) = doctor(folder.path(), &[&variables[..], &wrong].concat());
    assert!(state == "fail" && said.contains("SignatureDoesNotMatch"), "{said}");
    assert!(!said.contains("canary"), "{said}");
    let mut config = command(&["config"], folder.path());
    let shown = config.envs(variables.iter().copied()).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("s3://dead-letters/gancho") && !shown.contains(&secret), "{shown}");

    let served = Gateway::start(folder.path(), &variables);
    until("they leave the store", || total(&served) == 1);
    until("the alert is resolved", || !served.is_firing("archive_failing"));
    let objects: BTreeMap<String, String> =
        serde_json::from_value(test("objects?bucket=dead-letters")).unwrap();
    assert_eq!(objects.len(), 4);
    for (name, text) in &objects {
        assert!(name.starts_with("gancho/webhooks/acme/"), "{name}");
        let document: Value = serde_json::from_str(text).unwrap();
        assert_eq!(document["tenant"], "acme");
        assert!(document["originalData"].to_string().contains("number"), "{text}");
    }
    served.stop();
    assert!(!folder.path().join("data/archive").exists(), "nothing is on this machine");
}

#[test]
fn dead_letters_go_to_a_bucket_from_sqlite() {
    goes_to_a_bucket(None);
}

#[test]
fn dead_letters_go_to_a_bucket_from_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    goes_to_a_bucket(Some(&database.url()));
}

#[test]
fn a_bucket_without_its_key_or_region_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    for (variables, said) in [
        (&[("GANCHO_ARCHIVE_REGION", "eu-west-1")][..], "there is no access key"),
        (
            &[("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")],
            "the region of the bucket is not known",
        ),
        (&[("GANCHO_ARCHIVE_ENDPOINT", "http://minio/path")], "there is no access key"),
    ] {
        let mut serve = command(&["serve"], folder.path());
        serve.env("GANCHO_ARCHIVE_URL", "s3://dead-letters").envs(variables.iter().copied());
        let ran = serve.output().unwrap();
        let error = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && error.contains(said), "{error}");
    }
}
