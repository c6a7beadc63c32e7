//! A session of the dashboard is valid on every node.

use gancho_testkit::{postgres::fresh_database, until};

use crate::{browser::Browser, gateway::Gateway};

#[test]
fn pages_forms_and_messages_come_from_any_node() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = database.url();
    let node = || Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", url.as_str())]);
    let (one, other) = (node(), node());
    let here = Browser::logged_in(&one);
    let there = here.at(&other);
    there.open("/ui/queues");

    // A form of one node is sent to the other, and the first shows the message.
    let answer = there.submit("/ui/tenants/new", &[("slug", "acme"), ("name", "Acme")]);
    assert_eq!(answer.status, 303, "{}", answer.html);
    here.follow(&answer).has("Acme is created");
    here.open("/ui/tenants").lacks("Acme is created");

    one.stop();
    let again = node();
    let back = here.at(&again);
    back.open("/ui/queues");
    back.submit("/ui/logout", &[]);
    assert_eq!(back.get("/ui/queues").status, 303);
    until("the other node knows", || there.get("/ui/queues").status == 303);
    again.stop();
    other.stop();
}
