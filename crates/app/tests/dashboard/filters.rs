//! Filters: by the outcome of a delivery, by names, and the errors of invalid filters.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

#[test]
fn a_wrong_filter_is_marked_on_the_page_of_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);
    for (path, marked, message) in [
        ("/ui/deliveries?since=yesterday", "chip wrong", "not a time such as"),
        ("/ui/deliveries?status=lost", "chip wrong", "not one of pending"),
        ("/ui/deliveries?response=many", "chip wrong", "not a status from 100 to 599"),
        ("/ui/deliveries?tenant=acme&endpoint=x", "chip wrong", "not the id or the name"),
        ("/ui/events?until=never", "chip wrong", "not a time such as"),
        ("/ui/emails?since=yesterday", "chip wrong", "not a time such as"),
        ("/ui/emails?recipient=nobody", "chip wrong", "not an e-mail address such as"),
        ("/ui/dead-letters?since=yesterday", "A filter has an invalid value", "show"),
        ("/ui/emails?status=LOST", "A filter has an invalid value", "LOST"),
        ("/ui/audit?since=yesterday", "chip wrong", "not a time such as"),
        ("/ui/audit?outcome=maybe", "A filter has an invalid value", "remove it"),
    ] {
        let page = browser.get(path);
        assert_eq!(page.status, 422, "{path}\n{}", page.html);
        page.has(marked).has(message).has("href=\"/ui/queues").lacks("data-live=");
    }
    let portal = Browser::in_portal(&gateway, "acme");
    let page = portal.get("/portal/deliveries?until=never");
    assert_eq!(page.status, 422);
    page.has("chip wrong").has("href=\"/portal/plan\"");
}

#[test]
fn deliveries_are_found_by_what_they_led_to_and_by_subject() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (healthy, broken) = (Receiver::start(), Receiver::start());
    broken.answer(418);
    let key = gateway.tenant("acme");
    for (events, url) in [("a.ok", healthy.url()), ("a.bad", broken.url())] {
        let body = format!(r#"{{"url":"{url}","events":["{events}"],"retry":{{"schedule":[]}}}}"#);
        assert_eq!(gateway.acting("acme", "POST", "/v1/webhooks", &body).status, 201);
    }
    gateway.publish(&key, "a.ok", "{}");
    gateway.publish(&key, "a.bad", "{}");
    let body = r#"{"type":"a.ok","data":{},"subject":"order-1"}"#;
    let sent = gateway.acting("acme", "POST", "/v1/events", body);
    assert!(sent.status < 300, "{}", sent.body);
    let browser = Browser::logged_in(&gateway);
    let rows = |path: &str| {
        let html = browser.open(path).html;
        let count = |word: &str| html.matches(&format!(">{word}</a>")).count();
        (count("a.ok"), count("a.bad"))
    };
    for tenant in ["", "&tenant=acme"] {
        let path = |filter: &str| format!("/ui/deliveries?{filter}{tenant}");
        until("all have ended", || rows(&path("response=200")) == (2, 0));
        until("it is given up", || rows(&path("error=HTTP_418")) == (0, 1));
        assert_eq!(rows(&path("response=418")), (0, 1));
        assert_eq!(rows(&path("error=TIMEOUT")), (0, 0));
        assert_eq!(rows(&path("subject=order-1")), (1, 0));
        assert_eq!(rows(&path("status=failed&response=200")), (0, 0));
        assert_eq!(rows(&path("type=a.*")), (2, 1));
        assert_eq!(rows(&path("type=a.*&status=failed")), (0, 1));
        assert_eq!(rows(&path("type=b.*")), (0, 0));
    }
    let typed = browser.get("/ui/deliveries?tenant=acme&q=error%3AHTTP_418+response%3A418");
    assert_eq!(typed.location(), "/ui/deliveries?tenant=acme&error=HTTP_418&response=418");
    for typed in ["a.*", "type%3Aa.*"] {
        let typed = browser.get(&format!("/ui/deliveries?tenant=acme&q={typed}"));
        assert_eq!(typed.location(), "/ui/deliveries?tenant=acme&type=a.*");
    }
    let page = browser.open(typed.location());
    page.has("error code").has("response status");
    // The selected deliveries can be exported.
    page.has("href=\"/ui/deliveries/export?tenant=acme&#38;error=HTTP_418&#38;response=418\"");
    let rows = |page: &str| page.matches("{\"id\":\"dlv_").count();
    let file = browser.get("/ui/deliveries/export?tenant=acme&error=HTTP_418");
    assert_eq!((file.status, rows(&file.html)), (200, 1), "{}", file.html);
    file.has("\"event_type\":\"a.bad\"");
    let portal = Browser::in_portal(&gateway, "acme");
    portal.open("/portal/deliveries").has("href=\"/portal/deliveries/export\"");
    assert_eq!(rows(&portal.get("/portal/deliveries/export?type=a.*").html), 3);
    // The histogram shows the selected deliveries, and no tab has a number that others lack.
    page.lacks("class=\"plot tiny\"");
    let all = browser.open("/ui/deliveries?tenant=acme");
    all.has("class=\"plot tiny\"").has("accepted, ").lacks("</small></a><a href=\"/ui/deliveries");
    browser.open("/ui/deliveries?tenant=acme&status=pending").lacks("class=\"plot tiny\"");
    let failed = browser.open("/ui/deliveries?tenant=acme&status=failed");
    failed.lacks("class=\"up\"");
}

