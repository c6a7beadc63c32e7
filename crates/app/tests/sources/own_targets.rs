//! The operator's own targets, and the gateway's internal targets.

use gancho_testkit::until;

use crate::{
    gateway::{Gateway, command},
    http, receiver,
};

/// Starts a gateway in a network of this machine that no default allows, without the tests' own
/// `allow_cidrs`.
fn start(folder: &std::path::Path, variables: &[(&str, &str)]) -> Gateway {
    let mut command = command(&["serve"], folder);
    command.env_remove("GANCHO_ALLOW_CIDRS");
    command.envs(variables.iter().copied());
    Gateway::of(command)
}

/// faults.md 7: the core's network is reachable for the core's deliveries and not for tenants'.
#[test]
fn the_operators_networks_are_not_the_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let own = ("GANCHO_OPERATOR_ALLOW_CIDRS", "10.1.0.0/16,192.168.7.0/24");
    let names = ("GANCHO_OPERATOR_ALLOW_NAMES", "core.internal");
    let egress = ("GANCHO_EGRESS_ADDRESSES", "203.0.113.7, 2001:db8::/48");
    let served = start(folder.path(), &[own, names, egress]);
    let key = served.tenant("acme");
    for (number, host) in ["10.1.2.3:8500", "192.168.7.9", "core.internal"].iter().enumerate() {
        let body = format!(r#"{{"partner":"p{number}","target_url":"http://{host}/in"}}"#);
        let made = served.operator("POST", "/v1/sources", &body);
        assert_eq!(made.status, 201, "{host}: {}", made.body);
        let body = format!(r#"{{"url":"http://{host}/in","events":["*"]}}"#);
        let made =
            http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
        assert_eq!(made.status, 422, "{host}: {}", made.body);
        assert!(made.body.contains("`allow_"), "it names the setting: {}", made.body);
    }
    let beyond = r#"{"partner":"p9","target_url":"http://10.2.0.1/in"}"#;
    let refused = served.operator("POST", "/v1/sources", beyond);
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("`operator_allow_cidrs`"), "{}", refused.body);

    let headers = [("x-api-key", key.as_str())];
    let shown = http::call(served.address, "GET", "/v1/egress-addresses", &headers, "").json();
    assert_eq!(shown["addresses"], serde_json::json!(["203.0.113.7", "2001:db8::/48"]));
    served.stop();
}

/// faults.md 7: notices reach the operator's own machine, which tenants' webhooks may not.
#[test]
fn notices_go_where_tenants_may_not() {
    let folder = tempfile::tempdir().unwrap();
    let (ops, seen) = receiver::start();
    let url = format!("http://{ops}/notices");
    let served = start(folder.path(), &[("GANCHO_NOTIFY_URL", &url)]);
    let key = served.tenant("acme");
    let body = format!(r#"{{"url":"{url}","events":["*"]}}"#);
    let made = http::call(served.address, "POST", "/v1/webhooks", &[("x-api-key", &key)], &body);
    assert_eq!(made.status, 422, "{}", made.body);
    let test = served.acting("operator", "GET", "/v1/webhooks", "").json();
    let id = test["data"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/webhooks/{id}/test");
    let tried = served.acting("operator", "POST", &path, "{}");
    assert_eq!(tried.status, 200, "{}", tried.body);
    until("the operator is notified", || !seen.counts().is_empty());
    served.stop();
}

/// faults.md 7: several tenants and an open private network cause a warning.
#[test]
fn private_networks_of_many_tenants_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let allowed = [("GANCHO_ALLOW_CIDRS", "10.0.0.0/8,8.8.8.0/24")];
    let said = "allow_cidrs lets the endpoints of all tenants reach private networks";
    let served = start(folder.path(), &allowed);
    served.tenant("one");
    assert!(!served.stop().contains(said));
    let served = start(folder.path(), &allowed);
    served.tenant("two");
    assert!(!served.stop().contains(said), "one tenant is nobody else's business");
    let log = start(folder.path(), &allowed).stop();
    assert!(log.contains(said) && log.contains("10.0.0.0/8") && !log.contains("8.8.8.0"), "{log}");
    let log = start(folder.path(), &[("GANCHO_OPERATOR_ALLOW_CIDRS", "10.0.0.0/8")]).stop();
    assert!(!log.contains(said), "{log}");
}

/// faults.md B3: only the operator sees the operator's notices.
#[test]
fn what_stands_for_the_gateway_is_no_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let (ops, _) = receiver::start();
    let served = start(folder.path(), &[("GANCHO_NOTIFY_URL", &format!("http://{ops}/"))]);
    for slug in ["operator", "admin", "gancho", "gateway", "internal", "system"] {
        let made = served.operator("POST", "/v1/tenants", &format!(r#"{{"slug":"{slug}"}}"#));
        assert_eq!((made.status, &made.json()["code"]), (422, &"invalid_field".into()), "{slug}");
    }
    let key = served.operator("POST", "/v1/tenants/operator/api-keys", "{}");
    assert_eq!((key.status, &key.json()["code"]), (403, &"operator_only".into()), "{}", key.body);
    let link = served.operator("POST", "/v1/portal-links", r#"{"tenant":"operator"}"#);
    assert_eq!(link.status, 403, "{}", link.body);
    assert_eq!(served.acting("operator", "GET", "/v1/webhooks", "").status, 200);
    served.stop();
}
