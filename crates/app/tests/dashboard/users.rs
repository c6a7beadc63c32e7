//! Users of the dashboard: what each role sees and may do, and when sessions end.

use gancho_testkit::until;

use crate::{
    browser::{Browser, Page},
    gateway::Gateway,
    scripted_receiver::Receiver,
};

const PASSWORD: &str = "correct horse battery";

fn create(operator: &Browser, name: &str, role: &str) {
    let fields = [("name", name), ("role", role), ("password", PASSWORD)];
    operator.submit_and_follow("/ui/users", &fields).has("was created").has(name);
}

#[track_caller]
fn log_in(gateway: &Gateway, name: &str, password: &str) -> Browser {
    let mut browser = Browser::new(gateway);
    let page = browser.log_in_as(name, password);
    assert_eq!((page.status, page.location()), (303, "/ui/"), "{}", page.html);
    browser
}

/// Returns the forms of a page that change something, except the user's own settings.
fn forms(page: &Page) -> Vec<String> {
    let forms = page.html.split("<form method=\"post\" action=\"").skip(1);
    let actions = forms.map(|rest| rest.split(['"', '?']).next().unwrap().to_owned());
    let own = ["/ui/preferences", "/ui/logout", "/ui/password"];
    actions.filter(|action| !own.contains(&action.as_str())).collect()
}

#[test]
fn a_support_user_retries_and_sees_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &receiver.url())["id"].as_str().unwrap().to_owned();
    gateway.publish(&key, "invoice.paid", "{}");
    let operator = Browser::logged_in(&gateway);
    create(&operator, "sol@example.com", "support");
    let support = log_in(&gateway, "Sol@example.com", PASSWORD);

    let list = "/ui/deliveries?tenant=acme";
    until("it is delivered", || support.open(list).html.contains("Delivered</span></span></td>"));
    let html = support.open(list).html;
    let delivery = html.split("/ui/deliveries/dlv_").nth(1).unwrap().split('?').next().unwrap();
    let retry = format!("/ui/deliveries/dlv_{delivery}/retry?tenant=acme");
    assert_eq!(support.submit(&retry, &[]).status, 303);

    let page = support.open(&format!("/ui/endpoints/{endpoint}?tenant=acme"));
    page.has("/pause").has("/test").has("sol@example.com");
    for hidden in ["/edit", "/rotate", "/reveal", "/delete", "/disable", "/ui/users", "/ui/audit"] {
        page.lacks(hidden);
    }
    let base = format!("/ui/endpoints/{endpoint}");
    let posts: [(&str, &[(&str, &str)]); 9] = [
        (&format!("{base}/reveal?tenant=acme"), &[]),
        (&format!("{base}/rotate?tenant=acme"), &[("overlap", "1h")]),
        (&format!("{base}/disable?tenant=acme"), &[]),
        (&format!("{base}/edit?tenant=acme"), &[("url", "http://127.0.0.1:1/"), ("events", "*")]),
        ("/ui/tenants/new", &[("slug", "mine")]),
        ("/ui/tenants/acme/keys?tenant=acme", &[("name", "mine"), ("read", "yes")]),
        ("/ui/users", &[("name", "mine"), ("role", "operator"), ("password", PASSWORD)]),
        ("/ui/users/sol@example.com/role", &[("role", "operator")]),
        ("/ui/suppressions/add?tenant=acme", &[("address", "a@example.com")]),
    ];
    for (path, fields) in posts {
        let refused = support.submit(path, fields);
        assert_eq!(refused.status, 403, "{path}: {}", refused.html);
        refused.has("Your role does not allow this").lacks("whsec_").lacks("gk_");
    }
    let reveal = format!("{base}/reveal?tenant=acme");
    let edit = format!("{base}/edit?tenant=acme");
    for path in
        ["/ui/users", "/ui/users/sol@example.com", "/ui/audit", "/ui/tenants/new", &reveal, &edit]
    {
        let refused = support.get(path);
        assert_eq!(refused.status, 403, "{path}");
        refused.has("Your role does not allow this");
    }

    let audit = operator.open("/ui/audit?actor=sol@example.com");
    audit.has("Retry a delivery").has(&format!("/ui/deliveries/dlv_{delivery}?tenant="));
    audit.has("Reveal the secret of an endpoint").has("missing_role").has("127.0.0.1");
    let done = operator.open("/ui/audit?actor=sol@example.com&outcome=done");
    done.has("Retry a delivery").lacks("missing_role").has("value=\"sol@example.com\"");
    done.has("Sign in to the dashboard");
    operator.open("/ui/audit?operation=no_such_operation").has("No act here");
    let since = operator.open("/ui/audit?since=2020-01-01T00:00:00Z&outcome=done");
    since.has("Retry a delivery").has("Remove filter since").has("href=\"/ui/audit?outcome=done\"");
    let wrong = operator.get("/ui/audit?since=yesterday");
    assert_eq!(wrong.status, 422);
    wrong.has("<b>yesterday</b><em role=\"alert\">not a time such as 2026-").has("No act here");
}

