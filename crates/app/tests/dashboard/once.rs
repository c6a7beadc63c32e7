//! A form acts once: reloading the page repeats nothing, and a session that ends halfway loses only secrets.

use crate::{
    browser::{Browser, Page, SAME_ORIGIN, form},
    gateway::{Gateway, TOKEN},
};

/// Checks that a secret is shown once: the response to the form leads to a page with the secret, which does
/// not have it when it is reloaded, even by a browser that kept the cookie.
#[track_caller]
fn shown_once(browser: &Browser, answer: &Page, secret: &str) {
    assert_eq!(answer.status, 303, "{}\n{}", answer.head, answer.html);
    assert!(!answer.location().contains(secret), "{}", answer.head);
    let path = answer.location();
    let cookie = answer.head.lines().find(|line| line.contains("gancho_once=")).expect("a cookie");
    let (own_path, _) = path.split_once('?').unwrap_or((path, ""));
    for part in [&format!("Path={own_path};"), "HttpOnly", "Max-Age=60", "SameSite=Lax"] {
        assert!(cookie.contains(part), "{part} is not in {cookie}");
    }
    assert!(!cookie.contains(secret), "it is sealed: {cookie}");
    let page = browser.follow(answer);
    page.has(secret);
    let forgotten = page.head.lines().find(|line| line.contains("gancho_once=;"));
    let forgotten = forgotten.unwrap_or_else(|| panic!("the cookie stays: {}", page.head));
    assert!(forgotten.contains(&format!("Path={own_path};")), "{forgotten}");
    assert!(forgotten.contains("Max-Age=0"), "{forgotten}");
    let again = browser.get(path);
    assert!(!again.html.contains(secret), "{}", again.html);
}

#[test]
fn secrets_are_shown_once_and_loading_the_page_again_makes_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let browser = Browser::logged_in(&gateway);

    let keys = || gateway.operator("GET", "/v1/tenants/acme/api-keys", "").json()["data"].clone();
    let count = keys().as_array().unwrap().len();
    let made = browser.submit("/ui/tenants/acme/keys?tenant=acme", &[("read", "yes")]);
    shown_once(&browser, &made, "gk_");
    assert_eq!(keys().as_array().unwrap().len(), count + 1);

    let fields = [("url", "https://example.com/hook"), ("events", "*"), ("name", "Shop")];
    let created = browser.submit("/ui/endpoints/new?tenant=acme", &fields);
    shown_once(&browser, &created, "whsec_");
    let id = created.location().split('/').nth(3).unwrap().to_owned();
    browser.open(created.location()).has("It was shown once").has(&format!("{id}/reveal"));
    for action in ["reveal", "rotate"] {
        let path = format!("/ui/endpoints/{id}/{action}?tenant=acme");
        shown_once(&browser, &browser.submit(&path, &[]), "whsec_");
    }
    let list = gateway.acting("acme", "GET", "/v1/webhooks", "").json();
    assert_eq!(list["data"].as_array().unwrap().len(), 1);

    // Encrypted for one session, so nobody else can decrypt it.
    let rotated = browser.submit(&format!("/ui/endpoints/{id}/rotate?tenant=acme"), &[]);
    let other = Browser::logged_in(&gateway);
    other.follow(&rotated).lacks("whsec_");
    browser.follow(&rotated).has("whsec_");
}

#[test]
fn the_portal_shows_a_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let browser = Browser::in_portal(&gateway, "acme");
    let token = browser.open("/portal/keys").csrf().to_owned();
    let fields = form(&[("name", "ours"), ("read", "yes"), ("csrf", &token)]);
    let made = browser.send("POST", "/portal/keys", &[SAME_ORIGIN], &fields);
    shown_once(&browser, &made, "gk_");
}

#[test]
fn a_form_outlives_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let mut browser = Browser::logged_in(&gateway);
    let page = "/ui/endpoints/new?tenant=acme";
    let token = browser.open(page).csrf().to_owned();
    assert_eq!(browser.submit("/ui/logout", &[]).status, 303);

    let to_page = browser.get("/ui/queues");
    assert_eq!(to_page.location(), "/ui/login?next=%2Fui%2Fqueues&ended=page");
    browser.open(to_page.location()).has("Your session has ended");
    Browser::new(&gateway).open("/ui/login?next=%2Fui%2Fqueues").lacks("has ended");

    let fields = form(&[
        ("url", "https://example.com/hook"),
        ("events", "invoice.*"),
        ("name", "Billing \"sync\""),
        ("headers", "authorization: Bearer hush"),
        ("csrf", &token),
    ]);
    let referer = format!("http://{}{page}", gateway.address);
    let sent = browser.send("POST", page, &[SAME_ORIGIN, ("referer", &referer)], &fields);
    assert_eq!(
        sent.location(),
        "/ui/login?next=%2Fui%2Fendpoints%2Fnew%3Ftenant%3Dacme&ended=form"
    );
    let draft = sent.cookies().find(|cookie| cookie.starts_with("gancho_draft=")).unwrap();
    assert!(!draft.contains("example.com"), "{draft}");
    browser.open(sent.location()).has("before the form was sent");

    let mut stranger = browser.clone();
    let entered = browser.log_in(TOKEN);
    assert_eq!(entered.status, 303);
    let back = browser.send("GET", page, &[("cookie", draft)], "");
    back.has("What you typed is still here").has("https://example.com/hook").has("invoice.*");
    back.has("Billing &#34;sync&#34;").lacks("hush");
    assert!(back.head.contains("gancho_draft=;"), "it is used once: {}", back.head);
    // Another form does not get it, and another site cannot leave one.
    browser.send("GET", "/ui/tenants/new", &[("cookie", draft)], "").lacks("invoice.*");
    let foreign = stranger.send("POST", page, &[("sec-fetch-site", "cross-site")], &fields);
    assert_eq!(foreign.status, 303);
    assert!(!foreign.head.contains("gancho_draft"), "{}", foreign.head);
    let evil = ("referer", "https://evil.example/ui/endpoints/new");
    let sent = stranger.send("POST", page, &[SAME_ORIGIN, evil], &fields);
    assert_eq!(sent.location(), "/ui/login?ended=form");
    // Text that is too long for a cookie is lost, and the login page says so.
    let long = form(&[("url", &format!("https://example.com/{}", "x".repeat(5_000)))]);
    let lost = stranger.send("POST", page, &[SAME_ORIGIN], &long);
    assert!(lost.location().ends_with("ended=lost"), "{}", lost.location());
    assert!(!lost.head.contains("gancho_draft"), "{}", lost.head);
    browser.session = None;
    browser.open(lost.location()).has("too long to keep");
    stranger.session = Some("never-a-session".to_owned());
    let sent = stranger.send("POST", page, &[SAME_ORIGIN], &fields);
    assert!(!sent.head.contains("gancho_draft"), "{}", sent.head);
}
