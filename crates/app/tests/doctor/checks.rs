//! `gancho doctor` and `gancho migrate`.

use std::fs;

use serde_json::Value;

use crate::operator::{Operator, Ran, alone};

fn state(ran: &Ran, check: &str) -> String {
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    let checks = all["checks"].as_array().unwrap().iter();
    let found =
        checks.filter(|one| one["check"] == check).map(|one| one["state"].as_str().unwrap());
    found.collect::<Vec<_>>().join(",")
}

#[test]
fn each_check_has_a_line_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let before = alone(folder.path(), &["doctor", "--json"]);
    assert_eq!(before.code, 0, "{}{}", before.out, before.err);
    assert_eq!(state(&before, "server"), "warn");
    assert_eq!(state(&before, "store"), "warn");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is made");

    let at = Operator::start();
    at.served.endpoint(&at.served.tenant("acme"), "http://127.0.0.1:18080/");
    let running = at.run(&["doctor", "--json"]);
    for check in ["configuration", "data directory", "store", "key ring", "clock", "server"] {
        assert_eq!(state(&running, check), "ok", "{check}: {}", running.out);
    }
    let shown = at.run(&["doctor"]).ok().out;
    assert!(
        shown.lines().any(|line| line.starts_with("ok    store           SQLite: writable")),
        "{shown}"
    );

    let folder = at.stop();
    fs::remove_file(folder.path().join("data/master.key")).unwrap();
    let lost = alone(folder.path(), &["doctor"]);
    assert_eq!(lost.code, 1, "{}", lost.out);
    assert!(lost.out.contains("fail  key ring"), "{}", lost.out);
    assert!(lost.out.contains("hint: restore master.key"), "{}", lost.out);
    let wrong = alone(folder.path(), &["doctor", "--set", "retention=soon", "--json"]);
    assert_eq!((wrong.code, state(&wrong, "configuration")), (1, "fail".into()), "{}", wrong.out);
}

#[test]
fn servers_that_the_settings_name_are_tried() {
    let folder = tempfile::tempdir().unwrap();
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Nothing listens there. A port that was free a moment ago may be used by another test now.
    let closed = "127.0.0.1:1";
    let open = open.local_addr().unwrap();
    let core = format!("dispatch_url=http://{open}/hooks");
    let mail = format!("smtp_url=smtp://user:canary@{closed}");
    let ran = alone(folder.path(), &["doctor", "--json", "--set", &core, "--set", &mail]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(state(&ran, "core"), "ok", "{}", ran.out);
    assert_eq!(state(&ran, "mail server"), "fail", "{}", ran.out);
    assert!(
        ran.out.contains("e-mails wait meanwhile") && !ran.out.contains("canary"),
        "{}",
        ran.out
    );
    // Something listens there, but it is neither a mail server nor a gateway.
    let other = crate::scripted_receiver::Receiver::start();
    let other = other.url();
    let address = other.trim_start_matches("http://").trim_end_matches("/hooks");
    let mail = format!("smtp_url=smtp://{address}?tls=none");
    let api = format!("api_listen={address}");
    let ran = alone(folder.path(), &["doctor", "--json", "--set", &mail, "--set", &api]);
    assert_eq!(state(&ran, "mail server"), "fail", "{}", ran.out);
    assert!(ran.out.contains("does not greet"), "{}", ran.out);
    assert_eq!(state(&ran, "server"), "fail", "{}", ran.out);
    assert!(ran.out.contains("is not a gateway"), "{}", ran.out);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let api = format!("api_listen={}", silent.local_addr().unwrap());
    let ran = alone(folder.path(), &["doctor", "--json", "--set", &api]);
    assert!(ran.out.contains("does not respond"), "{}", ran.out);
}

/// With each of these `gancho serve` would not start, or accept nothing.
#[test]
fn what_keeps_a_gateway_from_working_fails() {
    let at = Operator::start();
    let folder = at.stop();
    let fails = |check: &str, sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = ["doctor", "--json"].into_iter().chain(sets).collect();
        let ran = alone(folder.path(), &arguments);
        assert_eq!(ran.code, 1, "{check}: {}{}", ran.out, ran.err);
        assert!(state(&ran, check).contains("fail"), "{check}: {}", ran.out);
    };
    let mail = "smtp_url=smtp://127.0.0.1:1?tls=none";
    fails("configuration", &[mail, "smtp_ca_file=/no/such.pem"]);
    fails("configuration", &["email_via=ses", "ses_region=eu-west-1"]);
    fails("disk space", &["store_max_bytes=64KiB"]);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let [ours, others] =
        [(); 2].map(|()| runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap());
    let url = format!("database_url={}", ours.url());
    alone(folder.path(), &["migrate", "--set", &url]).ok();
    let direct = format!("database_direct_url={}", others.url());
    fails("direct connection", &[&url, &direct]);
    fails("direct connection", &[&url, "database_direct_url=postgres://x@127.0.0.1:1/x"]);
    let replica = format!("database_read_url={}", others.url());
    fails("read replica", &[&url, &replica]);
}

