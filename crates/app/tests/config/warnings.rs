//! Warnings for the operator at the start.

use gancho_testkit::until;

use crate::gateway::{Gateway, TOKEN};

fn says(served: &Gateway, what: &str) -> bool {
    served.log.lock().unwrap().contains(what)
}

// faults.md 15
#[test]
fn on_postgres_dead_letters_stay_unless_a_folder_is_named() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = database.url();
    let archive = folder.path().join("archive").display().to_string();
    let said = "neither archive_url nor archive_dir is set";
    let served = Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &url)]);
    until("it is said", || says(&served, said));
    served.stop();
    let variables =
        [("GANCHO_DATABASE_URL", url.as_str()), ("GANCHO_ARCHIVE_DIR", archive.as_str())];
    let log = Gateway::start(folder.path(), &variables).stop();
    assert!(!log.contains(said), "{log}");
}

// faults.md 15
#[test]
fn on_sqlite_there_is_an_archive_without_asking() {
    let folder = tempfile::tempdir().unwrap();
    let log = Gateway::start(folder.path(), &[]).stop();
    assert!(!log.contains("archive_dir"), "{log}");
}

// faults.md 20
#[test]
fn a_weak_token_is_noticed_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let log = Gateway::start(folder.path(), &[]).stop();
    assert!(log.contains("operator token is weak") && !log.contains(TOKEN), "{log}");
    let strong = "4f1d7c9e2b8a6053d1e7f9a2c4b6d8e0aa91";
    let log = Gateway::start(folder.path(), &[("GANCHO_ADMIN_TOKEN", strong)]).stop();
    assert!(!log.contains("operator token is weak") && !log.contains(strong), "{log}");
}

// faults.md 27
#[test]
fn e_mails_that_wait_while_e_mail_is_switched_off_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    served.tenant("acme");
    assert_eq!(served.operator("POST", "/v1/queues/email/pause", "").status, 204);
    let email = r#"{"to":"a@example.com","from":"b@example.com","subject":"s","text":"t"}"#;
    for _ in 0..2 {
        let sent = served.acting("acme", "POST", "/v1/email/send", email);
        assert_eq!(sent.status, 201, "{}", sent.body);
    }
    served.stop();
    let log = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "off")]).stop();
    let line = log.lines().find(|line| line.contains("e-mail is off on this node"));
    assert!(line.is_some_and(|line| line.contains("\"count\":2")), "{log}");
    // When e-mail is turned on again, they are sent.
    let served = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    assert_eq!(served.operator("POST", "/v1/queues/email/resume", "").status, 204);
    until("both are sent", || {
        let rows = served.acting("acme", "GET", "/v1/emails", "").json();
        rows["data"].as_array().unwrap().iter().filter(|row| row["status"] == "SENT").count() == 2
    });
    let log = served.stop();
    assert!(!log.contains("e-mail is off"), "{log}");
}
