//! Changes: only from forms of the same session, and with the errors of the API at the fields.

use gancho_testkit::until;

use crate::{
    browser::{Browser, SAME_ORIGIN, form},
    gateway::Gateway,
    scripted_receiver::Receiver,
};

#[test]
fn a_change_needs_the_token_of_the_session_and_a_page_of_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let (browser, other) = (Browser::logged_in(&gateway), Browser::logged_in(&gateway));
    let token = browser.open("/ui/queues").csrf().to_owned();
    let foreign = other.open("/ui/queues").csrf().to_owned();
    assert_ne!(token, foreign);
    let pause = "/ui/queues/email/pause";
    let attacks: [(&[(&str, &str)], String); 6] = [
        (&[SAME_ORIGIN], form(&[])),
        (&[SAME_ORIGIN], form(&[("csrf", &foreign)])),
        (&[SAME_ORIGIN], form(&[("csrf", "")])),
        (&[("sec-fetch-site", "cross-site")], form(&[("csrf", &token)])),
        (&[("sec-fetch-site", "same-site")], form(&[("csrf", &token)])),
        (&[("origin", "null")], form(&[("csrf", &token)])),
    ];
    for (headers, body) in attacks {
        let page = browser.send("POST", pause, headers, &body);
        assert_eq!(page.status, 403, "{headers:?} {body}");
        page.has("Nothing was changed");
    }
    // A link changes nothing, whatever method it claims.
    let by_link = browser.get(&format!("{pause}?csrf={token}&_method=POST"));
    assert_eq!(by_link.status, 405);
    browser.open("/ui/queues").lacks("/ui/queues/email/resume");

    let done = browser.send("POST", pause, &[SAME_ORIGIN], &form(&[("csrf", &token)]));
    assert_eq!(done.status, 303);
    let page = browser.follow(&done);
    page.has("Lane <code>email</code> is paused").has("/ui/queues/email/resume");
    browser.open("/ui/queues").lacks("Lane <code>email</code> is paused");
    browser.submit_and_follow("/ui/queues/email/resume", &[]).has("is running again");
}

#[test]
fn a_tenant_its_key_and_its_endpoint_are_made_by_forms() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let browser = Browser::logged_in(&gateway);

    let refused = browser.submit("/ui/tenants/new", &[("slug", "No Slug"), ("name", "Acme")]);
    assert_eq!(refused.status, 422, "{}", refused.html);
    refused.has("aria-invalid=\"true\"").has("slug-error").has("value=\"Acme\"");
    let page = browser.submit_and_follow("/ui/tenants/new", &[("slug", "acme"), ("name", "Acme")]);
    page.has("Acme is created").has("It has no API key yet");

    let fields = [("name", "backend"), ("publish", "yes"), ("read", "yes")];
    let made = browser.submit_and_follow("/ui/tenants/acme/keys?tenant=acme", &fields);
    let key = made.html.split("id=\"new-key\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(key.starts_with("gk_"), "{key}");
    browser.open("/ui/tenants/acme?tenant=acme").lacks(key).has("backend");

    let new = "/ui/endpoints/new?tenant=acme";
    let wrong = browser.submit(new, &[("url", "ftp://x"), ("events", ""), ("name", "Billing")]);
    assert_eq!(wrong.status, 422, "{}", wrong.html);
    wrong.has("url-error").has("value=\"ftp://x\"").has("value=\"Billing\"");
    let url = receiver.url();
    let fields = [
        ("url", url.as_str()),
        ("events", "invoice.*, user.created"),
        ("name", "Billing"),
        ("rate_count", "50"),
        ("rate_per", "1s"),
    ];
    let created = browser.submit_and_follow(new, &fields);
    created.has("whsec_").has("The endpoint is created");
    let list = browser.open("/ui/endpoints?tenant=acme");
    list.has("Billing").has("50/1s");
    let id = list.html.split("/ui/endpoints/wh_").nth(1).unwrap().split('?').next().unwrap();
    let at = |action: &str| format!("/ui/endpoints/wh_{id}{action}?tenant=acme");

    let fields = [("url", url.as_str()), ("events", "*"), ("name", "Billing sync")];
    let saved = browser.submit_and_follow(&at("/edit"), &fields);
    saved.has("Billing sync").has("no limit").has("The endpoint is saved");

    let tested = browser.submit_and_follow(&at("/test"), &[("event_type", "invoice.paid")]);
    tested.has("Delivered").has(">200</span>");

    browser.submit_and_follow(&at("/pause"), &[]).has("The endpoint is paused").has("Resume");
    browser.submit_and_follow(&at("/resume"), &[]).has("The endpoint is resumed");
    browser.submit_and_follow(&at("/disable"), &[]).has("The endpoint is disabled").has("Enable");
    browser.submit_and_follow(&at("/enable"), &[]).has("The endpoint is enabled");

    let page = browser.open(&at("/reveal"));
    page.lacks("whsec_").has("can forge deliveries");
    browser.submit_and_follow(&at("/reveal"), &[]).has("whsec_");
    let rotated = browser.submit_and_follow(&at("/rotate"), &[("overlap", "1h")]);
    rotated.has("The secret is rotated").has("also signs until");
    let refused = browser.submit(&at("/rotate"), &[("overlap", "90d")]);
    assert_eq!(refused.status, 422, "{}", refused.html);

    let kept = browser.submit(&at("/delete"), &[("confirm", "Billing")]);
    assert_eq!(kept.status, 422);
    kept.has("This is not its name");
    let gone = browser.submit_and_follow(&at("/delete"), &[("confirm", "Billing sync")]);
    gone.has("Billing sync is deleted");

    let delete = "/ui/tenants/acme/delete?tenant=acme";
    browser.open("/ui/tenants/acme?tenant=acme").has("/ui/tenants/acme/delete");
    browser.open(delete).has("Delete Acme?").has("not archived");
    let kept = browser.submit(delete, &[("confirm", "Acme")]);
    assert_eq!(kept.status, 422);
    kept.has("Nothing was deleted");
    let gone = browser.submit_and_follow(delete, &[("confirm", "acme")]);
    gone.has("Acme is deleted").lacks("/ui/tenants/acme");
    assert_eq!(browser.get(&at("")).status, 404);
}

