//! How a tenant's users enter the portal, what their session allows, and when it ends.

use gancho_testkit::until;

use crate::{
    browser::{Browser, SAME_ORIGIN, form, portal_link},
    gateway::{Gateway, TOKEN},
    http,
};

#[test]
fn a_link_is_exchanged_for_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let link = portal_link(&gateway, "acme", "10m");
    let mut browser = Browser::new(&gateway);
    let entered = browser.enter(&link);
    assert_eq!((entered.status, entered.location()), (303, "/portal/"));
    assert_eq!(entered.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(entered.header("cache-control"), Some("no-store"));
    let cookie = entered.header("set-cookie").unwrap();
    for part in ["gancho_portal=", "Path=/portal;", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let age: u64 =
        cookie.split("Max-Age=").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    assert!((590..=600).contains(&age), "it ends with the link: {cookie}");
    let token = link.rsplit('/').next().unwrap();
    assert!(!cookie.contains(token), "the cookie is not the token of the link");
    let page = browser.open("/portal/");
    // With `no-referrer`, browsers would not send the origin of a form.
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    page.has("Webhooks of acme").has("Add your first endpoint").lacks(token).lacks("gp_");

    // A link works until it expires, with a new session each time.
    let mut second = Browser::new(&gateway);
    assert_eq!(second.enter(&link).location(), "/portal/");
    assert_ne!(second.portal, browser.portal);
    assert_ne!(second.open("/portal/keys").csrf(), browser.open("/portal/keys").csrf());

    // The cookie gives access neither to the API nor to the dashboard.
    let value = browser.portal.clone().unwrap().split_once('=').unwrap().1.to_owned();
    for token in [value.clone(), format!("gp_{value}")] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        assert_eq!(http::call(gateway.address, "GET", "/v1/webhooks", &headers, "").status, 401);
        let entered = Browser::new(&gateway).enter(&format!("/portal/{token}"));
        assert!([401, 404].contains(&entered.status), "{}", entered.status);
    }
    assert!(browser.get("/ui/queues").location().starts_with("/ui/login"));
    browser.session = Some(value);
    assert!(browser.get("/ui/queues").location().starts_with("/ui/login"));

    // The dashboard's cookie does not give access to the portal.
    let operator = Browser::logged_in(&gateway);
    assert_eq!(operator.get("/portal/").status, 401);
}

#[test]
fn links_that_expired_or_were_changed_open_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("GANCHO_PORTAL_NAME", "Lumen")];
    let gateway = Gateway::start(folder.path(), &variables);
    gateway.tenant("acme");
    let link = portal_link(&gateway, "acme", "1s");
    let mut browser = Browser::new(&gateway);
    assert_eq!(browser.enter(&link).status, 303);
    until("the session ends", || browser.get("/portal/").status == 401);
    let ended = browser.get("/portal/deliveries");
    ended.has("Your session has ended").has("Open the portal again from Lumen").lacks("Gancho");
    let expired = Browser::new(&gateway).enter(&link);
    assert_eq!(expired.status, 410, "{}", expired.html);
    expired.has("This link has expired").has("from Lumen").lacks("acme");
    assert!(expired.header("set-cookie").is_none());

    let link = portal_link(&gateway, "acme", "1h");
    for at in [12, 30, link.len() - 1] {
        let mut changed = link.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let refused = Browser::new(&gateway).enter(&String::from_utf8(changed).unwrap());
        assert_eq!(refused.status, 404, "{at}: {}", refused.html);
        refused.has("This link is not valid").lacks("acme");
        assert!(refused.header("set-cookie").is_none());
    }
    for nothing in ["gp_", "gp_x", "gp_../../ui/", &format!("gp_{TOKEN}")] {
        assert_eq!(Browser::new(&gateway).enter(&format!("/portal/{nothing}")).status, 404);
    }

    // Revoking links ends the sessions that they opened.
    let mut browser = Browser::in_portal(&gateway, "acme");
    browser.open("/portal/");
    let revoked = gateway.operator("DELETE", "/v1/tenants/acme/portal-links", "");
    assert_eq!(revoked.status, 204, "{}", revoked.body);
    assert_eq!(browser.get("/portal/").status, 401);
    assert_eq!(browser.enter(&link).status, 410);

    // The same holds for a changed cookie.
    let mut browser = Browser::in_portal(&gateway, "acme");
    let cookie = browser.portal.clone().unwrap();
    let flipped = if cookie.ends_with('A') { "B" } else { "A" };
    browser.portal = Some(format!("{}{flipped}", &cookie[..cookie.len() - 1]));
    assert_eq!(browser.get("/portal/").status, 401);
}

