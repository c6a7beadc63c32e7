//! `gancho emails`, at a gateway that captures e-mails.

use gancho_testkit::until;
use serde_json::json;

use crate::operator::Operator;

#[test]
fn an_e_mail_from_the_command_line_to_the_sink() {
    let at = Operator::start();
    let folder = at.folder.path();
    let none = at.run(&["emails", "list"]);
    assert!(none.err.contains("there are no tenants yet"), "{}", none.err);
    at.served.tenant("acme");
    std::fs::write(folder.join("note.txt"), "attached").unwrap();
    // The only tenant need not be named.
    let sent = at.run(&[
        "emails",
        "send",
        "--from",
        "Loja <shop@example.com>",
        "--to",
        "joao@example.com",
        "--subject",
        "Fatura",
        "--text",
        "Good morning",
        "--attach",
        "note.txt",
    ]);
    let id = sent.ok().out.trim().to_owned();
    assert!(id.starts_with("out_"), "{id}");
    until("it is sent", || at.json(&["emails", "show", &id])["status"] == "SENT");
    let listed = at.run(&["emails", "list", "--status", "sent"]).ok().out;
    assert!(listed.contains(&id) && listed.contains("j***@e***le.com"), "{listed}");
    assert!(!listed.contains("joao@"), "{listed}");
    let to = |address: &str| at.json(&["emails", "list", "--to", address])["data"].clone();
    assert_eq!(to("Joao@Example.com")[0]["outboxId"], id.as_str());
    assert_eq!(to("ana@example.com"), json!([]));
    assert!(at.run(&["emails", "list", "--to", "nobody"]).err.contains("recipient"));
    let shown = at.run(&["emails", "show", &id]).ok().out;
    assert!(shown.contains("captured by the sink"), "{shown}");
    let caught = at.run(&["emails", "caught"]).ok().out;
    assert!(caught.contains(&id) && caught.contains("joao@example.com"), "{caught}");
    for arguments in [&["emails", "caught", &id][..], &["emails", "show", "--raw", &id]] {
        let letter = at.run(arguments).ok().out;
        assert!(
            letter.contains("Subject: Fatura\n") && letter.contains("Good morning"),
            "{letter}"
        );
        assert!(letter.contains("note.txt"), "{letter}");
    }

    let by_json = r#"{"from":"shop@example.com","to":"ana@example.com","subject":"x","text":"y","idempotencyKey":"k"}"#;
    let first = at.run_with(&["emails", "send", "-"], &[], by_json).ok().out;
    assert_eq!(at.run_with(&["emails", "send", "-"], &[], by_json).ok().out, first);
    assert_eq!(at.run(&["emails", "send", "--from", "a@example.com"]).code, 2);
    let invalid = at.run(&[
        "emails",
        "send",
        "--from",
        "nobody",
        "--to",
        "also nobody",
        "--subject",
        "x",
        "--text",
        "y",
    ]);
    assert_eq!(invalid.code, 4);
    assert!(
        invalid.err.contains("\n  from: ") && invalid.err.contains("\n  to: "),
        "all faults: {}",
        invalid.err
    );

    at.served.tenant("beta");
    let which = at.run(&["emails", "list"]);
    assert_eq!(which.code, 2);
    assert!(which.err.contains("--tenant: acme, beta"), "{}", which.err);
    assert_eq!(at.json(&["emails", "list", "--tenant", "beta"])["data"], json!([]));
}

#[test]
fn addresses_are_suppressed_and_spared_no_more() {
    let at = Operator::start();
    at.served.tenant("acme");
    let said = at.run(&["emails", "suppressions", "add", "Ana+x@example.com"]).ok().out;
    assert_eq!(said, "Suppressed ana+x@example.com (manual).\n");
    let list = "# from the old system\nb@example.com\n\nc@example.com\nana+x@example.com\n";
    let import = ["emails", "suppressions", "import", "-", "--reason", "bounce", "--json"];
    let done = at.run_with(&import, &[], list).ok().json();
    assert_eq!(done, json!({"given": 3, "added": 2}));
    let shown = at.run(&["emails", "suppressions", "list"]).ok().out;
    assert!(shown.contains("b@example.com") && shown.contains("bounce"), "{shown}");
    at.run(&["emails", "suppressions", "remove", "ana+x@example.com"]).ok();
    let left = at.json(&["emails", "suppressions", "list"]);
    assert_eq!(left["data"].as_array().unwrap().len(), 2);
    assert_eq!(at.run(&["emails", "suppressions", "remove", "ana+x@example.com"]).code, 4);
}
