//! Actions on many deliveries at once, with plain forms: on the selected ones, and on all that match.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

/// Creates an endpoint of `acme` for one event type, and returns its id.
fn endpoint(gateway: &Gateway, event_type: &str, url: &str, more: &str) -> String {
    let body =
        format!(r#"{{"url":"{url}","events":["{event_type}"],"name":"{event_type}"{more}}}"#);
    let made = gateway.acting("acme", "POST", "/v1/webhooks", &body);
    assert_eq!(made.status, 201, "{}", made.body);
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Returns the ids of the rows that can be selected on a page.
fn ids(browser: &Browser, path: &str) -> Vec<String> {
    let html = browser.open(path).html;
    let boxes = html.split("form=\"selection\" name=\"id\" value=\"").skip(1);
    boxes.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn submit(
    browser: &Browser,
    path: &str,
    ids: &[String],
    more: &[(&str, &str)],
) -> crate::browser::Page {
    let fields: Vec<_> =
        ids.iter().map(|id| ("id", id.as_str())).chain(more.iter().copied()).collect();
    browser.submit(path, &fields)
}

#[test]
fn selected_deliveries_are_retried_and_their_events_canceled() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    let key = gateway.tenant("acme");
    let hourly = r#","retry":{"schedule":["1h"]}"#;
    endpoint(&gateway, "a.b", &broken.url(), hourly);
    let off = endpoint(&gateway, "c.d", &broken.url(), hourly);
    for event_type in ["a.b", "a.b", "c.d"] {
        gateway.publish(&key, event_type, "{}");
    }
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/deliveries?status=retrying";
    until("all wait for a retry", || ids(&browser, list).len() == 3);
    browser.open(list).has("action=\"/ui/deliveries/selection/retry?status=retrying\"");

    // A delivery that cannot be retried is left out, and the page says why.
    let disabled =
        gateway.acting("acme", "PATCH", &format!("/v1/webhooks/{off}"), r#"{"is_active":false}"#);
    assert_eq!(disabled.status, 200, "{}", disabled.body);
    broken.answer(200);
    let answer = submit(
        &browser,
        "/ui/deliveries/selection/retry?status=retrying",
        &ids(&browser, list),
        &[],
    );
    assert_eq!(answer.location(), "/ui/deliveries?status=retrying");
    let page = browser.follow(&answer);
    page.has("2 deliveries are due now.").has("1 was left out: ").has("disabled");
    until("they are delivered", || ids(&browser, "/ui/deliveries?status=delivered").len() == 2);

    let nothing = browser.submit_and_follow("/ui/deliveries/selection/retry", &[]);
    nothing.has("Nothing is selected");

    // An event is canceled as a whole, so the page asks first.
    let left = ids(&browser, list);
    let asked = submit(&browser, "/ui/deliveries/selection/cancel", &left, &[]);
    assert_eq!(asked.status, 200, "{}", asked.html);
    asked.has("Cancel 1 event?").has("to any endpoint").has(&format!("value=\"{}\"", left[0]));
    assert_eq!(ids(&browser, list), left);
    let answer = submit(&browser, "/ui/deliveries/selection/cancel", &left, &[("confirm", "yes")]);
    browser.follow(&answer).has("1 delivery is canceled.");
    assert!(ids(&browser, list).is_empty());
    let answer = submit(&browser, "/ui/deliveries/selection/cancel", &left, &[]);
    browser.follow(&answer).has("Nothing to cancel");

    // The same in the portal, but not for someone who may only read.
    let portal = Browser::in_portal(&gateway, "acme");
    portal.open("/portal/deliveries").has("action=\"/portal/deliveries/selection/retry\"");
    let body = r#"{"name":"ana","password":"a long enough password","role":"read_only"}"#;
    let made = gateway.operator("POST", "/v1/users", body);
    assert_eq!(made.status, 201, "{}", made.body);
    let mut reader = Browser::new(&gateway);
    reader.log_in_as("ana", "a long enough password");
    reader.open("/ui/deliveries").lacks("form=\"selection\"").has("a.b");
}

#[test]
fn one_delivery_is_given_up_from_its_page_after_asking() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    let key = gateway.tenant("acme");
    for name in ["a.b", "*"] {
        endpoint(&gateway, name, &broken.url(), r#","retry":{"schedule":["1h"]}"#);
    }
    gateway.publish(&key, "a.b", "{}");
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/deliveries?tenant=acme&status=retrying";
    until("both wait for a retry", || ids(&browser, list).len() == 2);
    let [first, second] = <[String; 2]>::try_from(ids(&browser, list)).unwrap();
    let page = format!("/ui/deliveries/{first}?tenant=acme");
    let stop = format!("/ui/deliveries/{first}/stop?tenant=acme");
    browser.open(&page).has(&format!("action=\"{stop}\"")).has("Stop retrying</button>");

    let asked = browser.submit(&stop, &[]);
    assert_eq!(asked.status, 200, "{}", asked.html);
    asked.has("Stop retrying?").has("Other deliveries of its event go on");
    assert_eq!(ids(&browser, list).len(), 2, "it was only asked");
    let stopped = browser.submit_and_follow(&stop, &[("confirm", "yes")]);
    stopped.has("The delivery is canceled. No further attempt is made.").has("Canceled</span>");
    stopped.lacks("Stop retrying</button>");
    assert_eq!(ids(&browser, list), std::slice::from_ref(&second));
    // The form of a page that was opened before says so.
    let late = browser.submit_and_follow(&stop, &[("confirm", "yes")]);
    late.has("The delivery was not canceled: the delivery has ended already: it was canceled.");
    browser.open("/ui/audit").has("Stop retrying a delivery").has("cancelDelivery");

    // The same in the portal, but not for someone who may only read.
    let body = r#"{"name":"ana","password":"a long enough password","role":"read_only"}"#;
    assert_eq!(gateway.operator("POST", "/v1/users", body).status, 201);
    let mut reader = Browser::new(&gateway);
    reader.log_in_as("ana", "a long enough password");
    let page = format!("/ui/deliveries/{second}?tenant=acme");
    reader.open(&page).has("Why is it waiting?").lacks("Stop retrying</button>");
    let portal = Browser::in_portal(&gateway, "acme");
    let stop = format!("/portal/deliveries/{second}/stop");
    portal.open(&format!("/portal/deliveries/{second}")).has(&format!("action=\"{stop}\""));
    portal.submit_in_portal(&stop, &[]).has("Stop retrying?");
    portal.submit_in_portal(&stop, &[("confirm", "yes")]).has("The delivery is canceled.");
}

#[test]
fn a_retry_out_of_order_is_asked_first() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    gateway.tenant("acme");
    endpoint(
        &gateway,
        "a.b",
        &broken.url(),
        r#","ordering":"per_subject","retry":{"schedule":["1h"]}"#,
    );
    for _ in 0..2 {
        let body = r#"{"type":"a.b","data":{},"subject":"order-7"}"#;
        let sent = gateway.acting("acme", "POST", "/v1/events", body);
        assert!(sent.status < 300, "{}", sent.body);
    }
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/deliveries?tenant=acme";
    let behind = "behind an earlier delivery";
    until("the second waits for the first", || browser.open(list).html.contains(behind));
    let all = ids(&browser, list);
    let second = &all[0];
    let asked = browser.submit(&format!("/ui/deliveries/{second}/retry?tenant=acme"), &[]);
    assert_eq!(asked.status, 200, "{}", asked.html);
    asked.has("Retry out of order?").has("<code>order-7</code> in order");
    browser.open(list).has(behind);

    // Among others, a delivery that waits for its turn is left out.
    let answer = submit(&browser, "/ui/deliveries/selection/retry?tenant=acme", &all, &[]);
    let page = browser.follow(&answer);
    page.has("1 delivery is due now.").has("1 was left out: it waits for an earlier delivery");

    broken.answer(200);
    let path = format!("/ui/deliveries/{second}/retry?tenant=acme");
    browser.submit_and_follow(&path, &[("confirm", "yes")]).has("The delivery is due now");
    let page = format!("/ui/deliveries/{second}?tenant=acme");
    until("it overtook", || browser.open(&page).html.contains("Delivered at attempt"));
}

#[test]
fn a_dry_run_says_what_is_wrong_with_the_targets_and_a_replay_who_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let broken = Receiver::start();
    broken.answer(500);
    let key = gateway.tenant("acme");
    let paused = endpoint(&gateway, "a.b", &broken.url(), r#","retry":{"schedule":[]}"#);
    gateway.publish(&key, "a.b", "{}");
    let browser = Browser::logged_in(&gateway);
    let list = "/ui/dead-letters?tenant=acme";
    until("it is given up", || browser.open(list).html.contains("HTTP_500"));
    browser.open(list).has(">a.b</a>");
    let pause = gateway.acting("acme", "POST", &format!("/v1/webhooks/{paused}/pause"), "");
    assert_eq!(pause.status, 204, "{}", pause.body);
    let counted = browser.submit("/ui/dead-letters/replay?tenant=acme", &[]);
    assert_eq!(counted.status, 200, "{}", counted.html);
    counted.has("1 waits until <a href=\"/ui/endpoints/").has("is resumed");

    // Without a tenant, the page says how to redirect.
    browser.open("/ui/dead-letters").has("To send to another endpoint, choose");

    let resumed = gateway.acting("acme", "POST", &format!("/v1/webhooks/{paused}/resume"), "");
    assert_eq!(resumed.status, 204, "{}", resumed.body);
    broken.answer(200);
    let fields = [("confirm", "yes"), ("rate", "5")];
    let started = browser.submit_and_follow("/ui/dead-letters/replay?tenant=acme", &fields);
    started.has("Started by the operator token.");
}
