//! What a tenant's users see and do in the portal, and what they never see.

use gancho_testkit::until;

use crate::{
    browser::{Browser, SAME_ORIGIN, form},
    gateway::Gateway,
    http,
    scripted_receiver::Receiver,
};

#[test]
fn endpoints_deliveries_keys_and_the_plan_of_the_own_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("GANCHO_EGRESS_ADDRESSES", "203.0.113.7, 198.51.100.0/24")];
    let gateway = Gateway::start(folder.path(), &variables);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let plan = gateway.operator("PATCH", "/v1/tenants/acme", r#"{"plan":"pro"}"#);
    assert_eq!(plan.status, 200, "{}", plan.body);
    let browser = Browser::in_portal(&gateway, "acme");

    let fields = [("url", receiver.url()), ("events", "*".into()), ("name", "Shop".into())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let made = browser.submit_in_portal("/portal/endpoints/new", &fields);
    assert_eq!(made.status, 200, "{}", made.html);
    made.has("whsec_").has("/portal/endpoints/wh_");
    let id = made.html.split("/portal/endpoints/wh_").nth(1).unwrap();
    let endpoint = format!("/portal/endpoints/wh_{}", id.split(['"', '/']).next().unwrap());
    browser.open("/portal/").has("Shop").has("Send a test").lacks("whsec_");

    receiver.answer_with(503, "closed for lunch");
    let tested = browser.submit_in_portal(&format!("{endpoint}/test"), &[]);
    tested.has("503").has("closed for lunch");
    receiver.answer(200);
    gateway.publish(&key, "order.paid", r#"{"id":"ord_1"}"#);
    until("it is delivered", || {
        browser.open("/portal/deliveries?status=delivered").html.contains("order.paid")
    });
    let list = browser.open("/portal/deliveries?status=delivered");
    let delivery = list.html.split("/portal/deliveries/dlv_").nth(1).unwrap();
    let delivery = delivery.split(['"', '?']).next().unwrap();
    let delivery = format!("/portal/deliveries/dlv_{delivery}");
    browser
        .open(&delivery)
        .has("Delivered at attempt 1")
        .has("webhook-signature")
        .lacks("=\"/ui/t");
    browser.submit_in_portal(&format!("{delivery}/retry"), &[]).has("order.paid");
    browser.submit_in_portal(&format!("{endpoint}/pause"), &[]).has("The endpoint is paused");
    browser.submit_in_portal(&format!("{endpoint}/resume"), &[]);
    let rotated = browser.submit_in_portal(&format!("{endpoint}/rotate"), &[("overlap", "1h")]);
    rotated.has("whsec_").has("also signs until");
    browser.submit_in_portal(&format!("{endpoint}/reveal"), &[]).has("whsec_");

    let events = browser.open("/portal/events");
    events.has("order.paid");
    let event = events.html.split("/portal/events/evt_").nth(1).unwrap();
    browser.open(&format!("/portal/events/evt_{}", event.split('"').next().unwrap())).has("ord_1");

    let made = browser.submit_in_portal("/portal/keys", &[("name", "ours"), ("read", "yes")]);
    let key = made.html.split("id=\"new-key\">").nth(1).unwrap().split('<').next().unwrap();
    let read = |status| {
        let answer = http::call(gateway.address, "GET", "/v1/webhooks", &[("x-api-key", key)], "");
        assert_eq!(answer.status, status, "{}", answer.body);
    };
    read(200);
    let keys = browser.open("/portal/keys");
    keys.has("ours").lacks(key);
    let row = keys.html.split("ours</b>").nth(1).unwrap();
    let revoke = row.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.open(revoke).has("cannot be undone");
    read(200);
    browser.submit_in_portal(revoke, &[]).has("The key is revoked");
    read(401);

    let plan = browser.open("/portal/plan");
    plan.has("<code>pro</code>").has("1 of 10,000").has("1 of 5");
    plan.has("203.0.113.7\n").has("198.51.100.0/24");
    let deleted = browser.submit_in_portal(&format!("{endpoint}/delete"), &[("confirm", "Shop")]);
    deleted.has("No endpoint here");
}

#[test]
fn what_is_another_tenants_or_the_operators_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let receiver = Receiver::start();
    let (_, globex) = (gateway.tenant("acme"), gateway.tenant("globex"));
    let endpoint = gateway.endpoint(&globex, &receiver.url())["id"].as_str().unwrap().to_owned();
    let event = gateway.publish(&globex, "secret.merger", r#"{"id":"mrg_1"}"#);
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    let list = |key: &str, path: &str| {
        http::call(gateway.address, "GET", path, &[("x-api-key", key)], "").json()["data"].clone()
    };
    until("it is delivered", || {
        list(&globex, "/v1/deliveries")[0]["status"].as_str() == Some("delivered")
    });
    let id = |value: &serde_json::Value| value["id"].as_str().unwrap().to_owned();
    let delivery = id(&list(&globex, "/v1/deliveries")[0]);
    let api_key = id(&list(&globex, "/v1/api-keys")[0]);

    let browser = Browser::in_portal(&gateway, "acme");
    for path in [
        format!("/portal/endpoints/{endpoint}"),
        format!("/portal/endpoints/{endpoint}/edit"),
        format!("/portal/endpoints/{endpoint}/reveal"),
        format!("/portal/deliveries/{delivery}"),
        format!("/portal/events/{event}"),
        // The tenant is that of the session, whatever the URL says.
        format!("/portal/endpoints/{endpoint}?tenant=globex"),
        format!("/portal/deliveries/{delivery}?tenant=globex"),
    ] {
        let page = browser.get(&path);
        assert_eq!(page.status, 404, "{path}");
        page.lacks("secret.merger").lacks("mrg_1").lacks("whsec_").lacks("/ui/tenants");
    }
    let token = browser.open("/portal/keys").csrf().to_owned();
    for path in [
        format!("/portal/endpoints/{endpoint}/pause"),
        format!("/portal/endpoints/{endpoint}/reveal"),
        format!("/portal/endpoints/{endpoint}/rotate"),
        format!("/portal/endpoints/{endpoint}/delete"),
        format!("/portal/deliveries/{delivery}/retry"),
        format!("/portal/keys/{api_key}/revoke?tenant=globex"),
    ] {
        let sent = browser.send("POST", &path, &[SAME_ORIGIN], &form(&[("csrf", &token)]));
        assert_eq!(sent.status, 404, "{path}: {}", sent.html);
        sent.lacks("whsec_");
    }
    for list in ["deliveries", "events", "endpoints", "dead-letters", "replays", "keys", ""] {
        let page = browser.open(&format!("/portal/{list}?tenant=globex"));
        page.lacks("secret.merger").lacks("globex").lacks(&api_key).lacks("href=\"/ui/t");
    }

    for path in [
        "login",
        "tenants",
        "tenants/acme",
        "tenants/acme/edit",
        "tenants/new",
        "queues",
        "sources",
        "sources/shopflow",
        "ledger",
        "emails",
        "captured",
        "suppressions",
        "search",
        "search?q=mrg_1",
        "overview",
        "audit",
        "users",
        "nowhere",
        "assets/x/app.js",
    ] {
        let page = browser.get(&format!("/portal/{path}"));
        assert_eq!(page.status, 404, "{path}: {}", page.html);
        page.has("No page at this address").lacks("shopflow");
    }
    for path in
        ["queues/webhook/pause", "tenants/acme/pause", "tenants/acme/keys", "ledger/checkpoint"]
    {
        let path = format!("/portal/{path}");
        let sent = browser.send("POST", &path, &[SAME_ORIGIN], &form(&[("csrf", &token)]));
        assert_eq!(sent.status, 404, "{path}");
    }
}

#[test]
fn pages_say_nothing_of_the_gateway_and_speak_three_languages() {
    let folder = tempfile::tempdir().unwrap();
    let logo = folder.path().join("logo.svg");
    let svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><circle r=\"4\"/></svg>";
    std::fs::write(&logo, svg).unwrap();
    let variables = [
        ("GANCHO_PORTAL_NAME", "Lumen & Co"),
        ("GANCHO_PORTAL_COLOR", "#0b6b57"),
        ("GANCHO_PORTAL_LOGO", logo.to_str().unwrap()),
    ];
    let gateway = Gateway::start(folder.path(), &variables);
    let receiver = Receiver::start();
    receiver.answer(500);
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, &receiver.url());
    gateway.publish(&key, "order.paid", "{}");
    let paused = gateway.operator("POST", "/v1/tenants/acme/pause", "");
    assert!(paused.status < 300, "{}", paused.body);
    gateway.publish(&key, "order.held", "{}");
    let mut browser = Browser::in_portal(&gateway, "acme");
    until("it is held back", || {
        browser.open("/portal/deliveries").html.contains("held back by the operator")
    });
    for path in
        ["", "deliveries", "events", "endpoints", "event-types", "keys", "plan", "dead-letters"]
    {
        let page = browser.open(&format!("/portal/{path}"));
        page.has("Lumen &#38; Co").has("/portal/theme.css?v=").has("/portal/logo?v=");
        for hidden in [
            " lane",
            "Gancho",
            "href=\"/ui/\"",
            "href=\"/ui/d",
            "action=\"/ui/",
            "{name}",
            " style=",
            "<style",
        ] {
            page.lacks(hidden);
        }
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
    let html = browser.open("/portal/").html;
    let address = |start: &str| {
        let rest = html.split(start).nth(1).unwrap();
        format!("{start}{}", rest.split('"').next().unwrap())
    };
    let css = browser.open(&address("/portal/theme.css"));
    css.has("--accent: light-dark(#0b6b57,");
    let image = browser.open(&address("/portal/logo"));
    assert_eq!(image.html, svg);
    assert_eq!(image.header("content-type"), Some("image/svg+xml"));
    assert!(image.header("content-security-policy").unwrap().contains("sandbox"));

    browser.language = "pt-BR";
    browser.open("/portal/").has("<html lang=\"pt\"").has("Webhooks de acme");
    browser.language = "es";
    browser.open("/portal/plan").has("<html lang=\"es\"").has("De dónde vienen las entregas");
    let fields = [("language", "en"), ("next", "/portal/plan")];
    let token = browser.open("/portal/keys").csrf().to_owned();
    let mut fields = fields.to_vec();
    fields.push(("csrf", &token));
    let chosen = browser.send("POST", "/portal/preferences", &[SAME_ORIGIN], &form(&fields));
    assert_eq!(chosen.location(), "/portal/plan");
    assert!(chosen.header("set-cookie").unwrap().starts_with("gancho_language=en; Path=/portal;"));
}

#[test]
fn the_operator_opens_the_portal_of_a_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let mut browser = Browser::logged_in(&gateway);
    browser
        .open("/ui/tenants/acme?tenant=acme")
        .has("Open the portal")
        .has("/ui/tenants/acme/portal");
    let opened = browser.submit("/ui/tenants/acme/portal?tenant=acme", &[]);
    assert!(opened.location().starts_with("/portal/gp_"), "{}", opened.location());
    let link = opened.location().to_owned();
    assert_eq!(browser.enter(&link).location(), "/portal/");
    browser.open("/portal/").has("Webhooks of acme");
    assert_eq!(browser.get("/portal/tenants").status, 404, "not even for the operator");
}