#[test]
fn behind_https_the_cookie_works_in_frames() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [
        ("GANCHO_PUBLIC_URL", "https://hooks.example"),
        ("GANCHO_PORTAL_FRAME_ORIGINS", "https://app.example, https://b.example:8443"),
    ];
    let gateway = Gateway::start(folder.path(), &variables);
    gateway.tenant("acme");
    let mut browser = Browser::new(&gateway);
    let link = portal_link(&gateway, "acme", "1h");
    let entered = browser.enter(&format!("{link}?lang=pt&theme=dark&page=/deliveries"));
    assert_eq!(entered.location(), "/portal/deliveries");
    let session = entered.header("set-cookie").unwrap();
    assert!(session.starts_with("__Secure-gancho_portal="), "{session}");
    assert!(session.contains("Path=/portal; SameSite=None; Secure; Partitioned"), "{session}");
    assert!(entered.head.contains("gancho_language=pt"), "{}", entered.head);
    assert!(entered.head.contains("gancho_theme=dark"), "{}", entered.head);
    let ancestors = |page: &str| {
        let page = browser.get(page);
        let policy = page.header("content-security-policy").unwrap().to_owned();
        assert!(page.header("x-frame-options").is_none());
        policy.split("frame-ancestors ").nth(1).unwrap().to_owned()
    };
    for page in ["/portal/", "/portal/nowhere", &link] {
        assert_eq!(ancestors(page), "https://app.example https://b.example:8443", "{page}");
    }
    assert_eq!(ancestors("/ui/login"), "'none'", "the dashboard is never framed");

    for elsewhere in ["//evil.example", "https://evil.example", "/../ui/", "/\\evil", "x"] {
        let page = form(&[("page", elsewhere)]);
        let entered = Browser::new(&gateway).enter(&format!("{link}?{page}"));
        let location = entered.location();
        assert!(location.starts_with("/portal/") && !location.contains(".."), "{location}");
    }
}

#[test]
fn without_allowed_origins_nobody_may_embed_and_forms_need_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let browser = Browser::in_portal(&gateway, "acme");
    let other = Browser::in_portal(&gateway, "acme");
    let page = browser.open("/portal/keys");
    assert!(page.header("content-security-policy").unwrap().ends_with("frame-ancestors 'none'"));
    let (token, foreign) = (page.csrf().to_owned(), other.open("/portal/keys").csrf().to_owned());
    let attacks: [(&[(&str, &str)], String); 5] = [
        (&[SAME_ORIGIN], form(&[("read", "yes")])),
        (&[SAME_ORIGIN], form(&[("read", "yes"), ("csrf", &foreign)])),
        (&[("sec-fetch-site", "cross-site")], form(&[("read", "yes"), ("csrf", &token)])),
        (&[("sec-fetch-site", "same-site")], form(&[("read", "yes"), ("csrf", &token)])),
        (&[("origin", "null")], form(&[("read", "yes"), ("csrf", &token)])),
    ];
    for (headers, body) in attacks {
        let refused = browser.send("POST", "/portal/keys", headers, &body);
        assert_eq!(refused.status, 403, "{headers:?} {body}");
    }
    browser.submit_in_portal("/portal/keys", &[("read", "yes")]).has("The new API key");

    // Signing out removes the cookie.
    let left = browser.send("POST", "/portal/leave", &[SAME_ORIGIN], &form(&[("csrf", &token)]));
    assert_eq!(left.location(), "/portal/");
    let cookie = left.header("set-cookie").unwrap();
    assert!(cookie.starts_with("gancho_portal=;") && cookie.contains("Max-Age=0"), "{cookie}");
}

/// The host of `public_url` need not be configured again.
#[test]
fn links_lead_to_the_public_address() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("GANCHO_PUBLIC_URL", "https://hooks.example.com")];
    let gateway = Gateway::start(folder.path(), &settings);
    gateway.tenant("acme");
    let link = portal_link(&gateway, "acme", "10m");
    let at = |host| Browser::new(&gateway).send_to(host, "GET", &link, &[], "").status;
    assert_eq!((at("hooks.example.com"), at("elsewhere.example.com")), (303, 421));
}

/// In a frame in which the browser stores no cookie, the page links to a new tab; otherwise it redirects to
/// the clean URL.
#[test]
fn a_frame_without_a_cookie_has_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    gateway.tenant("acme");
    let link = portal_link(&gateway, "acme", "10m");
    let framed = [("sec-fetch-dest", "iframe")];
    let stranger = Browser::new(&gateway);
    let entered = stranger.send("GET", &format!("{link}?page=/deliveries"), &framed, "");
    let next = entered.location().to_owned();
    assert!(next.starts_with("/portal/?entered=gp_"), "{next}");
    let blocked = stranger.send("GET", &next, &framed, "");
    assert_eq!(blocked.status, 401);
    blocked.has("Your browser blocked the cookie").has("Open in a new tab");
    blocked.has(&format!("href=\"{link}\" target=\"_blank\""));
    let mut browser = Browser::new(&gateway);
    browser.enter(&link);
    assert_eq!(browser.get(&next).location(), "/portal/deliveries");
    // Only our own tokens are offered.
    stranger
        .get("/portal/?entered=//evil.example")
        .lacks("evil.example")
        .lacks("Open in a new tab");
}
