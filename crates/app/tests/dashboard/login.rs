//! Who can log in, and how sessions start and end.

use crate::{
    browser::{Browser, SAME_ORIGIN, form},
    gateway::{Gateway, TOKEN},
};

#[test]
fn the_operator_token_opens_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let mut browser = Browser::new(&gateway);
    assert_eq!(browser.get("/").location(), "/ui/");
    assert_eq!(browser.get("/admin/queues").location(), "/ui/queues");
    let sent_away = browser.get("/ui/deliveries?tenant=m2&status=failed");
    assert_eq!(sent_away.status, 303);
    assert_eq!(
        sent_away.location(),
        "/ui/login?next=%2Fui%2Fdeliveries%3Ftenant%3Dm2%26status%3Dfailed"
    );
    browser.open("/ui/login").has("Password or operator token");

    let page = browser.log_in(TOKEN);
    let cookie = page.header("set-cookie").unwrap().to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/ui"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "the public URL is not HTTPS: {cookie}");
    let start = browser.open("/ui/");
    start.has("Send the first webhook");

    // A session of this browser from before the login is not reused.
    let first = browser.session.clone().unwrap();
    browser.log_in(TOKEN);
    assert_ne!(browser.session.clone().unwrap(), first);

    let out = browser.submit("/ui/logout", &[]);
    assert_eq!(out.location(), "/ui/login");
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(browser.get("/ui/queues").status, 303, "the id is of no use any more");
    browser.session = Some(first);
    assert_eq!(browser.get("/ui/queues").status, 303, "it ended with the second login");
}

#[test]
fn every_failure_has_the_same_message_and_guessing_is_slowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let key = gateway.tenant("m2");
    let mut browser = Browser::new(&gateway);
    let wrong = browser.log_in("not-the-token");
    assert_eq!(wrong.status, 403);
    wrong.has("the token is not valid");
    assert!(wrong.header("set-cookie").is_none());
    // A tenant's key gives access to the API, not to the dashboard.
    let tenants = browser.log_in(&key);
    assert_eq!(tenants.status, 403);
    assert_eq!(tenants.html, wrong.html);
    assert_eq!(browser.log_in("").html, wrong.html);

    std::thread::scope(|scope| {
        let guesses: Vec<_> = (0..60)
            .map(|n| {
                let mut browser = Browser::new(&gateway);
                scope.spawn(move || browser.log_in(&format!("guess-{n}")).status)
            })
            .collect();
        let answers: Vec<_> = guesses.into_iter().map(|guess| guess.join().unwrap()).collect();
        assert!(answers.contains(&403), "{answers:?}");
        assert!(!answers.contains(&303), "{answers:?}");
    });
    let mut statuses = Vec::new();
    std::thread::scope(|scope| {
        let more: Vec<_> = (0..60)
            .map(|n| {
                let mut browser = Browser::new(&gateway);
                scope.spawn(move || browser.log_in(&format!("more-{n}")))
            })
            .collect();
        for guess in more {
            let page = guess.join().unwrap();
            if page.status == 429 {
                assert!(page.header("retry-after").is_some());
                page.has("the token is not valid");
            }
            statuses.push(page.status);
        }
    });
    assert!(statuses.contains(&429), "{statuses:?}");
}

#[test]
fn a_login_leads_only_to_pages_of_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let browser = Browser::new(&gateway);
    let log_in = |next: &str| {
        let path = format!("/ui/login?{}", form(&[("next", next)]));
        browser.send("POST", &path, &[SAME_ORIGIN], &form(&[("token", TOKEN)]))
    };
    assert_eq!(log_in("/ui/tenants?x=1").location(), "/ui/tenants?x=1");
    for elsewhere in [
        "//evil.example/ui",
        "https://evil.example/ui/",
        "/\\evil.example",
        "/ui/\\evil",
        "/v1/tenants",
        "javascript:alert(1)",
        "/uix",
    ] {
        assert_eq!(log_in(elsewhere).location(), "/ui/", "{elsewhere}");
    }
    // A login that another site started is refused.
    for headers in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
        let foreign = browser.send("POST", "/ui/login", &[headers], &form(&[("token", TOKEN)]));
        assert_eq!(foreign.status, 403);
        assert!(foreign.header("set-cookie").is_none());
    }
}

#[test]
fn cookies_are_secure_behind_https_and_texts_follow_the_language() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_PUBLIC_URL", "https://gw.example")]);
    let mut browser = Browser::new(&gateway);
    let page = browser.log_in(TOKEN);
    assert!(page.header("set-cookie").unwrap().contains("; Secure"));
    assert!(page.header("strict-transport-security").is_some());
    browser.language = "pt-BR,en;q=0.5";
    browser.open("/ui/queues").has("<html lang=\"pt\"").has("Filas").lacks("Queues");
    browser.language = "es";
    browser.open("/ui/queues").has("<html lang=\"es\"").has("Colas");
    let chosen = browser.submit("/ui/preferences", &[("language", "en"), ("next", "/ui/queues")]);
    assert_eq!(chosen.location(), "/ui/queues");
    assert!(chosen.header("set-cookie").unwrap().starts_with("gancho_language=en;"));
}
