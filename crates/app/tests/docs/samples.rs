//! Runs or parses what documents show and is not a command: settings, declared objects, bodies, lines of a log.
//! The documents are those of `docs/`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use gancho_testkit::until;
use serde_json::{Value, json};

use super::blocks::{block, blocks};
use crate::{
    gateway::{Gateway, command},
    http,
    operator::Operator,
    scripted_receiver::Receiver,
};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

fn document(name: &str) -> String {
    fs::read_to_string(Path::new(DOCS).join(name)).unwrap()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|one| one == "md") {
            pages.push(path);
        }
    }
    pages
}

/// Runs `gancho config` with this file, and only what a document says.
fn config(file: &Path, variables: &[(String, String)]) -> Command {
    let mut command = command(&["config", "--json"], file.parent().unwrap());
    command.env_clear().env("GANCHO_CONFIG", file);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

fn assert_valid(at: &str, mut command: Command) -> Value {
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && !said.contains("unknown"), "{at}: {said}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn every_sample_of_settings_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gancho.toml");
    let logo = folder.path().join("lumen.svg");
    fs::write(&logo, "<svg xmlns=\"http://www.w3.org/2000/svg\"/>").unwrap();
    let mut count = 0;
    for page in pages(Path::new(DOCS)) {
        for block in blocks(&fs::read_to_string(&page).unwrap()) {
            if block.language != "toml" {
                continue;
            }
            // A replica alone goes with the database that another sample names, and notices with a mail server.
            let is_alone =
                block.text.contains("database_read_url") && !block.text.contains("database_url");
            let needed =
                if is_alone { "database_url = \"postgres://db.internal/gancho\"\n" } else { "" };
            let text = block.text.replace("/etc/gancho/lumen.svg", logo.to_str().unwrap());
            fs::write(&file, format!("{needed}{text}")).unwrap();
            let smtp = "smtps://user:secret@smtp.example.com".to_owned();
            let at = format!("{}:{}", page.display(), block.line);
            let shown = assert_valid(&at, config(&file, &[("GANCHO_SMTP_URL".to_owned(), smtp)]));
            let origins = shown["settings"].as_object().unwrap().values();
            let of_file = origins.filter(|one| one["from"].to_string().contains("gancho.toml"));
            let is_table = block.text.starts_with('[');
            assert!(is_table || of_file.count() > 0, "{at} sets nothing: {shown}");
            count += 1;
        }
    }
    assert!(count > 8, "{count} samples");
}

/// Returns the lines `NAME=value`.
fn variables(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('=').unwrap());
    pairs
        .map(|(name, value)| (name.to_owned(), value.replace('…', "a-long-secret-of-your-own")))
        .collect()
}

#[test]
fn the_environment_file_of_a_server_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gancho.toml");
    fs::write(&file, "").unwrap();
    let variables = variables(&block(&document("production.md"), "text"));
    assert_eq!(variables.len(), 3);
    let shown = assert_valid("production.md", config(&file, &variables));
    for (name, _) in &variables {
        let key = name.trim_start_matches("GANCHO_").to_lowercase();
        let origin = shown["settings"][&key]["from"].to_string();
        assert!(origin.contains(name), "{name}: {origin}");
    }
}

#[test]
fn a_tenant_is_declared_by_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let variables = variables(&block(&document("config.md"), "sh"));
    let variables: Vec<_> = variables.iter().map(|(name, value)| (&**name, &**value)).collect();
    let served = Gateway::start(folder.path(), &variables);
    let webhook = served.acting("m2", "GET", "/v1/webhooks", "").json()["data"][0].clone();
    assert_eq!(webhook["url"], variables[0].1, "{webhook}");
    let path = format!("/v1/webhooks/{}/secret", webhook["id"].as_str().unwrap());
    let secret = served.acting("m2", "GET", &path, "");
    assert!(secret.body.contains(variables[1].1), "{}", secret.body);
}

