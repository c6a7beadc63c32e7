//! The search finds what exists, over all tenants and in one.

use gancho_testkit::until;

use crate::{browser::Browser, gateway::Gateway, scripted_receiver::Receiver};

#[test]
fn what_exists_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    gateway.tenant("zulu");
    let endpoint = gateway.endpoint(&key, &receiver.url())["id"].as_str().unwrap().to_owned();
    let event = gateway.publish(&key, "invoice.paid", "{}");
    let body = r#"{"type":"never.matched","data":{},"external_id":"ext-order-77"}"#;
    let unmatched = gateway.acting("zulu", "POST", "/v1/events", body).json();
    let unmatched = unmatched["id"].as_str().unwrap().to_owned();
    gateway.source("shopflow", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=", &receiver.url());
    let receipt = gateway.simulate("shopflow");
    let email = r#"{"from":"a@example.com","to":"b@example.com","subject":"Ola","text":"x"}"#;
    let email = gateway.acting("acme", "POST", "/v1/email/send", email).json();
    let email = email["outboxId"].as_str().unwrap().to_owned();
    let replay = gateway.acting("acme", "POST", "/v1/replays", r#"{"all":true}"#).json();
    let replay = replay["id"].as_str().unwrap().to_owned();
    let browser = Browser::logged_in(&gateway);

    for (id, page) in [
        (&event, format!("/ui/events/{event}?tenant=acme")),
        (&unmatched, format!("/ui/events/{unmatched}?tenant=zulu")),
        (&endpoint, format!("/ui/endpoints/{endpoint}?tenant=acme")),
        (&email, format!("/ui/emails?tenant=acme&peek={email}")),
        (&receipt, format!("/ui/sources/shopflow/receipts/{receipt}")),
        (&replay, format!("/ui/replays/{replay}?tenant=acme")),
    ] {
        for typed in [id.clone(), id.to_lowercase(), id.split_once('_').unwrap().1.to_owned()] {
            for tenant in ["", "&tenant=zulu", "&tenant=acme"] {
                let found = browser.get(&format!("/ui/search?q={typed}{tenant}"));
                assert_eq!(found.status, 303, "{typed}{tenant}: {}", found.html);
                assert_eq!(found.location(), page, "{typed}{tenant}");
            }
        }
        browser.open(&page);
    }
    // A link to an e-mail without a tenant leads to the tenant's page.
    let peeked = browser.get(&format!("/ui/emails?peek={email}"));
    assert_eq!(peeked.location(), format!("/ui/emails?tenant=acme&peek={email}"));
    let peeked = browser.get("/ui/emails?peek=out_01JCR4VQX8M3W0ZB6K3VTN5YHF");
    browser.follow(&peeked).has("Nothing found");

    browser.open("/ui/search?q=ext-order-77").has(&unmatched).has("zulu");
    let typed = browser.get("/ui/deliveries?q=ext-order-77");
    assert_eq!(typed.location(), "/ui/deliveries?external=ext-order-77&tenant=zulu");
    for text in ["never.matched", "zul", "shopfl", "127.0.0.1"] {
        browser.open(&format!("/ui/search?q={text}")).has("class=\"row\"").lacks("Nothing found");
    }
    browser.open("/ui/search?q=no.such.type").has("Nothing found").has("no event has this type");
    browser.open("/ui/search?q=zul&tenant=acme").has("Nothing found");

    // The list of replays has those of all tenants.
    let list = browser.open("/ui/replays");
    list.has(&format!("/ui/replays/{replay}?tenant=acme")).has("<small>acme</small>");
    list.lacks("No replay yet");
}

#[test]
fn an_event_that_matched_nothing_is_sent_later() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let event = gateway.publish(&key, "order.paid", "{}");
    let browser = Browser::logged_in(&gateway);
    let path = format!("/ui/events/{event}");
    browser.open(&format!("{path}?tenant=acme")).has("matched no endpoint").lacks("/send");
    gateway.endpoint(&key, &receiver.url());
    // Also if no tenant is selected.
    let page = browser.open(&path);
    page.has(&format!("action=\"{path}/send?tenant=acme\""))
        .has("Send it to the matching endpoint");
    let sent = browser.submit_and_follow(&format!("{path}/send?tenant=acme"), &[]);
    sent.has("The event is being sent to one endpoint.");
    until("it is delivered", || {
        browser.open(&format!("{path}?tenant=acme")).html.contains("Delivered</span>")
    });

    let later = r#"{"type":"order.due","data":{},"deliver_at":"2027-06-01T10:00:00Z"}"#;
    let made = gateway.acting("acme", "POST", "/v1/events", later);
    assert!(made.status < 300, "{}", made.body);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    browser.open(&format!("/ui/events/{id}?tenant=acme")).has("Scheduled for").has("1 Jun 2027");
    for list in ["/ui/events", "/ui/events?tenant=acme"] {
        browser.open(list).has("scheduled for <time datetime=\"2027-06-01T10:00:00");
    }
}
