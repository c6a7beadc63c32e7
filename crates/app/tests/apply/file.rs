//! `gancho apply`, `gancho diff` and `gancho export`.

use std::fs;

use serde_json::Value;

use crate::operator::Operator;

const FILE: &str = "
tenants:
  - slug: acme
    name: Acme
    plan: unlimited
    publish_rate: 600/1m
    retention: { events: 14d, dead_letters: 720h }
    event_types:
      - name: invoice.paid
        description: An invoice was paid
        example: { id: inv_1 }
        schema: { type: object, required: [id] }
    endpoints:
      - name: billing
        url: http://127.0.0.1:18080/hooks
        events: [invoice.*]
        rate_limit: 100/s
        headers: { X-Team: billing }
        secret_env: BILLING_SECRET
      - name: audit
        url: http://127.0.0.1:18081/hooks
        events: ['*']
event_types:
  - name: order.created
    description: An order was created
    example: { id: 1 }
sources:
  - partner: stripe-eu
    preset: stripe
    targets: ['http://127.0.0.1:18082/core']
";

fn apply(at: &Operator) {
    let path = at.folder.path().join("gancho.yaml");
    let file = path.to_str().unwrap();
    fs::write(&path, FILE).unwrap();
    let secret = [("BILLING_SECRET", "whsec_naF9CTVc42DAugdYTAuWuNRDDEwowAdJ")];

    let plan = at.run(&["diff", "-f", file]).ok().out;
    assert!(plan.contains("+ endpoint billing of acme\n"), "{plan}");
    assert!(plan.ends_with("6 to create, 0 to change, 0 to delete; 0 unchanged\n"), "{plan}");
    assert_eq!(at.run(&["diff", "-f", file, "--exit-code"]).code, 1);
    let unasked = at.run_with(&["apply", "-f", file], &secret, "");
    assert_eq!(unasked.code, 2, "{}", unasked.err);
    assert!(unasked.err.contains("hint: pass --yes"), "{}", unasked.err);
    assert_eq!(at.json(&["tenants", "list"])["data"].as_array().unwrap().len(), 0);

    let done = at.run_with(&["apply", "-f", file, "--yes"], &secret, "").ok().out;
    assert!(done.contains("created endpoint audit of acme\n    secret: whsec_"), "{done}");
    assert!(!done.contains("naF9CTVc42DAugd"), "{done}");
    let id = at.json(&["endpoints", "list"])["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "billing")
        .unwrap()["id"]
        .clone();
    assert_eq!(at.run(&["endpoints", "secret", id.as_str().unwrap()]).ok().out.trim(), secret[0].1);

    // Applied again, and from the export: nothing changes.
    let again = at.run(&["apply", "-f", file, "--yes"]).ok().out;
    assert_eq!(again, "0 to create, 0 to change, 0 to delete; 6 unchanged\n");
    let exported = at.folder.path().join("exported.yaml");
    let exported = exported.to_str().unwrap();
    at.run(&["export", "-o", exported]).ok();
    let again = at.run(&["export", "-o", exported]);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("exported.yaml exists already\nhint: "), "{}", again.err);
    let unchanged = at.json(&["diff", "-f", exported, "--prune"]);
    assert_eq!(
        (unchanged["changes"].as_array().unwrap().len(), &unchanged["unchanged"]),
        (0, &6.into()),
        "{unchanged}\n{}",
        fs::read_to_string(exported).unwrap()
    );

    let changed = FILE.replace("100/s", "50/s").replace("An order was created", "New order");
    let start = changed.find("      - name: audit").unwrap();
    let end = changed.find("event_types:\n  - name: order").unwrap();
    fs::write(&path, format!("{}{}", &changed[..start], &changed[end..])).unwrap();
    let plan = at.run(&["diff", "-f", file, "--prune"]).ok().out;
    assert!(plan.contains("~ endpoint billing of acme\n    rate_limit: "), "{plan}");
    assert!(plan.contains("- endpoint audit of acme\n"), "{plan}");
    let applied: Value = at.json(&["apply", "-f", file, "--prune", "--yes"]);
    assert_eq!(applied["applied"].as_array().unwrap().len(), 3, "{applied}");
    assert_eq!(at.json(&["endpoints", "list"])["data"].as_array().unwrap().len(), 1);
    assert_eq!(at.json(&["event-types", "show", "order.created"])["description"], "New order");
}

#[test]
fn a_file_is_applied_once_on_sqlite() {
    apply(&Operator::start());
}

#[test]
fn a_file_is_applied_once_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    apply(&Operator::with(&[("GANCHO_DATABASE_URL", &database.url())]));
}

#[test]
fn mistakes_in_a_file_are_named_and_a_failure_says_what_was_done() {
    let at = Operator::start();
    let path = at.folder.path().join("gancho.yaml");
    let file = path.to_str().unwrap();
    for (text, said) in [
        ("tenants:\n  - slg: a\n", "tenants[0]: unknown field `slg`\nhint: did you mean `slug`?"),
        ("tenants:\n  - name: a\n", "tenants[0]: `slug` is missing"),
        ("tenants: 1\n", "tenants must be a list"),
        ("tenant: []\n", "unknown field `tenant`"),
        ("tenants:\n  - slug: a\n  - slug: a\n", "tenant a is declared twice"),
        ("tenants:\n  - slug: a\n    publish_rate: fast\n", "`fast` is not a rate"),
        ("a: [", "is not valid"),
    ] {
        fs::write(&path, text).unwrap();
        let ran = at.run(&["apply", "-f", file, "--yes"]);
        assert_eq!(ran.code, 2, "{text}: {}", ran.err);
        assert!(ran.err.contains(said), "{text}: {}", ran.err);
    }
    fs::write(&path, "tenants:\n  - slug: one\n  - slug: Not a slug\n").unwrap();
    let ran = at.run(&["apply", "-f", file, "--yes"]);
    assert_eq!(ran.code, 8, "{}", ran.err);
    assert!(ran.err.contains("1 of 2 changes were applied"), "{}", ran.err);
    let toml = at.folder.path().join("gancho.toml");
    fs::write(&toml, "[[tenants]]\nslug = \"two\"\n").unwrap();
    // The user chooses the name of the settings file here.
    let other = at.folder.path().join("setup.toml");
    fs::rename(&toml, &other).unwrap();
    at.run(&["apply", "-f", other.to_str().unwrap(), "--yes"]).ok();
    at.run(&["tenants", "show", "two"]).ok();
}
