//! Completions, manual pages and versions.

use std::fs;

use crate::operator::alone;

#[test]
fn completions_are_printed_for_each_shell() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = alone(folder.path(), &["completions", shell]).ok().out;
        assert!(script.contains("gancho") && script.contains("event-types"), "{shell}");
    }
    assert_eq!(alone(folder.path(), &["completions", "csh"]).code, 2);
}

#[test]
fn manual_pages_are_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    alone(folder.path(), &["man", "pages"]).ok();
    let page = |name: &str| fs::read_to_string(folder.path().join("pages").join(name)).unwrap();
    assert!(page("gancho.1").contains("Webhook gateway"));
    assert!(page("gancho-dlq-replay.1").contains("Send dead letters again"));
    assert_eq!(alone(folder.path(), &["man"]).code, 2);
}

#[test]
fn the_version_is_printed_for_people_and_programs() {
    let folder = tempfile::tempdir().unwrap();
    let text = alone(folder.path(), &["version"]).ok().out;
    assert!(text.starts_with(concat!("gancho ", env!("CARGO_PKG_VERSION"))), "{text}");
    let json = alone(folder.path(), &["version", "--json"]).ok().json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["schema"]["sqlite"].as_u64().unwrap() > 0);
}
