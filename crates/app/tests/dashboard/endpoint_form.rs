//! The forms of endpoints and tenants: everything that the API can set, and the defaults.

use crate::{browser::Browser, gateway::Gateway};

#[test]
fn an_endpoint_is_made_and_changed_with_all_that_it_can_have() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);
    let form = browser.open("/ui/endpoints/new?tenant=acme");
    form.has("name=\"secret\" type=\"password\"").has("<option value=\"email-gateway\">");
    form.has("default of the tenant: standard").has("Empty means 15 s, from the profile.");
    let fields = [
        ("url", "http://127.0.0.1:8443/hook"),
        ("events", "a.b"),
        ("name", "Billing"),
        ("external_id", "crm-7"),
        ("secret", "my own secret of 24 bytes"),
        ("schedule", "10s, 5m"),
        ("metadata", r#"{"team": 1.50}"#),
    ];
    let made = browser.submit("/ui/endpoints/new?tenant=acme", &fields);
    assert_eq!(made.status, 303, "{}", made.html);
    let listed = gateway.acting("acme", "GET", "/v1/webhooks", "").json();
    let endpoint = &listed["data"][0];
    assert_eq!(endpoint["external_id"], "crm-7");
    assert_eq!(endpoint["retry"]["schedule"].as_array().unwrap().len(), 2);
    assert_eq!(endpoint["metadata"]["team"], 1.5);
    let id = endpoint["id"].as_str().unwrap();
    let secret = gateway.acting("acme", "GET", &format!("/v1/webhooks/{id}/secret"), "").body;
    assert!(secret.contains("my own secret of 24 bytes"), "{secret}");

    let page = format!("/ui/endpoints/{id}?tenant=acme");
    browser
        .open(&page)
        .has("3 attempts over 5 min 10 s")
        .has("15 s, from the profile")
        .has("crm-7");
    let edit = format!("/ui/endpoints/{id}/edit?tenant=acme");
    let form = browser.open(&edit);
    form.has("value=\"10s, 5m\"").has("value=\"crm-7\"").lacks("name=\"secret\"");
    form.has("{&#34;team&#34;: 1.50}").lacks("my own secret");

    // Doubling delays, and back to those of the profile.
    let of = |schedule: &'static str, base: &'static str| {
        [
            ("url", "http://127.0.0.1:8443/hook"),
            ("events", "a.b"),
            ("profile", "email-gateway"),
            ("schedule", schedule),
            ("retry_base", base),
            ("retry_max", if base.is_empty() { "" } else { "1m" }),
            ("retry_attempts", if base.is_empty() { "" } else { "4" }),
        ]
    };
    let mixed = browser.submit(&edit, &of("1m", "1s"));
    assert_eq!(mixed.status, 422, "{}", mixed.html);
    mixed.has("id=\"retry-error\"");
    browser.submit_and_follow(&edit, &of("", "1s")).has("4 attempts over 7 s");
    browser.open(&edit).has("id=\"retry_base\" name=\"retry_base\" value=\"1s\"");
    let cleared = browser.submit_and_follow(&edit, &of("", ""));
    cleared.has(", from the profile</dd><dt>Rate limit").lacks("crm-7");
    browser.submit_and_follow(&edit, &of("none", "")).has("<dd>1 attempt</dd>");
    browser.open(&edit).has("name=\"schedule\" value=\"none\"");
}

#[test]
fn plans_and_profiles_are_chosen_from_those_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::logged_in(&gateway);
    let form = browser.open("/ui/tenants/new");
    form.has("<option selected>unlimited</option>").has("<option>pro</option>");
    form.has("<option selected>standard</option>").has("<option>auracore</option>");
    let fields = [("slug", "acme"), ("plan", "pro"), ("profile", "auracore")];
    browser.submit_and_follow("/ui/tenants/new", &fields);
    let form = browser.open("/ui/tenants/acme/edit");
    form.has("<option selected>pro</option>").has("<option selected>auracore</option>");
    browser.open("/ui/endpoints/new?tenant=acme").has("default of the tenant: auracore");
}

/// Two people edit the same endpoint: the one who saves last does not undo the other's changes.
#[test]
fn a_form_changes_only_what_was_changed_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let key = gateway.tenant("acme");
    let made = gateway.endpoint(&key, "http://127.0.0.1:8443/hook");
    let id = made["id"].as_str().unwrap();
    let browser = Browser::logged_in(&gateway);
    let edit = format!("/ui/endpoints/{id}/edit?tenant=acme");
    let before = browser.open(&edit).value_of("before");
    let fields = |name: &'static str, timeout: &'static str, max: &'static str| {
        let before = before.clone();
        [("url", "http://127.0.0.1:8443/hook"), ("events", "*"), ("profile", "standard")]
            .into_iter()
            .chain([("name", name), ("timeout", timeout), ("max_in_flight", max)])
            .map(|(name, value)| (name, value.to_owned()))
            .chain([
                ("ordering", made["ordering"].as_str().unwrap().to_owned()),
                ("before", before),
            ])
            .collect::<Vec<_>>()
    };
    for fields in [fields("Renamed", "7s", ""), fields("", "", "3")] {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let saved = browser.submit(&edit, &fields);
        assert_eq!(saved.status, 303, "{}", saved.html);
    }
    let now = gateway.acting("acme", "GET", &format!("/v1/webhooks/{id}"), "").json();
    assert_eq!((&now["name"], &now["max_in_flight"]), (&"Renamed".into(), &3.into()), "{now}");
    assert_eq!(now["timeout"], "7s", "{now}");
}
