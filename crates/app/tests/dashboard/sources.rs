//! The pages of sources: receipts by filter and dispatched again, the verification of the ledger, and
//! deleting a source.

use gancho_testkit::until;

use crate::{
    browser::Browser, gateway::Gateway, operator::Operator, partner, scripted_receiver::Receiver,
};

#[test]
fn receipts_are_filtered_and_dispatched_again() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let core = Receiver::start();
    gateway.source("acme", partner::SECRET, &core.url());
    partner::insist(|| gateway.ingest(), r#"{"id":"evt-1","type":"a"}"#);
    let browser = Browser::logged_in(&gateway);
    let page = "/ui/sources/acme";
    until("it is dispatched", || {
        browser.open(&format!("{page}?status=dispatched")).html.contains("/receipts/rcp_")
    });
    browser.open(&format!("{page}?status=dlq")).has("No receipt matches this filter");
    let wrong = browser.get(&format!("{page}?since=yesterday"));
    assert_eq!(wrong.status, 422);
    wrong.has("chip wrong").has("not a time such as");
    // The key that signed it was used just now.
    browser.open(page).has("Last receipt").has("just now").lacks("not among the last");

    let retry = "/ui/sources/acme/receipts/retry?status=dispatched";
    browser.open(&format!("{page}?status=dispatched")).has(&format!("action=\"{retry}\""));
    let asked = browser.submit(retry, &[]);
    assert_eq!(asked.status, 200, "{}", asked.html);
    asked.has("Dispatch 1 receipt again?").has(&format!("action=\"{retry}\""));
    let started = browser.submit_and_follow(retry, &[("confirm", "yes")]);
    started.has("The replay has started").has("Started by the operator token.");
    let none = browser.submit_and_follow("/ui/sources/acme/receipts/retry?status=dlq", &[]);
    none.has("No receipt matches, so nothing was dispatched");

    // The delivery of a receipt links to it.
    let receipt = browser.open(page).html;
    let receipt = receipt
        .split("/receipts/rcp_")
        .nth(1)
        .unwrap()
        .split(['"', '?'])
        .next()
        .unwrap()
        .to_owned();
    let receipt = format!("/ui/sources/acme/receipts/rcp_{receipt}");
    let html = browser.open(&receipt).html;
    let delivery = html.split("/ui/deliveries/dlv_").nth(1).unwrap().split('"').next().unwrap();
    browser.open(&format!("/ui/deliveries/dlv_{delivery}")).has(&format!("href=\"{receipt}\""));
}

#[test]
fn the_ledger_is_checked_from_the_sources_and_a_source_deleted_by_its_name() {
    let operator = Operator::start();
    operator.receive(1);
    let browser = Browser::logged_in(&operator.served);
    browser.open("/ui/sources").has("Ledger check").has("/ui/ledger/checkpoint?from=sources");
    let checked = browser.submit("/ui/ledger/checkpoint?from=sources", &[]);
    assert_eq!(checked.location(), "/ui/sources");
    browser.follow(&checked).has("Checked and signed up to line 1");

    let delete = "/ui/sources/acme/delete";
    browser.open("/ui/sources/acme").has(&format!("href=\"{delete}\""));
    browser.open(delete).has("Delete acme?").has("stay in the ledger").has("Turn it off instead");
    let mistyped = browser.submit(delete, &[("confirm", "acm")]);
    assert_eq!(mistyped.status, 422);
    browser.submit_and_follow(delete, &[("confirm", "acme")]).has("acme is deleted.");
    assert_eq!(browser.get("/ui/sources/acme").status, 404);
}
