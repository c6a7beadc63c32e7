//! A database that does not respond is reported without the database.

use gancho_testkit::until;

use super::recorder::Recorder;
use crate::{browser::Browser, gateway::Gateway, http};

/// A caller gets a response even if the database does not respond. The published event exists when the
/// database continues.
#[test]
fn a_database_that_hangs_leaves_nobody_without_a_response() {
    let server = gancho_testkit::postgres::Postgres::start(&[]).unwrap();
    let (folder, database_url) = (tempfile::tempdir().unwrap(), server.url("postgres"));
    let served = Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &database_url)]);
    let (known, unknown) = (served.tenant("acme"), served.tenant("globex"));
    served.publish(&known, "a.b", "{}");
    let browser = Browser::logged_in(&served);
    server.freeze().unwrap();
    let publish = |key: &str| {
        let event = r#"{"type":"a.b","data":{},"idempotency_key":"once"}"#;
        http::call(served.address, "POST", "/v1/events", &[("x-api-key", key)], event)
    };
    std::thread::scope(|scope| {
        let known = scope.spawn(|| publish(&known));
        let unknown = scope.spawn(|| publish(&unknown));
        // An administrative action, whose entry in the audit log waits for the database too.
        let act = scope.spawn(|| served.operator("POST", "/v1/tenants", r#"{"slug":"initech"}"#));
        let page = scope.spawn(|| browser.get("/ui/deliveries").status);
        for answer in [known, unknown, act] {
            let answer = answer.join().unwrap();
            assert_eq!(answer.status, 503, "{}", answer.body);
            assert!(answer.body.contains("\"unavailable\""), "{}", answer.body);
        }
        assert_eq!(page.join().unwrap(), 503);
    });
    server.unfreeze().unwrap();
    until("it goes on", || publish(&known).status == 202);
    served.stop();
}

/// A separate server, which is killed and restarted. Nothing was sent to the URL before.
#[test]
fn a_database_that_is_gone_fires_until_it_is_back() {
    let server = gancho_testkit::postgres::Postgres::start(&[]).unwrap();
    let database_url = server.url("postgres");
    let (folder, slack, hook) =
        (tempfile::tempdir().unwrap(), Recorder::start(), Recorder::start());
    let (slack_url, hook_url) = (slack.url(), hook.url());
    let variables = [
        ("GANCHO_ALERT_INTERVAL", "200ms"),
        ("GANCHO_ALERT_AFTER", "0s"),
        ("GANCHO_DATABASE_URL", database_url.as_str()),
        ("GANCHO_NOTIFY_SLACK_URL", slack_url.as_str()),
        ("GANCHO_NOTIFY_URL", hook_url.as_str()),
        ("GANCHO_NOTIFY_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="),
    ];
    // The first start creates an endpoint for the URL.
    Gateway::start(folder.path(), &variables).stop();
    let served = Gateway::start(folder.path(), &variables);
    let key = served.tenant("acme");
    until("it evaluates", || served.alerts().is_empty());
    server.stop_at_once().unwrap();
    until("it is sent without the database", || {
        slack.texts().contains("The database does not respond")
    });
    // A server that is starting may respond, fail and respond again, so the number of changes is undefined.
    let told = |wanted: &str| {
        let all = hook.alerts();
        let of_store = all.iter().filter(|(rule, ..)| rule == "store_unavailable");
        of_store.filter(|(.., change)| change == wanted).count()
    };
    until("the URL gets it without the database", || told("fired") > 0);
    // Refused before the store is asked to write, because its tenant is unknown, but counted nevertheless.
    let refused = || {
        let metrics = http::call(served.address, "GET", "/metrics", &[], "").body;
        let line = "gancho_refused_writes_total{reason=\"unavailable\"} ";
        let count = metrics.lines().find_map(|one| one.strip_prefix(line));
        count.and_then(|count| count.parse::<u64>().ok())
    };
    let before = refused().unwrap();
    let bearer = format!("Bearer {}", crate::gateway::TOKEN);
    let headers = [("authorization", bearer.as_str()), ("x-tenant", "nobody-knows-yet")];
    let event = r#"{"type":"a.b","data":{}}"#;
    for _ in 0..3 {
        let answer = http::call(served.address, "POST", "/v1/events", &headers, event);
        assert_eq!(answer.status, 503, "{}", answer.body);
    }
    until("they are counted", || refused() == Some(before + 3));
    served.first_logged("write refused");
    server.start_again().unwrap();
    until("it is resolved", || slack.texts().contains("[resolved] The database does not respond"));
    until("the URL is notified", || told("resolved") > 0);
    until("it goes on", || {
        let headers = [("x-api-key", key.as_str())];
        let event = r#"{"type":"a.b","data":{}}"#;
        http::call(served.address, "POST", "/v1/events", &headers, event).status == 202
    });
    until("it stays resolved", || !served.is_firing("store_unavailable"));
    until("the history has each that fired and its end", || {
        let history = served.operator("GET", "/v1/alerts/history", "").json();
        let rows = history["data"].as_array().unwrap().clone();
        let of_store = rows.iter().filter(|row| row["rule"] == "store_unavailable").rev();
        let stored: Vec<_> = of_store.map(|row| row["change"].as_str().unwrap()).collect();
        !stored.is_empty() && stored.chunks(2).all(|pair| pair == ["fired", "resolved"])
    });

    // A node that stops during an outage leaves no alert behind that no other node resolves.
    let fired = told("fired");
    server.stop_at_once().unwrap();
    until("it fires again", || told("fired") > fired);
    let resolved = told("resolved");
    served.signal("TERM");
    until("the last one is notified too", || told("resolved") > resolved);
    until("and on the other channel", || slack.texts().contains("has stopped; it began at"));
    served.ended(std::time::Duration::from_secs(60));
}
