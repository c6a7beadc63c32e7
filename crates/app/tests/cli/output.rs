//! Compares the exact output of commands: tables, single objects, and errors with their hints.

use std::fmt::Write;

use gancho_testkit::until;

use crate::{
    operator::{Operator, Ran, alone},
    scripted_receiver::Receiver,
};

/// A session as a terminal shows it.
#[derive(Default)]
struct Session(String);

impl Session {
    fn add(&mut self, arguments: &[&str], ran: &Ran) {
        let shown: Vec<_> = arguments.iter().map(|one| quoted(one)).collect();
        write!(self.0, "$ gancho {}\n{}{}", shown.join(" "), ran.out, ran.err).unwrap();
        if ran.code != 0 {
            writeln!(self.0, "[exit {}]", ran.code).unwrap();
        }
        self.0 += "\n";
    }

    fn run(&mut self, at: &Operator, arguments: &[&str]) {
        self.add(arguments, &at.run(arguments));
    }

    /// Compares it with the snapshot. Values that differ from run to run are replaced by names.
    fn matches(&self, name: &str) {
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false, filters => vec![
            (r"\b(out|rcp|src|evt|dlv|wh|ten)_[0-9A-Z]{26}\b", "${1}_[id]"),
            (r"\b\d+s  +", "[age]  "),
            (r"\b\d+s\n", "[age]\n"),
            (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?", "[time]"),
            (r"\b[0-9a-f]{64}\b", "[secret]"),
            (r"\b[0-9a-f]{16}\b", "[key id]"),
            (r"[A-Za-z0-9+/]{43}=", "[hash]"),
            (r"\bin \d+\.\d+ s\b", "in [duration]"),
            (r"\bwhsec_[A-Za-z0-9+/=]+", "[secret]"),
            (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
            (r"/[^ ]*/\.tmp[A-Za-z0-9]+", "[folder]"),
            // With the spaces that fill its column.
            (r"\b\d+(\.\d+)? ?(ms|µs|us)\b *", "[latency]  "),
            (r"[ \t]+\n", "\n"),
        ]}, { insta::assert_snapshot!(name, self.0) });
    }
}

fn quoted(argument: &str) -> String {
    if argument.contains(' ') { format!("'{argument}'") } else { argument.to_owned() }
}

#[test]
fn sources_as_they_are_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["sources", "list"]);
    session.run(&at, &["sources", "create", "acme", "--target", "http://127.0.0.1:19458/core"]);
    session.run(&at, &["sources", "create", "acme"]);
    session.run(&at, &["sources", "keys", "add", "acme", "k1"]);
    session.run(&at, &["sources", "list"]);
    session.run(&at, &["sources", "show", "acme"]);
    session.run(&at, &["sources", "keys", "list", "acme"]);
    session.run(&at, &["sources", "change", "acme", "--pause"]);
    session.run(&at, &["sources", "rejections", "acme"]);
    session.run(&at, &["sources", "show", "nobody"]);
    session.run(&at, &["sources", "delete", "acme"]);
    session.run(&at, &["sources", "delete", "acme", "--yes"]);
    session.matches("sources");
}

#[test]
fn emails_as_they_are_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["emails", "list"]);
    at.served.tenant("acme");
    session.run(&at, &["emails", "list"]);
    let message = ["--from", "shop@example.com", "--subject", "Invoice", "--text", "Hello"];
    let send = [&["emails", "send", "--to", "ana@example.com"][..], &message].concat();
    let sent = at.run(&send);
    session.add(&send, &sent);
    let id = sent.ok().out.trim().to_owned();
    until("it is sent", || at.json(&["emails", "show", &id])["status"] == "SENT");
    session.run(&at, &["emails", "list"]);
    session.run(&at, &["emails", "show", &id]);
    session.run(&at, &[&["emails", "send", "--to", "nobody"][..], &message].concat());
    session.run(&at, &["emails", "suppressions", "add", "ana@example.com"]);
    session.run(&at, &["emails", "suppressions", "list"]);
    session.run(&at, &["emails", "show", "out_00000000000000000000000000"]);
    session.matches("emails");
}

#[test]
fn the_ledger_as_it_is_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["ledger", "verify"]);
    session.run(&at, &["ledger", "checkpoint"]);
    at.receive(2);
    session.run(&at, &["ledger", "checkpoint"]);
    session.run(&at, &["ledger", "checkpoint"]);
    session.run(&at, &["ledger", "verify"]);
    session.run(&at, &["ledger", "prove", "rcp_00000000000000000000000000"]);
    session.matches("ledger");
}

#[test]
fn the_key_ring_as_it_is_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["keys", "list"]);
    session.run(&at, &["keys", "rotate"]);
    session.run(&at, &["keys", "list"]);
    session.run(&at, &["keys", "drop", "1"]);
    session.run(&at, &["keys", "drop", "2"]);
    session.matches("keys");
}