#[test]
fn endpoints_and_tenants_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    for number in 0..12 {
        gateway.tenant(&format!("tenant-{number:02}"));
    }
    for number in 0..130 {
        let name = format!("sync-{number:03}");
        let body = format!(r#"{{"url":"https://example.com/x","events":["*"],"name":"{name}"}}"#);
        let tenant = format!("tenant-{:02}", number % 10);
        let made = gateway.acting(&tenant, "POST", "/v1/webhooks", &body);
        assert_eq!(made.status, 201, "{}", made.body);
    }
    let browser = Browser::logged_in(&gateway);
    let page = browser.open("/ui/endpoints");
    page.has("130 endpoints, none in trouble").has("All <small>130</small>");
    page.has("page=2");
    let second = browser.open("/ui/endpoints?page=2");
    second.has("30 shown").has("All <small>130</small>").lacks("page=3");
    let found = browser.open("/ui/endpoints?q=SYNC-07");
    found.has("sync-071").has("10 shown").lacks("sync-081");
    browser.open("/ui/endpoints?q=nothing").has("No endpoint here");

    let menu = browser.open("/ui/deliveries");
    menu.has("name=\"for\" value=\"/ui/deliveries\"").lacks("tenant=tenant-11");
    menu.has("href=\"/ui/tenants?for=%2Fui%2Fdeliveries\"");
    let found = browser.open("/ui/tenants?q=NANT-11&for=/ui/deliveries");
    found.has("href=\"/ui/deliveries?tenant=tenant-11\"").lacks("tenant-02</code>");
    let elsewhere = browser.open("/ui/tenants?q=tenant-11&for=//evil.example/");
    elsewhere.lacks("\"//evil").has("href=\"/ui/tenants/tenant-11?tenant=tenant-11\"");
    browser.open("/ui/tenants?q=nobody").has("No tenant has this");
}

#[test]
fn the_menu_has_what_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::logged_in(&gateway);
    browser.open("/ui/queues").lacks("href=\"/ui/emails\"").has("href=\"/ui/sources\"");
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    Browser::logged_in(&gateway).open("/ui/queues").has("href=\"/ui/emails\"");
}

#[test]
fn a_captured_email_is_shown_in_a_frame_that_may_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    gateway.tenant("acme");
    let body = r#"{"from":"shop@example.com","to":"ana@example.com","subject":"Olá","text":"Hello Ana","html":"<p style=\"color:red\">Olá <script>alert(1)</script></p>"}"#;
    let sent = gateway.acting("acme", "POST", "/v1/email/send", body);
    assert!(sent.status < 300, "{}", sent.body);
    let browser = Browser::logged_in(&gateway);
    until("it is captured", || browser.open("/ui/captured").html.contains("/ui/captured?peek="));
    let list = browser.open("/ui/captured").html;
    let id = list.split("peek=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let page = browser.open(&format!("/ui/captured?peek={id}"));
    page.has(&format!("src=\"/ui/captured/{id}/html\"")).has("sandbox").has("Hello Ana");
    page.lacks("<script>alert");
    let frame = browser.open(&format!("/ui/captured/{id}/html"));
    frame.has("<p style=\"color:red\">Olá ");
    let policy = frame.header("content-security-policy").unwrap();
    for part in ["default-src 'none'", "sandbox", "frame-ancestors 'self'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("allow-") && !policy.contains("script-src"), "{policy}");
    assert_eq!(Browser::new(&gateway).get(&format!("/ui/captured/{id}/html")).status, 303);
}

#[test]
fn acts_and_portal_errors_are_in_the_words_of_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_ALLOW_HTTP", "false")]);
    gateway.tenant("acme");
    let mut browser = Browser::logged_in(&gateway);
    for (language, act) in
        [("en", "Create a tenant"), ("pt", "Criar um tenant"), ("es", "Crear un tenant")]
    {
        browser.language = language;
        browser.open("/ui/audit").has(act);
    }
    let portal = Browser::in_portal(&gateway, "acme");
    let fields = [("url", "http://example.com/hook"), ("events", "*")];
    let refused = portal.submit_in_portal("/portal/endpoints/new", &fields);
    assert_eq!(refused.status, 422, "{}", refused.html);
    refused.has("url-error").has("https://").lacks("allow_http").lacks("operator to");
}