#[test]
fn ports_and_receivers_of_notices_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let [ingest, slack] = ["ingest_listen=", "notify_slack_url=http://"]
        .map(|setting| format!("{setting}{}", taken.local_addr().unwrap()));
    let more = ["--set", &ingest, "--set", &slack, "--set", "notify_emails=ops@example.com"];
    let ran = alone(folder.path(), &[&["doctor", "--json"][..], &more].concat());
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(state(&ran, "ports"), "fail", "{}", ran.out);
    assert!(ran.out.contains("(ingest_listen)"), "{}", ran.out);
    assert_eq!((state(&ran, "chat"), state(&ran, "notices")), ("ok".into(), "warn".into()));
    drop(taken);
    let free = alone(folder.path(), &["doctor", "--json"]);
    assert_eq!(state(&free, "ports"), "", "{}", free.out);
}

#[test]
fn the_policy_pack_and_the_ledger_are_checked() {
    let at = Operator::start();
    at.receive(2);
    at.run(&["ledger", "checkpoint"]).ok();
    assert_eq!(state(&at.run(&["doctor", "--json"]), "ledger"), "ok");
    let folder = at.stop();
    let pack = folder.path().join("pack.toml");
    fs::write(&pack, "version = ").unwrap();
    let pack = format!("policy_file={}", pack.display());
    let ran = alone(folder.path(), &["doctor", "--json", "--set", &pack]);
    assert_eq!((ran.code, state(&ran, "policy pack")), (1, "fail".into()), "{}", ran.out);
    assert_eq!(state(&ran, "ledger"), "ok", "{}", ran.out);
    for entry in fs::read_dir(folder.path().join("data/checkpoints")).unwrap() {
        let path = entry.unwrap().path();
        let note = fs::read_to_string(&path).unwrap();
        fs::write(&path, note.replace("\n2\n", "\n1\n")).unwrap();
    }
    let ran = alone(folder.path(), &["doctor", "--json"]);
    assert_eq!((ran.code, state(&ran, "ledger")), (1, "fail".into()), "{}", ran.out);
}

#[test]
fn migrations_are_checked_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let pending = alone(folder.path(), &["migrate", "--check"]);
    assert_eq!(pending.code, 1, "{}", pending.out);
    assert!(pending.err.contains("hint: run `gancho migrate`"), "{}", pending.err);
    let ran = alone(folder.path(), &["migrate"]).ok();
    assert!(ran.out.starts_with("Ran "), "{}", ran.out);
    let again = alone(folder.path(), &["migrate", "--check"]).ok();
    assert!(again.out.starts_with("The database is up to date: schema "), "{}", again.out);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let at = Operator::with(&[("GANCHO_DATABASE_URL", &database.url())]);
    assert_eq!(at.json(&["migrate", "--check"])["is_up_to_date"], true);
    assert_eq!(at.run(&["doctor"]).code, 0);
    let version = at.json(&["version"]);
    assert_eq!(version["schema"]["postgres"], at.json(&["migrate"])["schema"]);
    // As after a failover: the server answers, but refuses every write.
    let read_only =
        "do $$ begin execute format('alter database %I set default_transaction_read_only = on',
        current_database()); end $$";
    runtime.block_on(async {
        database.client().await.unwrap().batch_execute(read_only).await.unwrap();
    });
    let refused = at.run(&["doctor"]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.out.contains("read-only transaction"), "{}", refused.out);
}

#[test]
fn a_database_that_a_gateway_could_not_use_is_named() {
    // A role that may only read.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = database.url();
    let set = format!("database_url={url}");
    alone(folder.path(), &["migrate", "--set", &set]).ok();
    let role = format!("reader_{}", std::process::id());
    runtime.block_on(async {
        let client = database.client().await.unwrap();
        let grant = format!(
            "create role {role} login; grant select on all tables in schema public to {role}"
        );
        client.batch_execute(&grant).await.unwrap();
    });
    let mut reader = url::Url::parse(&url).unwrap();
    reader.set_username(&role).unwrap();
    let refused =
        alone(folder.path(), &["doctor", "--json", "--set", &format!("database_url={reader}")]);
    assert_eq!(state(&refused, "store"), "fail", "{}", refused.out);
    assert!(refused.out.contains("may not write to the tables"), "{}", refused.out);
    runtime.block_on(async {
        let client = database.client().await.unwrap();
        client.batch_execute(&format!("drop owned by {role}; drop role {role}")).await.unwrap();
    });

    // A file with a damaged page.
    let folder = tempfile::tempdir().unwrap();
    alone(folder.path(), &["migrate"]).ok();
    let path = folder.path().join("data/gancho.db");
    let mut file = fs::read(&path).unwrap();
    for page in file.chunks_mut(4_096).skip(2) {
        page.fill(0x5a);
    }
    fs::write(&path, file).unwrap();
    let damaged = alone(folder.path(), &["doctor", "--json"]);
    assert_eq!(state(&damaged, "store"), "fail", "{}", damaged.out);
}
