//! Each page with real data: what it shows, its headers, and its text if something does not exist.

use std::process::Command;

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, http, receiver, scripted_receiver::Receiver};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[track_caller]
fn check_headers(browser: &Browser, path: &str, status: u16) {
    let page = browser.get(path);
    assert_eq!(page.status, status, "{path}: {}", page.html);
    assert_eq!(page.header("content-security-policy"), Some(POLICY), "{path}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(page.header("referrer-policy"), Some("same-origin"), "{path}");
    assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
    for inline in [" style=", "<style", "<script>", "javascript:", " onclick=", "{{", "{n}"] {
        assert!(!page.html.contains(inline), "`{inline}` in {path}");
    }
}

#[test]
fn every_page_answers_with_its_headers() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &receiver.url())["id"].as_str().unwrap().to_owned();
    let event = gateway.publish(&key, "invoice.paid", r#"{"id":"inv_1","amount":418.50}"#);
    gateway.tenant("other");
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    let receipt = gateway.simulate("shopflow");
    let email =
        r#"{"from":"shop@example.com","to":"ana@example.com","subject":"Ola","text":"Bem-vinda!"}"#;
    let sent = gateway.acting("acme", "POST", "/v1/email/send", email);
    assert_eq!(sent.status, 201, "{}", sent.body);
    let email = sent.json()["outboxId"].as_str().unwrap().to_owned();
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/deliveries?tenant=acme&type=invoice.paid";
    until("it is delivered", || browser.open(list).html.contains("Delivered</span></span></td>"));
    let html = browser.open(list).html;
    let delivery = html.split("/ui/deliveries/dlv_").nth(1).unwrap().split('?').next().unwrap();

    for path in [
        "/ui/",
        "/ui/login",
        "/ui/deliveries",
        "/ui/deliveries?tenant=acme&status=failed",
        "/ui/deliveries?tenant=acme&q=color:red",
        &format!("/ui/deliveries/dlv_{delivery}?tenant=acme"),
        &format!("/ui/deliveries/dlv_{delivery}"),
        "/ui/events?tenant=acme",
        "/ui/events?tenant=acme&unmatched=true",
        &format!("/ui/events/{event}?tenant=acme"),
        "/ui/event-types",
        "/ui/users",
        "/ui/audit",
        "/ui/audit?tenant=acme&outcome=done",
        "/ui/password",
        "/ui/endpoints?tenant=acme",
        "/ui/endpoints/new?tenant=acme",
        &format!("/ui/endpoints/{endpoint}?tenant=acme"),
        &format!("/ui/endpoints/{endpoint}/edit?tenant=acme"),
        &format!("/ui/endpoints/{endpoint}/rotate?tenant=acme"),
        &format!("/ui/endpoints/{endpoint}/reveal?tenant=acme"),
        &format!("/ui/endpoints/{endpoint}/delete?tenant=acme"),
        "/ui/dead-letters",
        "/ui/replays",
        "/ui/tenants",
        "/ui/tenants/new",
        "/ui/tenants/acme?tenant=acme",
        "/ui/tenants/acme/edit?tenant=acme",
        "/ui/queues",
        "/ui/alerts",
        "/ui/sources",
        "/ui/sources/shopflow",
        "/ui/sources/new",
        "/ui/sources/shopflow/edit",
        "/ui/sources/shopflow/keys/new",
        "/ui/event-types/new",
        "/ui/event-types/new?tenant=acme",
        "/ui/nodes",
        "/ui/emails",
        "/ui/suppressions",
        "/ui/deliveries?text=inv_1&range=7d",
        "/ui/search?q=invoice.paid",
        &format!("/ui/sources/shopflow/receipts/{receipt}"),
        "/ui/ledger",
        "/ui/emails?tenant=acme",
        &format!("/ui/emails?tenant=acme&peek={email}"),
        "/ui/captured",
        &format!("/ui/deliveries?tenant=acme&peek=dlv_{delivery}"),
        "/ui/suppressions?tenant=acme",
        "/ui/search",
        "/ui/search?q=inv_1",
    ] {
        let who = if path == "/ui/login" { Browser::new(&gateway) } else { browser.clone() };
        check_headers(&who, path, 200);
    }
    for path in [
        "/ui/nowhere",
        "/ui/deliveries/dlv_01JCR4VQX8M3W0ZB6K3VTN5YHF",
        "/ui/deliveries/nonsense?tenant=acme",
        "/ui/endpoints/wh_01JCR4VQX8M3W0ZB6K3VTN5YHF?tenant=acme",
        "/ui/tenants/nobody",
        "/ui/deliveries?tenant=nobody",
        // Another tenant's objects do not exist.
        &format!("/ui/endpoints/{endpoint}?tenant=other"),
        &format!("/ui/events/{event}?tenant=other"),
    ] {
        check_headers(&browser, path, 404);
    }

    let page = browser.open(&format!("/ui/deliveries/dlv_{delivery}?tenant=acme"));
    page.has("Delivered at attempt 1").has("<span class=\"d\">418.50</span>");
    page.has("curl -X POST").has("webhook-signature").has("Retry now");
    // An id opens its page directly.
    let found = browser.get(&format!("/ui/search?q=dlv_{delivery}"));
    assert_eq!(found.location(), format!("/ui/deliveries/dlv_{delivery}?tenant=acme"));
    let found = browser.get(&format!("/ui/search?q={endpoint}"));
    assert_eq!(found.location(), format!("/ui/endpoints/{endpoint}?tenant=acme"));
    // A typed filter becomes a URL.
    let typed = browser.get("/ui/deliveries?tenant=acme&q=type%3Ainvoice.paid+external%3Ax");
    assert_eq!(typed.location(), "/ui/deliveries?tenant=acme&type=invoice.paid&external=x");
    browser.open("/ui/deliveries?tenant=acme&q=color:red").has("is not a filter");
}

