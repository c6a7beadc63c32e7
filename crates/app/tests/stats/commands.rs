//! `gancho stats`, at a gateway that has delivered something.

use gancho_testkit::until;

use crate::{operator::Operator, receiver};

#[test]
fn what_was_delivered_is_shown_as_a_table() {
    let at = Operator::start();
    let (address, _) = receiver::start();
    let key = at.served.tenant("acme");
    let endpoint = at.served.endpoint(&key, &format!("http://{address}/"));
    at.served.publish(&key, "a.b", "{}");
    until("it is counted", || at.json(&["stats"])["totals"]["delivered"] == 1);

    let shown = at.run(&["stats", "--range", "15m"]).ok().out;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("from (UTC)"), "{shown}");
    assert_eq!(lines.iter().position(|line| line.is_empty()), Some(16), "{shown}");
    assert_eq!(shown.matches('█').count(), 16, "one bin has all: {shown}");
    assert!(shown.contains("delivered      1, 1 at the first attempt"), "{shown}");
    assert!(shown.contains("success        100.00 %"), "{shown}");

    let of_tenant = at.json(&["stats", "--tenant", "acme", "--lane", "webhook"]);
    assert_eq!(of_tenant["totals"]["accepted"], 1);
    assert_eq!(of_tenant["step"], "1h");
    let id = endpoint["id"].as_str().unwrap();
    let of_endpoint = at.json(&["stats", "--tenant", "acme", "--endpoint", id, "--range", "1h"]);
    assert_eq!(of_endpoint["totals"]["delivered"], 1);

    let unknown = at.run(&["stats", "--range", "2h"]);
    assert_eq!(unknown.code, 4);
    assert!(unknown.err.contains("must be one of \"15m\", \"1h\""), "{}", unknown.err);
    assert_eq!(at.run(&["stats", "--endpoint", id]).code, 2, "an endpoint is a tenant's");
}
