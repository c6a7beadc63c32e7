//! Who paused something, by the audit log, and how failures are shown in other languages.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

#[test]
fn pages_say_who_paused_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &receiver.url());
    let endpoint = endpoint["id"].as_str().unwrap();
    let body = r#"{"name":"ana","password":"a long enough password","role":"operator"}"#;
    assert_eq!(gateway.operator("POST", "/v1/users", body).status, 201);
    let mut ana = Browser::new(&gateway);
    ana.log_in_as("ana", "a long enough password");
    let page = format!("/ui/endpoints/{endpoint}");
    ana.submit_and_follow(&format!("{page}/pause?tenant=acme"), &[]);
    ana.open(&format!("{page}?tenant=acme")).has("Paused by ana, ");
    gateway.publish(&key, "a.b", "{}");
    let list = "/ui/deliveries?tenant=acme";
    let mut delivery = String::new();
    until("it waits", || {
        let html = ana.open(list).html;
        let row = html.split("href=\"/ui/deliveries/dlv_").nth(1);
        row.and_then(|row| row.split('"').next()).unwrap_or_default().clone_into(&mut delivery);
        html.contains("endpoint paused")
    });
    ana.open(&format!("/ui/deliveries/dlv_{delivery}")).has("Paused by ana, ");

    // The reason is shown as text, to users of the operator.
    let why = [("reason", " moving <b>their</b> servers ")];
    let shown = ": “moving &lt;b&gt;their&lt;/b&gt; servers”";
    ana.open("/ui/tenants/acme").has("name=\"reason\" maxlength=\"200\"");
    let paused = ana.submit_and_follow("/ui/tenants/acme/pause", &why);
    paused.has("Paused by ana, ").has(shown).lacks("<b>their</b>");
    ana.open("/ui/audit").has("<q>moving &#60;b&#62;their&#60;/b&#62; servers</q>");
    let browser = Browser::logged_in(&gateway);
    browser.submit("/ui/queues/webhook/pause", &[]);
    let queues = browser.open("/ui/queues");
    queues.has("Paused by the operator token, ");
    assert_eq!(queues.html.matches("Paused by ana, ").count(), 2, "{}", queues.html);
    queues.has(shown);
    // The paused endpoint is named by its URL, and links to its page.
    queues.has(&format!("href=\"{page}\">{}", receiver.url()));

    // A disabled object shows who changed it last.
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    ana.submit_and_follow("/ui/sources/shopflow/disable", &[]).has("Last changed by ana, ");
    ana.submit_and_follow("/ui/sources/shopflow/enable", &[]).lacks("Last changed by");

    // A tenant's users do not see names of the operator's users.
    let portal = Browser::in_portal(&gateway, "acme");
    let page = portal.open(&format!("/portal/endpoints/{endpoint}"));
    page.lacks("ana").lacks("servers").has("Paused by the operator, ");

    // A tenant's own reason is shown to its users.
    portal.submit_in_portal(&format!("/portal/endpoints/{endpoint}/resume"), &[]);
    let why = [("reason", "a new certificate")];
    portal.submit_in_portal(&format!("/portal/endpoints/{endpoint}/pause"), &why);
    gateway.operator("POST", "/v1/tenants/acme/resume", "");
    gateway.operator("POST", "/v1/queues/webhook/resume", "");
    let page = portal.open(&format!("/portal/endpoints/{endpoint}"));
    page.has("Paused by someone in the customer portal, ").has(": “a new certificate”");
    let log = gateway.stop();
    assert!(!log.contains("a new certificate") && !log.contains("<b>their"), "{log}");
}

#[test]
fn failures_are_reported_in_the_language_of_the_reader() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(503);
    let key = gateway.tenant("acme");
    let body = format!(r#"{{"url":"{}","events":["*"],"retry":{{"schedule":[]}}}}"#, broken.url());
    gateway.acting("acme", "POST", "/v1/webhooks", &body);
    gateway.publish(&key, "a.b", "{}");
    let mut browser = Browser::logged_in(&gateway);
    until("it is given up", || browser.open("/ui/dead-letters").html.contains("HTTP_503"));
    let html = browser.open("/ui/deliveries").html;
    let delivery =
        html.split("href=\"/ui/deliveries/dlv_").nth(1).unwrap().split('"').next().unwrap();
    let page = format!("/ui/deliveries/dlv_{delivery}");
    for (language, short) in [
        ("en", "the endpoint answered 503 Service Unavailable"),
        ("pt", "o endpoint respondeu 503"),
        ("es", "el endpoint respondió 503"),
    ] {
        browser.language = language;
        for path in ["/ui/deliveries", "/ui/dead-letters", &page] {
            browser.open(path).has(short);
        }
        // The gateway's own text is shown as well, marked as English.
        let original = "<small lang=\"en\">(the endpoint answered 503 Service Unavailable)</small>";
        assert_eq!(browser.open(&page).html.contains(original), language != "en");
    }
}

#[test]
fn the_palette_acts_and_the_first_steps_go_on_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::logged_in(&gateway);
    let first = browser.open("/ui/");
    first.has("data-until-gone").has("http-equiv=\"refresh\"");
    first.has("Create an endpoint</a>").has("Pause or resume a lane</a>");
    let key = gateway.tenant("acme");
    gateway.endpoint(&key, "http://127.0.0.1:8443/");
    browser.open("/ui/").has("This page goes on by itself");
    gateway.publish(&key, "a.b", "{}");
    browser.open("/ui/?tenant=acme").lacks("data-until-gone").has("Pause or resume acme</a>");
}
