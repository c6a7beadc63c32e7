//! Settings that must be the same on all nodes of one database.

use gancho_testkit::{postgres::fresh_database, until};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::gateway::{Gateway, command};

const MESSAGE: &str = "settings differ from those of another node";

#[test]
fn a_node_that_sets_something_else_is_named() {
    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = ("GANCHO_DATABASE_URL", database.url());
    let start = |more: &[(&str, &str)]| {
        Gateway::start(folder.path(), &[&[(url.0, url.1.as_ref())], more].concat())
    };
    let first = start(&[]);
    let nodes = || first.operator("GET", "/v1/nodes", "").json()["data"].clone();
    let alike = start(&[]);
    until("both are listed", || nodes().as_array().is_some_and(|nodes| nodes.len() == 2));
    assert!(alike.logged(MESSAGE).is_empty(), "{}", alike.log.lock().unwrap());

    let different = start(&[
        ("GANCHO_RETENTION", "2d"),
        ("GANCHO_ADMIN_TOKEN", "another-token-0123456789-abc"),
    ]);
    until("it warns of each of the others", || different.logged(MESSAGE).len() == 2);
    let warned = different.logged(MESSAGE);
    assert_eq!(warned[0]["settings"], "retention,admin_token", "{warned:?}");
    until("every node shows it", || {
        let nodes = nodes();
        let of_newest = &nodes[0]["differing_settings"];
        *of_newest == json!(["retention", "admin_token"])
            && nodes[1]["differing_settings"] == json!([])
    });
    // No value can be read from what is stored.
    let client = runtime.block_on(database.client()).unwrap();
    let rows = runtime.block_on(client.query("select shared_settings from nodes", &[])).unwrap();
    for row in rows {
        let stored: String = row.get(0);
        assert!(stored.contains(";admin_token="), "{stored}");
        assert!(!stored.contains("another-token") && !stored.contains("=2d;"), "{stored}");
    }
    for node in [first, alike, different] {
        node.stop();
    }
}

/// Otherwise the other nodes would take it for lost, and report that.
#[test]
fn a_node_whose_start_is_refused_leaves() {
    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let first = Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &database.url())]);
    let mut refused = command(&["serve"], folder.path());
    refused.env("GANCHO_DATABASE_URL", database.url());
    refused.env("WEBHOOK_URL_ACME", "http://127.0.0.1:18080/");
    // The endpoint that the settings declare cannot be created.
    let refuse = "create function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'no endpoints today'; end $$;
        create trigger refuse before insert on endpoints execute function refuse()";
    runtime.block_on(async {
        database.client().await.unwrap().batch_execute(refuse).await.unwrap();
    });
    let refused = refused.output().unwrap();
    let log = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && log.contains("no endpoints today"), "{log}");
    assert!(log.contains("engine started"), "it had joined: {log}");
    let nodes = first.operator("GET", "/v1/nodes", "").json()["data"].clone();
    assert_eq!(nodes.as_array().unwrap().len(), 1, "{nodes}");
    first.stop();
}