/// The file of `gancho apply`, with the plan of the page on settings.
#[test]
fn the_declared_objects_are_applied_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    let plan = blocks(&document("config.md"))
        .into_iter()
        .find(|block| block.text.starts_with("[plans.pro]"));
    fs::write(&settings, plan.unwrap().text).unwrap();
    let at = Operator::with(&[("GANCHO_CONFIG", settings.to_str().unwrap())]);
    let file = folder.path().join("gancho.yaml");
    let file = file.to_str().unwrap();
    fs::write(file, block(&document("cli.md"), "yaml")).unwrap();
    let secret = [("BILLING_SECRET", "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ")];

    let plan = at.run(&["diff", "-f", file]).ok().out;
    assert!(plan.ends_with("5 to create, 0 to change, 0 to delete; 0 unchanged\n"), "{plan}");
    at.run_with(&["apply", "-f", file, "--yes"], &secret, "").ok();
    let again = at.run(&["apply", "-f", file, "--yes"]).ok().out;
    assert_eq!(again, "0 to create, 0 to change, 0 to delete; 5 unchanged\n");
    let shown = at.json(&["tenants", "show", "acme"]);
    assert_eq!(shown["plan"], "pro", "{shown}");
    let endpoints = at.json(&["endpoints", "list", "--tenant", "acme"]);
    let id = endpoints["data"][0]["id"].as_str().unwrap();
    assert_eq!(at.run(&["endpoints", "secret", id]).ok().out.trim(), secret[0].1);

    let exported = folder.path().join("exported.yaml");
    let exported = exported.to_str().unwrap();
    at.run(&["export", "-o", exported]).ok();
    at.run(&["diff", "-f", exported, "--prune", "--exit-code"]).ok();
}

#[test]
fn the_request_of_an_email_is_accepted() {
    let at = Operator::start();
    let key = at.served.tenant("acme");
    let body = block(&document("email.md"), "json").replace("<base64>", "JVBERi0xLjQ=");
    let headers = [("x-api-key", key.as_str())];
    let sent = http::call(at.served.address, "POST", "/v1/email/send", &headers, &body);
    assert_eq!(sent.status, 201, "{}", sent.body);
    let repeated = http::call(at.served.address, "POST", "/v1/email/send", &headers, &body);
    assert_eq!(repeated.json()["outboxId"], sent.json()["outboxId"], "{}", repeated.body);
}

/// Its hash tells it from every other one.
#[test]
fn the_policy_of_the_page_is_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.json");
    fs::write(&file, block(&document("inbound.md"), "json")).unwrap();
    let policy = |variables: &[(&str, &str)]| {
        let served = Gateway::start(folder.path(), variables);
        let ready = served.operator("GET", "/readyz", "").json();
        served.stop();
        ready["policy"].as_str().unwrap().to_owned()
    };
    assert_eq!(policy(&[("GANCHO_POLICY_FILE", file.to_str().unwrap())]), policy(&[]));
}

fn names(object: &Value) -> Vec<String> {
    let names = object.as_object().unwrap().keys();
    names.filter(|name| *name != "test").cloned().collect()
}

#[test]
fn a_line_of_the_ledger_is_as_the_page_shows_it() {
    let at = Operator::start();
    let receipt = at.receive(1).remove(0);
    at.run(&["ledger", "checkpoint"]).ok();
    let proof: Value = at.run(&["ledger", "prove", &receipt]).ok().json();
    let line: Value = serde_json::from_str(proof["line"]["entry"].as_str().unwrap()).unwrap();
    let shown: Value = serde_json::from_str(&block(&document("ledger.md"), "json")).unwrap();
    assert_eq!(names(&line), names(&shown));
    assert_eq!(line["test"], true, "{line}");
}

#[test]
fn lines_of_the_log_are_as_the_page_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.answer(503);
    let served = Gateway::start(folder.path(), &[]);
    let key = served.tenant("acme");
    let body = json!({"url": receiver.url(), "events": ["*"], "retry": {"schedule": ["200ms"]}});
    let headers = [("x-api-key", key.as_str())];
    let made = http::call(served.address, "POST", "/v1/webhooks", &headers, &body.to_string());
    assert_eq!(made.status, 201, "{}", made.body);
    served.publish(&key, "a.b", "{}");
    served.first_logged("attempt failed; retry scheduled");
    receiver.answer(410);
    until("it is disabled", || !served.logged("endpoint disabled").is_empty());
    let page = document("observability.md");
    let samples: Vec<_> =
        blocks(&page).into_iter().filter(|block| block.language == "json").collect();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let shown: Value = serde_json::from_str(&sample.text).unwrap();
        let logged = served.first_logged(shown["message"].as_str().unwrap());
        assert_eq!(names(&logged), names(&shown), "{logged}");
        assert_eq!((&logged["level"], &logged["target"]), (&shown["level"], &shown["target"]));
    }
}
