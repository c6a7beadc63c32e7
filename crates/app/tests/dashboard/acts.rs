//! Actions and settings: irreversible actions ask first, actions that were not done are not recorded, and
//! errors use the words of the form.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, http, scripted_receiver::Receiver};

#[test]
fn what_was_not_done_is_not_in_the_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    let key = gateway.tenant("acme");
    let body = format!(r#"{{"url":"{}","events":["*"],"retry":{{"schedule":[]}}}}"#, broken.url());
    gateway.acting("acme", "POST", "/v1/webhooks", &body);
    gateway.publish(&key, "a.b", "{}");
    let browser = Browser::logged_in(&gateway);
    until("it is given up", || browser.open("/ui/dead-letters").html.contains("HTTP_500"));
    let asked = browser.submit("/ui/dead-letters/purge?tenant=acme", &[]);
    assert_eq!(asked.status, 200, "{}", asked.html);
    let log = browser.open("/ui/audit");
    log.lacks("purgeDeadLetters").lacks("replayDeadLetters");
    // The entries of completed actions name the tenant.
    log.has("createWebhook").has("<span class=\"tenant\">acme</span>");
}

#[test]
fn irreversible_acts_ask_first() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    let browser = Browser::logged_in(&gateway);
    let page = browser.open("/ui/tenants/acme?tenant=acme");
    let revoke = page.html.split("danger\" href=\"").nth(2).unwrap().split('"').next().unwrap();
    browser.open(revoke).has("cannot be undone").has(&format!("action=\"{revoke}\""));
    let read = || http::call(gateway.address, "GET", "/v1/webhooks", &[("x-api-key", &*key)], "");
    assert_eq!(read().status, 200);
    browser.submit_and_follow(revoke, &[]).has("The key is revoked");
    assert_eq!(read().status, 401);

    // The settings and the usage of the plan are on the page of the tenant.
    page.has("Events this month").has("Publish rate").has("Dead letters are kept for");

    let page = browser.open("/ui/sources/shopflow");
    let delete =
        page.html.split("/ui/sources/shopflow/keys/").skip(1).find(|part| part.contains("/delete"));
    let delete =
        format!("/ui/sources/shopflow/keys/{}", delete.unwrap().split('"').next().unwrap());
    browser.open(&delete).has("only valid key").has("cannot be undone");
    browser.submit_and_follow(&delete, &[]).has("is deleted");
}

#[test]
fn rejected_requests_and_wrong_fields_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    gateway.tenant("acme");
    let mut browser = Browser::logged_in(&gateway);
    let empty = browser.open("/ui/sources");
    empty.has("A source is a partner").lacks("gancho sources create");
    let posted = http::call(gateway.ingest(), "POST", "/webhooks/nobody", &[], "{}");
    assert!(posted.status >= 400, "{}", posted.body);
    until("it is listed", || browser.open("/ui/sources").html.contains("unknown_partner"));
    browser.open("/ui/sources").has("No source has this name.");
    browser.language = "pt";
    browser.open("/ui/sources").has("Nenhuma origem tem este nome.");
    browser.language = "en";

    let fields = [
        ("url", "https://example.com/"),
        ("events", "a.b"),
        ("max_in_flight", "many"),
        ("rate_count", "0"),
    ];
    let page = browser.submit("/ui/endpoints/new?tenant=acme", &fields);
    assert_eq!(page.status, 422, "{}", page.html);
    page.lacks("`max_in_flight`").lacks("`count`").lacks("see `errors`");
    page.has("id=\"max_in_flight-error\"").has("id=\"rate_limit-error\"");

    for (path, text) in [
        ("/ui/deliveries?error=timeout", "<b>TIMEOUT</b>"),
        ("/ui/deliveries?type=no.such", "or look at all deliveries.<"),
        ("/ui/suppressions", "choose <a href=\"/ui/tenants?for="),
    ] {
        browser.open(path).has(text);
    }
    let portal = Browser::in_portal(&gateway, "acme");
    portal.open("/portal/events").has("What was published for you").lacks("the tenant");
    portal.open("/portal/endpoints").lacks("memory of this node").lacks("tenant or event type");
}