#[test]
fn events_and_emails_are_limited_by_time_and_external_id() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let key = gateway.tenant("acme");
    gateway.publish(&key, "a.b", "{}");
    let body = r#"{"type":"c.d","data":{},"external_id":"order-9"}"#;
    let sent = gateway.acting("acme", "POST", "/v1/events", body);
    assert!(sent.status < 300, "{}", sent.body);
    let browser = Browser::logged_in(&gateway);
    let rows = |path: &str| {
        let html = browser.open(path).html;
        let count = |word: &str| html.matches(&format!(">{word}</a>")).count();
        (count("a.b"), count("c.d"))
    };
    assert_eq!(rows("/ui/events"), (1, 1));
    assert_eq!(rows("/ui/events?since=2100-01-01T00%3A00%3A00Z"), (0, 0));
    assert_eq!(rows("/ui/events?until=2100-01-01T00%3A00%3A00Z&type=a.b"), (1, 0));
    assert_eq!(rows("/ui/events?tenant=acme&external=order-9"), (0, 1));
    // An external id belongs to a tenant, which is found.
    let found = browser.get("/ui/events?external=order-9&unmatched=true");
    assert_eq!(found.location(), "/ui/events?unmatched=true&external=order-9&tenant=acme");
    // Conditions stay when the tab changes, and each can be removed.
    let page = browser.open(found.location());
    page.has("href=\"/ui/events?tenant=acme&#38;external=order-9\"");
    page.has("href=\"/ui/events?tenant=acme&#38;unmatched=true\"");
    page.has("name=\"since\"").has("<b>order-9</b>");

    let letter = |external: &str| {
        let body = format!(
            r#"{{"from":"shop@example.com","to":"ana@example.com","subject":"{external}","text":"x","externalId":"{external}"}}"#
        );
        let sent = gateway.acting("acme", "POST", "/v1/email/send", &body);
        assert!(sent.status < 300, "{}", sent.body);
    };
    letter("mail-1");
    letter("mail-2");
    let one = browser.open("/ui/emails?tenant=acme&external=mail-2");
    one.has(">mail-2</a>").lacks(">mail-1</a>").has("<b>mail-2</b>");
    one.has("external=mail-2&#38;status=SENT\"");
    browser
        .open("/ui/emails?since=2100-01-01T00%3A00%3A00Z")
        .has("No e-mail matches these filters");
    let searched = browser.get("/ui/emails?external=mail-2");
    assert_eq!(searched.location(), "/ui/search?q=mail-2");
}

#[test]
fn deliveries_are_found_by_the_names_of_endpoints_and_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let healthy = Receiver::start();
    let key = gateway.tenant("acme");
    gateway.tenant("globex");
    let mut first = String::new();
    for name in ["Billing sync", "CRM"] {
        let body = format!(r#"{{"url":"{}","events":["*"],"name":"{name}"}}"#, healthy.url());
        let made = gateway.acting("acme", "POST", "/v1/webhooks", &body);
        assert_eq!(made.status, 201, "{}", made.body);
        if first.is_empty() {
            made.json()["id"].as_str().unwrap().clone_into(&mut first);
        }
    }
    let browser = Browser::logged_in(&gateway);
    let typed =
        |query: &str| browser.get(&format!("/ui/deliveries?q={query}")).location().to_owned();
    let of_billing = format!("/ui/deliveries?tenant=acme&endpoint={first}");
    assert_eq!(typed("endpoint%3Abilling"), of_billing);
    assert_eq!(typed("tenant%3Aacme+endpoint%3Abilling"), of_billing);
    assert_eq!(typed("tenant%3Aglobex"), "/ui/deliveries?tenant=globex");
    browser.open("/ui/deliveries?type=order.*").lacks("chip wrong");
    browser.open("/ui/deliveries?type=ord*").has("chip wrong").has("not an event type such as");
    let unknown = browser.get("/ui/deliveries?q=tenant%3Aglobex+endpoint%3Abilling");
    assert_eq!(browser.get(unknown.location()).status, 422);

    // A delivery links back to the list that it was opened from.
    gateway.publish(&key, "a.b", "{}");
    until("it is delivered", || {
        browser.open(&format!("{of_billing}&status=delivered")).html.contains(">a.b</a>")
    });
    let list = browser.open(&format!("{of_billing}&status=delivered")).html;
    let row = list.split("href=\"/ui/deliveries/dlv_").nth(1).unwrap().split('"').next().unwrap();
    let page = browser.open(&format!("/ui/deliveries/dlv_{}", row.replace("&#38;", "&")));
    page.has(&format!(
        "<a href=\"/ui/deliveries?tenant=acme&#38;status=delivered&#38;endpoint={first}\">Deliveries</a>"
    ));
    let portal = Browser::in_portal(&gateway, "acme");
    portal.open("/portal/deliveries?q=tenant%3Aglobex").has("tenant</code> is not a filter");
}
