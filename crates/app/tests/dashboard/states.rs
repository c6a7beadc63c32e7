//! Pages state the true states of deliveries, of endpoints, and of what waits.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

fn endpoint(gateway: &Gateway, name: &str, url: &str, schedule: &str) -> String {
    let body = format!(
        r#"{{"url":"{url}","events":["{name}.a"],"name":"{name}","retry":{{"schedule":[{schedule}]}}}}"#
    );
    let made = gateway.acting("acme", "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Waits until the page of the newest delivery to an endpoint has this text, and returns it.
fn delivery(browser: &Browser, endpoint: &str, text: &str) -> String {
    let mut page = String::new();
    until(text, || {
        let html = browser.open(&format!("/ui/deliveries?tenant=acme&endpoint={endpoint}")).html;
        let Some(rest) = html.split("href=\"/ui/deliveries/dlv_").nth(1) else { return false };
        page = format!("/ui/deliveries/dlv_{}?tenant=acme", rest.split('?').next().unwrap());
        browser.open(&page).html.contains(text)
    });
    page
}

#[test]
fn only_dead_letters_are_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    let key = gateway.tenant("acme");
    let retried = endpoint(&gateway, "retried", &broken.url(), "\"1h\"");
    let event = gateway.publish(&key, "retried.a", "{}");
    let browser = Browser::logged_in(&gateway);
    let page = delivery(&browser, &retried, "Failed attempt</span>");
    assert_eq!(browser.open(&page).html.matches(">Dead letter<").count(), 0);
    let canceled = gateway.acting("acme", "POST", &format!("/v1/events/{event}/cancel"), "");
    assert_eq!(canceled.status, 200, "{}", canceled.body);
    browser.open(&page).has("Canceled</span>").lacks(">Dead letter<");

    let tested = browser.submit(&format!("/ui/endpoints/{retried}/test?tenant=acme"), &[]);
    let at = tested.location().to_owned();
    until("the test failed", || browser.open(&at).html.contains("Test failed</span>"));

    // A deleted endpoint accepts no retry.
    browser.open(&page).has("/retry?tenant=acme\"");
    let gone = gateway.acting("acme", "DELETE", &format!("/v1/webhooks/{retried}"), "");
    assert_eq!(gone.status, 204, "{}", gone.body);
    let deleted = browser.open(&page);
    deleted.has(&format!("<code>{retried}</code>, which was deleted"));
    deleted.lacks("/retry?tenant=acme\"");
}

#[test]
fn endpoints_are_described_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (gone, broken) = (Receiver::start(), Receiver::start());
    gone.answer(410);
    broken.answer(500);
    let key = gateway.tenant("acme");
    let left = endpoint(&gateway, "left", &gone.url(), "\"1h\"");
    let failing = endpoint(&gateway, "failing", &broken.url(), "");
    gateway.publish(&key, "left.a", "{}");
    gateway.publish(&key, "failing.a", "{}");
    let browser = Browser::logged_in(&gateway);
    let is_disabled = "left of acme is disabled, because it responded 410 Gone";
    until("it is disabled", || browser.open("/ui/").html.contains(is_disabled));
    let needs = browser.open("/ui/");
    needs.has("failing of acme has failed every attempt");
    needs.has("1 delivery of these hours is a dead letter.");
    needs.lacks(&format!("/ui/endpoints/{left}?tenant=acme#test"));

    // A pause hides no failure, and comes first.
    gateway.operator("POST", "/v1/tenants/acme/pause", "");
    let list = browser.open("/ui/endpoints?tenant=acme");
    list.has("<span class=\"tag\">Failing</span>").lacks("none in trouble");
    browser.open("/ui/endpoints?tenant=acme&state=failing").has(&failing);
    let page = browser.open(&format!("/ui/endpoints/{failing}?tenant=acme"));
    page.has("Its tenant is paused.").has("Every attempt has failed since");
    let html = browser.open("/ui/").html;
    let (paused, other) = (html.find("Tenant acme is paused"), html.find("failing of acme"));
    assert!(paused.unwrap() < other.unwrap_or(usize::MAX));

    // The rotated secret still signs.
    page.lacks("Previous secret");
    let rotate = format!("/v1/webhooks/{failing}/rotate-secret");
    let rotated = gateway.acting("acme", "POST", &rotate, r#"{"overlap":"2h"}"#);
    assert_eq!(rotated.status, 200, "{}", rotated.body);
    let page = browser.open(&format!("/ui/endpoints/{failing}?tenant=acme"));
    page.has("Previous secret").has("also signs every delivery until").lacks("whsec_");
}

#[test]
fn what_waits_in_a_paused_lane_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let receiver = Receiver::start();
    gateway.tenant("acme");
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    for lane in ["email", "dispatch"] {
        let paused = gateway.operator("POST", &format!("/v1/queues/{lane}/pause"), "");
        assert!(paused.status < 300, "{}", paused.body);
    }
    let email = r#"{"from":"a@example.com","to":"b@example.com","subject":"Ola","text":"x"}"#;
    let email = gateway.acting("acme", "POST", "/v1/email/send", email).json();
    let email = email["outboxId"].as_str().unwrap().to_owned();
    let receipt = gateway.simulate("shopflow");
    let browser = Browser::logged_in(&gateway);
    for path in [
        "/ui/emails",
        &format!("/ui/emails?tenant=acme&peek={email}"),
        "/ui/sources/shopflow",
        &format!("/ui/sources/shopflow/receipts/{receipt}"),
    ] {
        browser.open(path).has("Paused</span>").has("lane");
    }
}