#[test]
fn events_and_deliveries_as_they_are_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["tenants", "list"]);
    session.run(&at, &["endpoints", "list", "--tenant", "acme"]);
    session.run(&at, &["tenants", "create", "acme", "--plan", "unlimited"]);
    session.run(&at, &["tenants", "list"]);
    let receiver = Receiver::start();
    let create = ["endpoints", "create", &receiver.url(), "--name", "billing"];
    let created = at.run(&create);
    session.add(&create, &created);
    let id = at.json(&["endpoints", "list"])["data"][0]["id"].as_str().unwrap().to_owned();
    session.run(&at, &["endpoints", "list"]);
    session.run(&at, &["endpoints", "test", &id]);
    let publish = ["publish", "invoice.paid", "{\"id\":\"inv_1\"}", "--subject", "inv_1"];
    let published = at.run(&publish);
    session.add(&publish, &published);
    let event = published.ok().out.trim().to_owned();
    let of_event = ["deliveries", "list", "--event", &event];
    until("it is delivered", || at.json(&of_event)["data"][0]["status"] == "delivered");
    let delivery = at.json(&of_event)["data"][0]["id"].as_str().unwrap().to_owned();
    session.run(&at, &of_event);
    session.run(&at, &["events", "show", &event]);
    session.run(&at, &["deliveries", "show", &delivery]);
    session.run(&at, &["dlq", "list"]);
    session.run(&at, &["queues", "list"]);
    session.run(&at, &["replays", "list"]);
    session.run(&at, &["api-keys", "list"]);
    session.run(&at, &["endpoints", "update", &id, "--rate-limit", "fast"]);
    session.run(&at, &["endpoints", "update", &id, "--ordering", "strict"]);
    session.run(&at, &["endpoints", "show", "wh_00000000000000000000000000"]);
    session.matches("events");
}

#[test]
fn mistakes_at_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::default();
    for arguments in [
        &["soruces"][..],
        &["sources", "lsit"],
        &["sources", "show"],
        &["publish"],
        &["sign", "--sender", "nobody"],
        &["restore", "nofile.db"],
        &["backup", "copy.db", "--data-dir", "nowhere"],
        &["sources", "list", "--jsno"],
        &["sources", "list"],
        &["config", "--set", "concurency=7"],
        &["config", "--set", "retention=soon"],
        &["serve", "--log-format", "loud"],
    ] {
        session.add(arguments, &alone(folder.path(), arguments));
    }
    session.matches("mistakes");
}

#[test]
fn alerts_and_nodes_as_they_are_shown() {
    let at = Operator::start();
    let mut session = Session::default();
    session.run(&at, &["alerts", "list"]);
    session.run(&at, &["alerts", "history"]);
    session.run(&at, &["alerts", "test"]);
    session.run(&at, &["alerts", "silence", "--for", "2h", "--rule", "no_such_rule"]);
    let silence = ["alerts", "silence", "--for", "150m", "--rule", "dead_letters_high", "--json"];
    let made: serde_json::Value = serde_json::from_str(&at.run(&silence).out).unwrap();
    let listed = at.run(&["alerts", "silences"]);
    assert!(
        listed.out.contains("dead_letters_high") && listed.out.contains("in 2h"),
        "{}",
        listed.out
    );
    assert_eq!(at.run(&["alerts", "unsilence", made["id"].as_str().unwrap()]).code, 0);
    session.run(&at, &["alerts", "silences"]);
    session.run(&at, &["alerts", "unsilence", "sil_1"]);
    session.matches("alerts");
    let nodes = at.run(&["nodes"]);
    assert!(
        nodes.out.contains("alive") && nodes.out.contains("api,ingest,worker"),
        "{}",
        nodes.out
    );
    assert!(nodes.out.contains("(answered)"), "{}", nodes.out);
}

/// Each hint names a command that exists.
#[test]
fn what_is_not_found_is_looked_for_in_the_list_that_the_hint_names() {
    let at = Operator::start();
    at.served.tenant("acme");
    let acme = ["--tenant", "acme"];
    for (arguments, acts_for_a_tenant) in [
        (&["tenants", "show", "nobody"][..], false),
        (&["sources", "show", "nobody"], false),
        (&["cells", "remove", "nobody"], false),
        (&["endpoints", "show", "wh_01ARZ3NDEKTSV4RRFFQ69G5FAV"], true),
        (&["events", "show", "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV"], true),
        (&["deliveries", "show", "dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV"], true),
        (&["replays", "show", "rpl_01ARZ3NDEKTSV4RRFFQ69G5FAV"], true),
    ] {
        let mut arguments = arguments.to_vec();
        arguments.extend(acme.iter().copied().filter(|_| acts_for_a_tenant));
        let ran = at.run(&arguments);
        if ran.err.contains("this gateway uses SQLite") {
            continue;
        }
        let hint = ran.err.lines().find_map(|line| line.strip_prefix("hint: `gancho "));
        let hint = hint.unwrap_or_else(|| panic!("{arguments:?}: {}", ran.err));
        let (command, _) = hint.split_once('`').unwrap();
        let mut listing: Vec<&str> = command.split(' ').collect();
        assert_eq!(listing[0], arguments[0], "{hint}");
        listing.extend(acme.iter().copied().filter(|_| acts_for_a_tenant));
        at.run(&listing).ok();
    }
}