#[test]
fn files_are_kept_by_browsers_and_the_api_takes_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::logged_in(&gateway);
    let html = browser.open("/ui/queues").html;
    let assets = html.split("\"/ui/assets/").skip(1);
    let paths: Vec<_> = assets.map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths.iter().filter(|path| !path.ends_with("woff2")) {
        let file = browser.open(&format!("/ui/assets/{path}"));
        assert!(file.header("cache-control").unwrap().contains("immutable"), "{path}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    }
    assert_eq!(browser.get("/ui/assets/0/style.css").status, 404);
    assert_eq!(browser.get("/v1/tenants").status, 401, "a session is of no use at the API");
    let docs = http::call(gateway.address, "GET", "/docs/", &[], "");
    assert_eq!(docs.status, 200);
    // A name that was made to point at this machine is not the gateway's.
    let rebound = browser.send_to("evil.example", "GET", "/ui/login", &[], "");
    assert_eq!(rebound.status, 421, "{}", rebound.html);
}

#[test]
fn everything_from_outside_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let attack =
        "</textarea></pre><script>alert(1)</script>\"><img src=x onerror=alert(1)>\u{202e}{{7*7}}";
    let json = serde_json::to_string(attack).unwrap();
    let made =
        gateway.operator("POST", "/v1/tenants", &format!(r#"{{"slug":"xss","name":{json}}}"#));
    assert_eq!(made.status, 201, "{}", made.body);
    receiver.answer_with(500, attack);
    let body = format!(r#"{{"url":"{}","events":["*"],"name":{json}}}"#, receiver.url());
    let made = gateway.acting("xss", "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    let endpoint = made.json()["id"].as_str().unwrap().to_owned();
    let event = format!(
        r#"{{"type":"a.b","external_id":{json},"subject":{json},"data":{{{json}:{json}}}}}"#
    );
    let made = gateway.acting("xss", "POST", "/v1/events", &event);
    assert_eq!(made.status, 202, "{}", made.body);
    let event = made.json()["id"].as_str().unwrap().to_owned();
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/deliveries?tenant=xss";
    until("it was tried", || browser.open(list).html.contains(">500</span>"));
    let html = browser.open(list).html;
    let delivery = html.split("/ui/deliveries/dlv_").nth(1).unwrap().split('?').next().unwrap();
    for path in [
        "/ui/",
        list,
        &format!("/ui/deliveries/dlv_{delivery}?tenant=xss"),
        &format!("/ui/events/{event}?tenant=xss"),
        "/ui/events?tenant=xss",
        "/ui/endpoints?tenant=xss",
        &format!("/ui/endpoints/{endpoint}?tenant=xss"),
        &format!("/ui/endpoints/{endpoint}/edit?tenant=xss"),
        &format!("/ui/endpoints/{endpoint}/delete?tenant=xss"),
        "/ui/tenants",
        "/ui/tenants/xss?tenant=xss",
        "/ui/tenants/xss/edit",
        "/ui/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/ui/deliveries?tenant=xss&q=%3Cscript%3E:x",
        "/ui/deliveries?tenant=xss&type=%3Cscript%3Ealert(1)%3C/script%3E",
    ] {
        let page = browser.get(path);
        page.lacks("<script>alert").lacks("<img src=x").lacks("</textarea></pre>");
        page.lacks("alert(1)</script>");
        if !path.ends_with("edit") && !path.contains("/edit?") {
            // Copied text is exact, and displayed text is not deceptive.
            let shown = without_copies(&page.html);
            assert!(!shown.contains('\u{202e}'), "{path}: {shown}");
        }
    }
    let page = browser.open(&format!("/ui/deliveries/dlv_{delivery}?tenant=xss"));
    page.has("&lt;script&gt;").has("\\u{202e}");
}

/// Returns the page without the text that its buttons copy.
fn without_copies(html: &str) -> String {
    let mut parts = html.split("data-copy=\"");
    let mut shown = parts.next().unwrap().to_owned();
    for part in parts {
        shown.push_str(part.split_once('"').map_or("", |(_, rest)| rest));
    }
    shown
}

/// Pages of a tenant's objects find the tenant by themselves.
#[test]
fn an_endpoint_is_found_without_its_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, "https://example.com/hook")["id"].clone();
    let browser = Browser::logged_in(&gateway);
    let path = format!("/ui/endpoints/{}", endpoint.as_str().unwrap());
    let found = browser.get(&path);
    assert_eq!(found.status, 303);
    assert!(found.location().starts_with(&format!("{path}?tenant=")), "{}", found.location());
    browser.open(found.location()).has("example.com");
}

#[test]
fn rows_of_all_tenants_lead_to_pages_of_their_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, &receiver.url());
    gateway.publish(&key, "invoice.paid", "{}");
    let browser = Browser::logged_in(&gateway);
    let list = browser.open("/ui/deliveries");
    let row = list.html.split("href=\"/ui/deliveries/dlv_").nth(1).unwrap();
    let link = row.split('"').next().unwrap();
    assert!(link.ends_with("?tenant=acme"), "{link}");
    browser.open(&format!("/ui/deliveries/dlv_{link}")).has("/ui/endpoints/wh_");

    // The form for the language returns to the same filter.
    let page = browser.open("/ui/deliveries?tenant=acme&status=failed");
    page.has("name=\"next\" value=\"/ui/deliveries?tenant=acme");
}

