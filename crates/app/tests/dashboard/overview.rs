//! The overview and the strips of endpoints, after real deliveries and failures.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

const DELIVERED: &str = "2 delivered, 1 failed attempts, 1 dead letters";

fn endpoint(gateway: &Gateway, name: &str, event_type: &str, url: &str) -> String {
    let body = format!(
        r#"{{"url":"{url}","events":["{event_type}"],"name":"{name}","retry":{{"schedule":[]}}}}"#
    );
    let made = gateway.acting("acme", "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_happened_is_drawn_and_what_needs_someone_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (healthy, broken) = (Receiver::start(), Receiver::start());
    broken.answer(500);
    let browser = Browser::logged_in(&gateway);
    browser.open("/ui/").has("Send the first webhook");
    let key = gateway.tenant("acme");
    gateway.tenant("other");
    let archive = endpoint(&gateway, "Archive", "a.ok", &healthy.url());
    let billing = endpoint(&gateway, "Billing", "a.bad", &broken.url());
    for event_type in ["a.ok", "a.ok", "a.bad"] {
        gateway.publish(&key, event_type, "{}");
    }
    let total = |html: &str| {
        let label = html.split("aria-label=\"Deliveries per 1 min").nth(1).unwrap_or_default();
        label.split('"').next().unwrap_or_default().contains(DELIVERED)
    };
    until("it is counted", || total(&browser.open("/ui/?range=15m").html));

    let page = browser.open("/ui/?range=15m");
    page.has("66.6 % of what ended was delivered at the first attempt. 2 problems need attention,");
    page.has("<title>(2) Overview").has("of 3 that ended").has("Undelivered, 24 h");
    page.has("Billing of acme has failed every attempt for").has("#test\">Send a test</a>");
    page.has("1 dead letter with <code>HTTP_500</code>").has("The oldest was given up");
    page.has("href=\"/ui/dead-letters?code=HTTP_500\"");
    page.has("class=\"plot\"").has("class=\"plot low\"").has("class=\"dead\"").has("class=\"p99\"");
    page.has("failed attempts (down, own scale to 1)").has("Show the numbers");
    page.has(&format!("href=\"/ui/endpoints/{billing}?tenant=acme\">Billing</a>"));
    page.lacks(&format!("/ui/endpoints/{archive}"));
    page.has("<a class=\"button small\" href=\"/ui/?range=15m\" aria-current=\"true\">15 min</a>");
    // The vital signs are on each page.
    browser.open("/ui/queues").has("<dt>first attempt</dt><dd>66.6 %</dd>");

    for range in ["1h", "6h", "24h", "7d", "30d"] {
        browser.open(&format!("/ui/?tenant=acme&range={range}")).has("class=\"plot low\"");
    }
    let of_other = browser.open("/ui/?tenant=other");
    of_other.has("Nothing was sent in the last 6 h.").has("Nothing needs attention.");
    of_other.has("href=\"/ui/?tenant=other&#38;range=24h\"");

    let paused = browser.submit_and_follow("/ui/queues/email/pause", &[]);
    paused.has("is paused");
    browser.open("/ui/").has("Lane <code>email</code> is paused; 0 deliveries wait");

    let list = browser.open("/ui/endpoints?tenant=acme");
    list.has("Last 24 hours by hour: 100 % of attempts succeeded, 0 failed");
    list.has("Last 24 hours by hour: 0 % of attempts succeeded, 1 failed");
    let page = browser.open(&format!("/ui/endpoints/{billing}?tenant=acme"));
    page.has("class=\"health big\"").has("0 delivered, 1 failed attempts, 1 dead letters</title>");
}

#[test]
fn tenants_are_compared_by_what_they_send_and_how_long_they_wait() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let healthy = Receiver::start();
    for (slug, count) in [("acme", 3), ("globex", 1), ("idle", 0)] {
        let key = gateway.tenant(slug);
        gateway.endpoint(&key, &healthy.url());
        for _ in 0..count {
            gateway.publish(&key, "a.b", "{}");
        }
    }
    let browser = Browser::logged_in(&gateway);
    let is_counted = || {
        let html = browser.open("/ui/?range=1h").html;
        html.contains("aria-label=\"75 %\"") && html.contains("aria-label=\"25 %\"")
    };
    until("both are counted", is_counted);
    let page = browser.open("/ui/?range=1h");
    page.has("Tenants that send most").has("href=\"/ui/tenants/globex\">");
    page.lacks("href=\"/ui/tenants/idle\"");
    browser.open("/ui/?range=1h&tenant=acme").lacks("Tenants that send most");
}

#[test]
fn a_range_that_does_not_exist_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::logged_in(&gateway);
    let page = browser.get("/ui/?range=2h");
    assert_eq!(page.status, 400);
    page.has("This range does not exist").has("15m, 1h, 6h, 24h, 7d or 30d");
    page.has("href=\"/ui/\"");
}