#[test]
fn who_may_only_read_finds_no_form() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[("GANCHO_EMAIL_VIA", "sink")]);
    let receiver = Receiver::start();
    let key = gateway.tenant("acme");
    let endpoint = gateway.endpoint(&key, &receiver.url())["id"].as_str().unwrap().to_owned();
    let event = gateway.publish(&key, "invoice.paid", "{}");
    let operator = Browser::logged_in(&gateway);
    create(&operator, "rita", "read_only");
    let reader = log_in(&gateway, "rita", PASSWORD);
    let list = "/ui/deliveries?tenant=acme";
    until("it is delivered", || reader.open(list).html.contains("Delivered</span></span></td>"));
    let html = reader.open(list).html;
    let delivery = html.split("/ui/deliveries/dlv_").nth(1).unwrap().split('?').next().unwrap();
    for path in [
        "/ui/",
        "/ui/?tenant=acme",
        list,
        &format!("/ui/deliveries/dlv_{delivery}?tenant=acme"),
        &format!("/ui/deliveries?tenant=acme&peek=dlv_{delivery}"),
        "/ui/events?tenant=acme",
        &format!("/ui/events/{event}?tenant=acme"),
        "/ui/event-types?tenant=acme",
        "/ui/endpoints?tenant=acme",
        &format!("/ui/endpoints/{endpoint}?tenant=acme"),
        "/ui/dead-letters?tenant=acme",
        "/ui/replays?tenant=acme",
        "/ui/sources",
        "/ui/ledger",
        "/ui/emails?tenant=acme",
        "/ui/suppressions?tenant=acme",
        "/ui/captured",
        "/ui/tenants",
        "/ui/tenants/acme?tenant=acme",
        "/ui/queues",
        "/ui/password",
    ] {
        let page = reader.open(path);
        assert_eq!(forms(&page), Vec::<String>::new(), "{path}");
        page.lacks("/ui/endpoints/new").lacks("/ui/tenants/new").lacks("/ui/users");
    }
    let delete = format!("/ui/endpoints/{endpoint}/delete?tenant=acme");
    let refused = reader.submit(&delete, &[("confirm", "a wrong name")]);
    assert_eq!(refused.status, 403, "{}", refused.html);
    let refused = reader.submit("/ui/queues/email/pause", &[]);
    assert_eq!(refused.status, 403);
    refused.has("Your role does not allow this").has("Nothing was changed");
    let refused = reader.submit(&format!("/ui/deliveries/dlv_{delivery}/retry?tenant=acme"), &[]);
    assert_eq!(refused.status, 403);
}

#[test]
fn sessions_end_when_the_user_changes() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let operator = Browser::logged_in(&gateway);
    create(&operator, "ana", "support");
    let ana = log_in(&gateway, "ana", PASSWORD);
    let second = log_in(&gateway, "ana", PASSWORD);
    ana.open("/ui/queues").has("/ui/queues/email/pause");

    let page = operator.submit_and_follow("/ui/users/ana/role", &[("role", "read_only")]);
    page.has("The role of <code>ana</code> was changed");
    for browser in [&ana, &second] {
        assert!(browser.get("/ui/queues").location().starts_with("/ui/login"), "it has ended");
    }
    let ana = log_in(&gateway, "ana", PASSWORD);
    ana.open("/ui/queues").lacks("/ui/queues/email/pause");

    // The user's own password, which requires the current one.
    let fields = [("current_password", "wrong"), ("password", "another horse battery")];
    let wrong = ana.submit("/ui/password", &fields);
    assert_eq!(wrong.status, 422);
    wrong.has("current_password-error").lacks("another horse");
    let fields = [("current_password", PASSWORD), ("password", "another horse battery")];
    let changed = ana.submit("/ui/password", &fields);
    assert_eq!(changed.location(), "/ui/login?changed=yes");
    ana.get("/ui/login?changed=yes").has("Your password was changed");
    assert!(ana.get("/ui/queues").location().starts_with("/ui/login"));
    assert_eq!(Browser::new(&gateway).log_in_as("ana", PASSWORD).status, 403);
    let ana = log_in(&gateway, "ana", "another horse battery");

    let weak = operator.submit("/ui/users/ana/password", &[("password", "short")]);
    assert_eq!(weak.status, 422);
    weak.has("password-error").has("at least 12 characters");
    ana.open("/ui/queues");
    let fields = [("password", "third horse battery")];
    operator.submit_and_follow("/ui/users/ana/password", &fields).has("has a new password");
    assert!(ana.get("/ui/queues").location().starts_with("/ui/login"));

    let ana = log_in(&gateway, "ana", "third horse battery");
    operator.submit_and_follow("/ui/users/ana/delete", &[]).has("was deleted").has("No user yet");
    assert!(ana.get("/ui/queues").location().starts_with("/ui/login"));
    let page = Browser::new(&gateway).log_in_as("ana", "third horse battery");
    assert_eq!(page.status, 403);
    page.has("value=\"ana\"").lacks("third horse");
    operator.open("/ui/password").has("The operator token has no password");
}

#[test]
fn names_are_unique_and_errors_are_at_their_fields() {
    let folder = tempfile::tempdir().unwrap();
    let gateway = Gateway::start(folder.path(), &[]);
    let operator = Browser::logged_in(&gateway);
    create(&operator, "ana", "support");
    let taken = [("name", "ANA"), ("role", "support"), ("password", PASSWORD)];
    let taken = operator.submit("/ui/users", &taken);
    assert_eq!(taken.status, 409);
    taken.has("exists already").has("value=\"ANA\"").lacks(PASSWORD);
    let markup = [("name", "<script>alert(1)"), ("role", "support"), ("password", PASSWORD)];
    let markup = operator.submit("/ui/users", &markup);
    assert_eq!(markup.status, 422);
    markup.has("name-error").lacks("<script>alert");
    assert_eq!(operator.get("/ui/users/nobody").status, 404);
}