#[test]
fn addresses_are_suppressed_and_freed() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);
    let at = |action: &str| format!("/ui/suppressions{action}?tenant=acme");
    let refused = browser.submit(&at("/add"), &[("address", "no address")]);
    assert_eq!(refused.status, 422, "{}", refused.html);
    refused.has("address-error").has("value=\"no address\"");
    let added = browser.submit_and_follow(&at("/add"), &[("address", "ana+x@example.com")]);
    added.has("is suppressed").has("ana+x@example.com");
    let removed = browser.submit_and_follow(&at("/remove"), &[("address", "ana+x@example.com")]);
    removed.has("is not suppressed any more").has("No address is suppressed");
}

#[test]
fn dead_letters_are_counted_replayed_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &receiver.url());
    receiver.answer(410);
    gateway.publish(&key, "invoice.paid", r#"{"id":"inv_1"}"#);
    let browser = Browser::logged_in(&gateway);
    until("the delivery is given up", || {
        browser.open("/ui/dead-letters").html.contains("TARGET_GONE")
    });
    browser.open("/ui/").has("1 dead letter with <code>TARGET_GONE</code>");
    browser.open("/ui/deliveries?tenant=acme&status=failed").has("Dead letter");

    let path = "/ui/dead-letters/replay?tenant=acme&code=TARGET_GONE";
    // The endpoint was disabled by its 410, so nothing could be sent to it.
    browser.submit(path, &[]).has("<p class=\"count\">0</p>").has("1 is left out");
    let webhook = format!("/v1/webhooks/{}", endpoint["id"].as_str().unwrap());
    let enabled = gateway.acting("acme", "PATCH", &webhook, r#"{"is_active":true}"#);
    assert_eq!(enabled.status, 200, "{}", enabled.body);
    let counted = browser.submit(path, &[]);
    assert_eq!(counted.status, 200, "{}", counted.html);
    counted.has("<p class=\"count\">1</p>").has("Replay 1 delivery");
    let started = browser.submit(path, &[("confirm", "yes"), ("rate", "20")]);
    assert!(started.location().starts_with("/ui/replays/rpl_"), "{}", started.location());
    browser.follow(&started).has("The replay has started");
    browser.open("/ui/replays?tenant=acme").has("Replay of");
}
