//! What two nodes count is one figure at either.

use gancho_testkit::{postgres::fresh_database, until};

use crate::{gateway::Gateway, receiver};

#[test]
fn statistics_are_those_of_all_nodes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = database.url();
    let node = || Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", url.as_str())]);
    let nodes = [node(), node()];
    let (address, seen) = receiver::start();
    let key = nodes[0].tenant("acme");
    nodes[0].endpoint(&key, &format!("http://{address}/hook"));
    for (node, count) in nodes.iter().zip([3, 4]) {
        for _ in 0..count {
            node.publish(&key, "a.b", "{}");
        }
    }
    until("all are delivered", || seen.counts().len() == 7);
    for node in &nodes {
        until("both are counted", || {
            let all = node.operator("GET", "/v1/stats", "").json()["totals"].clone();
            let own = node.acting("acme", "GET", "/v1/stats", "").json()["totals"].clone();
            [all, own].iter().all(|totals| totals["accepted"] == 7 && totals["delivered"] == 7)
        });
    }
    // The counts of a node outlive it.
    let [first, second] = nodes;
    first.stop();
    let totals = second.operator("GET", "/v1/stats", "").json()["totals"].clone();
    assert!(totals["accepted"] == 7 && totals["delivered"] == 7, "{totals}");
    second.stop();
}
