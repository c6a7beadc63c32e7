//! `gancho users` and `gancho audit`, at a running gateway.

use crate::operator::Operator;

#[test]
fn a_user_is_created_changed_listed_and_deleted() {
    let at = Operator::start();
    let none = at.run(&["users", "list"]).ok().out;
    assert!(none.contains("There are no users yet"), "{none}");
    let create = ["users", "create", "ana@example.com", "--role", "read-only"];
    let wrong = at.run(&["users", "create", "ana@example.com", "--role", "admin"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("use operator, support or read-only"), "{}", wrong.err);
    let asked = at.run(&create);
    assert_eq!(asked.code, 2, "{}", asked.err);
    assert!(asked.err.contains("--password-file -"), "{}", asked.err);
    let create = [&create[..], &["--password-file", "-"]].concat();
    let made = at.run_with(&create, &[], "correct horse battery\n").ok().out;
    assert_eq!(made, "Created ana@example.com (read-only). They can log in to the dashboard.\n");
    let weak = at.run_with(
        &["users", "set-password", "ana@example.com", "--password-file", "-"],
        &[],
        "short\n",
    );
    assert_eq!(weak.code, 4);
    assert!(
        weak.err.contains("at least 12 characters") && !weak.err.contains("short\n"),
        "{}",
        weak.err
    );
    let changed = at.run(&["users", "set-role", "ana@example.com", "support"]).ok().out;
    assert!(changed.contains("Changed ana@example.com (support)"), "{changed}");
    let listed = at.run(&["users", "list"]).ok().out;
    assert!(listed.contains("ana@example.com  support"), "{listed}");
    assert_eq!(at.json(&["users", "list"])["data"][0]["role"], "support");
    assert_eq!(at.run(&["users", "delete", "ana@example.com"]).code, 2, "it must be confirmed");
    at.run(&["users", "delete", "ana@example.com", "--yes"]).ok();
    assert_eq!(at.run(&["users", "delete", "ana@example.com", "--yes"]).code, 4);

    let acts = at.run(&["audit"]).ok().out;
    let lines: Vec<&str> = acts.lines().collect();
    assert!(lines[0].starts_with("time (UTC)"), "{acts}");
    assert!(lines[1].contains("deleteUser") && lines[1].contains("404 not_found"), "{acts}");
    assert!(acts.contains("createUser") && !acts.contains("battery"), "{acts}");
    let refused = at.json(&["audit", "--outcome", "refused", "--operation", "updateUser"]);
    assert_eq!(refused["data"][0]["resource"], "ana@example.com");
    assert_eq!(at.json(&["audit", "--limit", "1"])["has_more"], true);
    let none = at.run(&["audit", "--actor", "nobody"]).ok().out;
    assert_eq!(none, "No acts match.\n");
}