#[test]
fn a_delivery_is_whole_without_its_tenant_in_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (target, _) = receiver::start();
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, &format!("http://{target}/whole"));
    gateway.publish(&key, "a.b", "{}");
    let browser = Browser::logged_in(&gateway);
    let deliveries = || gateway.operator("GET", "/v1/deliveries", "").json()["data"].clone();
    until("it is delivered", || deliveries()[0]["status"] == "delivered");
    let id = deliveries()[0]["id"].as_str().unwrap().to_owned();
    let shown = gateway.operator("GET", &format!("/v1/deliveries/{id}"), "").json();
    assert_eq!(shown["tenant"], "acme", "{shown}");
    let page = browser.open(&format!("/ui/deliveries/{id}"));
    page.has("Copy as curl").has(&format!("http://{target}/whole")).has("/ui/endpoints/wh_");
    // A page about something that has ended does not refresh itself.
    page.has("data-refresh=\"0\"");
}

/// Pages name the closest pause, and state retention only where it applies.
#[test]
fn pages_say_what_holds_and_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (target, _) = receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &format!("http://{target}/hook"));
    let page = format!("/ui/endpoints/{}?tenant=acme", endpoint["id"].as_str().unwrap());
    let browser = Browser::logged_in(&gateway);
    assert_eq!(gateway.operator("POST", "/v1/queues/webhook/pause", "").status, 204);
    browser.open(&page).has("The lane webhook is paused.");
    browser.open("/ui/endpoints").has("Lane paused");
    assert_eq!(gateway.operator("POST", "/v1/tenants/acme/pause", "").status, 204);
    browser.open(&page).has("Its tenant is paused.");

    // Canceled before its time, so nobody can replay it.
    let at = Command::new("date").args(["-u", "-d", "+1 hour", "+%FT%TZ"]).output().unwrap();
    let at = String::from_utf8(at.stdout).unwrap();
    let later = format!(r#"{{"type":"a.b","data":{{}},"deliver_at":"{}"}}"#, at.trim());
    let made = gateway.acting("acme", "POST", "/v1/events", &later);
    assert_eq!(made.status, 202, "{}", made.body);
    let made = made.json();
    let event = made["id"].as_str().unwrap().to_owned();
    let canceled = gateway.acting("acme", "POST", &format!("/v1/events/{event}/cancel"), "");
    assert!(matches!(canceled.status, 200 | 202 | 204), "{}", canceled.body);
    let rows = gateway.acting("acme", "GET", "/v1/deliveries?status=failed", "").json();
    let id = rows["data"][0]["id"].as_str().unwrap();
    let shown = browser.open(&format!("/ui/deliveries/{id}?tenant=acme")).html;
    assert!(!shown.contains("It is kept in"), "{shown}");
}

#[test]
fn an_address_with_a_slash_at_its_end_leads_to_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);
    let moved = browser.get("/ui/deliveries/?tenant=acme&status=failed");
    assert_eq!((moved.status, moved.location()), (303, "/ui/deliveries?tenant=acme&status=failed"));
    assert_eq!(browser.get("/ui/nothing/").location(), "/ui/nothing");
    assert_eq!(browser.get("/ui/nothing").status, 404);
    let portal = Browser::in_portal(&gateway, "acme");
    assert_eq!(portal.get("/portal/endpoints/").location(), "/portal/endpoints");
}
