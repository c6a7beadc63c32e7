//! Rows that appear while a page is open: which ones, to whom they are shown, and how long.

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

#[test]
fn rows_come_as_they_change_for_the_tenant_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let keys = ["acme", "other"].map(|slug| gateway.tenant(slug));
    for key in &keys {
        gateway.endpoint(key, &receiver.url());
    }
    gateway.publish(&keys[0], "invoice.early", "{}");
    let browser = Browser::logged_in(&gateway);
    browser.open("/ui/deliveries?tenant=acme").has("data-live=\"/ui/live/deliveries?tenant=acme\"");
    browser.open("/ui/deliveries?until=2020-01-01T00:00:00Z").lacks("data-live=");

    let mut of_acme = browser.stream("/ui/live/deliveries?tenant=acme");
    assert!(of_acme.head().contains("content-type: text/event-stream"), "{}", of_acme.head());
    assert!(of_acme.head().contains("cache-control: no-store"), "{}", of_acme.head());
    of_acme.wait_for("invoice.early");
    let mut of_all = browser.stream("/ui/live/deliveries");
    of_all.wait_for("invoice.early");
    gateway.publish(&keys[1], "invoice.theirs", "{}");
    of_all.wait_for("invoice.theirs");
    of_all.wait_for("<small>other</small>");
    receiver.answer_with(503, "<script>alert(1)</script>");
    gateway.publish(&keys[0], "invoice.mine", "{}");
    of_acme.wait_for("invoice.mine");
    of_acme.wait_for("is-retrying");
    of_acme.wait_for(">503<");
    assert!(!of_acme.text.contains("invoice.theirs"), "{}", of_acme.text);
    assert!(!of_acme.text.contains("<script>alert"), "{}", of_acme.text);
}

#[test]
fn an_open_page_is_notified_when_the_store_is_away() {
    let server = gancho_testkit::postgres::Postgres::start(&[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("postgres");
    let gateway = Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &url)]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);
    browser
        .open("/ui/deliveries?tenant=acme")
        .has("data-text-lost=")
        .has("data-lost role=\"status\" hidden");
    let mut stream = browser.stream("/ui/live/deliveries?tenant=acme");
    stream.wait_for("event: state\ndata: live");
    assert!(!stream.text.contains("lost"), "{}", stream.text);
    server.stop_at_once().unwrap();
    stream.wait_for("event: state\ndata: lost");
    server.start_again().unwrap();
    stream.text.clear();
    stream.wait_for("event: state\ndata: live");
}

#[test]
fn the_stream_needs_a_session_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let stranger = Browser::new(&gateway).get("/ui/live/deliveries");
    assert_eq!(stranger.status, 303, "{}", stranger.html);
    let browser = Browser::logged_in(&gateway);
    let mut stream = browser.stream("/ui/live/deliveries");
    assert_eq!(browser.submit("/ui/logout", &[]).status, 303);
    stream.wait_for_end();
    // A gateway that stops does not wait for open pages.
    let again = Browser::logged_in(&gateway);
    let mut stream = again.stream("/ui/live/deliveries");
    gateway.stop();
    stream.wait_for_end();
}
