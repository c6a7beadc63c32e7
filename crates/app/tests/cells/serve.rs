//! A gateway of two databases on two servers: a cell is added while it is running, goes down, and comes back.

use std::time::{Duration, Instant};

use gancho_testkit::{
    postgres::{Database, Postgres, fresh_database, fresh_database_on},
    until,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    gateway::Gateway,
    http::{self, Answer},
    operator::Operator,
    receiver,
};

pub fn publish(gateway: &Gateway, key: &str) -> Answer {
    let body = r#"{"type":"a.b","data":{}}"#;
    http::call(gateway.address, "POST", "/v1/events", &[("x-api-key", key)], body)
}

/// Returns the event's id, if it was accepted.
pub fn accepted(answer: &Answer) -> Option<String> {
    (answer.status == 202).then(|| answer.json()["id"].as_str().unwrap().to_owned())
}

fn cell<'a>(cells: &'a Value, name: &str) -> &'a Value {
    let rows = cells["data"].as_array().or(cells.as_array()).unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {cells}"))
}

/// Returns the number of the first tenant in a cell, whose slug is `later-…`.
pub async fn first_tenant(cell: &Database) -> usize {
    let client = cell.client().await.unwrap();
    let row = client.query_one("select slug from tenants limit 1", &[]).await.unwrap();
    row.get::<_, &str>(0).strip_prefix("later-").unwrap().parse().unwrap()
}

#[test]
fn a_cell_that_is_down_stops_its_own_tenants_only() {
    let runtime = Runtime::new().unwrap();
    let home = runtime.block_on(fresh_database()).unwrap();
    let server = Postgres::start(&[]).unwrap();
    let away = runtime.block_on(fresh_database_on(&server.url("postgres"))).unwrap();
    let url = home.url();
    let variables = [("GANCHO_DATABASE_URL", url.as_str())];
    let operator = Operator::with(&variables);
    let one = &operator.served;
    let two = Gateway::start(operator.folder.path(), &variables);

    let keys: Vec<String> = {
        let early = one.tenant("early");
        let added = operator.run_with(&["cells", "add", "b", "--url-file", "-"], &[], &away.url());
        assert!(added.ok().out.contains("Added the cell b"));
        let later = (0..3).map(|number| one.tenant(&format!("later-{number}")));
        std::iter::once(early).chain(later).collect()
    };
    let cells = operator.json(&["cells", "list"]);
    assert_eq!(cell(&cells, "b")["is_available"], true);
    assert!(cell(&cells, "b")["tenants"].as_u64().unwrap() >= 1, "{cells}");
    assert!(!cells.to_string().contains("postgres://"), "URLs are secret");
    until("every node says what it holds in each cell", || {
        let nodes = operator.json(&["nodes"]);
        let nodes = nodes["data"].as_array().or(nodes.as_array()).unwrap().clone();
        let cells = |node: &Value| {
            let cells = node["cells"].as_array().unwrap().iter();
            cells.map(|cell| cell["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        nodes.len() == 2 && nodes.iter().all(|node| cells(node) == ["home", "b"])
    });
    let migrated = operator.json(&["migrate", "--check"]);
    assert_eq!(
        (&migrated["cells"][0]["name"], &migrated["cells"][0]["is_up_to_date"]),
        (&json!("b"), &json!(true))
    );
    let stored = runtime.block_on(async {
        let client = home.client().await.unwrap();
        let row = client.query_one("select url from cells", &[]).await.unwrap();
        String::from_utf8_lossy(row.get::<_, &[u8]>(0)).into_owned()
    });
    assert!(!stored.contains("postgres"), "encrypted at rest");
    let far = runtime.block_on(first_tenant(&away)) + 1;
    let (near, far) = (&keys[0], &keys[far]);

    let (address, seen) = receiver::start();
    for key in [near, far] {
        one.endpoint(key, &format!("http://{address}/hook"));
    }
    let mut acked = Vec::new();
    // The other node has found the cell by itself.
    until("the other node serves the cell", || {
        let id = accepted(&publish(&two, far));
        acked.extend(id.clone());
        id.is_some()
    });
    for key in [near, far] {
        acked.extend(accepted(&publish(one, key)));
    }
    assert_eq!(acked.len(), 3);
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));

    server.stop_at_once().unwrap();
    let refused = publish(one, far);
    assert_eq!(refused.status, 503, "{}", refused.body);
    for gateway in [one, &two] {
        for _ in 0..20 {
            let begin = Instant::now();
            let answer = publish(gateway, near);
            assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
            acked.push(accepted(&answer).unwrap_or_else(|| panic!("{}", answer.body)));
        }
        assert_eq!(publish(gateway, far).status, 503);
    }
    until("those of the others arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
    until("the cell is seen to be down", || {
        cell(&operator.json(&["cells", "list"]), "b")["is_available"] == false
    });
    let migrated = operator.run(&["migrate"]);
    assert_eq!(migrated.code, 1, "{}", migrated.out);
    assert!(migrated.out.contains("The database is up to date"), "{}", migrated.out);
    assert!(migrated.err.contains("cell b: "), "{}", migrated.err);
    until("the metrics say so", || {
        let metrics = one.operator("GET", "/metrics", "").body;
        metrics.contains(r#"gancho_cell_up{cell="b"} 0"#)
            && metrics.contains(r#"gancho_cell_up{cell="home"} 1"#)
    });
    assert_eq!(one.operator("GET", "/v1/deliveries", "").status, 200);
    assert_eq!(http::call(one.address, "GET", "/readyz", &[], "").status, 200);

    server.start_again().unwrap();
    until("the cell is back", || {
        let id = accepted(&publish(&two, far));
        acked.extend(id.clone());
        id.is_some()
    });
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));

    // After a restart the directory still has the cell.
    two.stop();
    let two = Gateway::start(operator.folder.path(), &variables);
    acked.push(accepted(&publish(&two, far)).unwrap());
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
    let drained = operator.run(&["cells", "drain", "b"]).ok();
    assert!(drained.out.contains("no new tenants"), "{}", drained.out);
    // Keys are rotated in every cell, including what is encrypted about the cells.
    operator.run(&["keys", "rotate"]).ok();
    let keys = operator.json(&["keys", "list"]);
    assert_eq!(keys["keys"][0]["records"], 0, "{keys}");
}

#[test]
fn a_cell_is_emptied_and_removed() {
    let runtime = Runtime::new().unwrap();
    let [home, b, c] = [(); 3].map(|()| runtime.block_on(fresh_database()).unwrap());
    let url = home.url();
    let variables = [("GANCHO_DATABASE_URL", url.as_str())];
    let operator = Operator::with(&variables);
    let one = &operator.served;
    let two = Gateway::start(operator.folder.path(), &variables);
    for (name, database) in [("b", &b), ("c", &c)] {
        operator.run_with(&["cells", "add", name, "--url-file", "-"], &[], &database.url()).ok();
    }
    let (address, seen) = receiver::start();
    let with_endpoint = |number| {
        let key = one.tenant(&format!("tenant-{number}"));
        one.endpoint(&key, &format!("http://{address}/hook"));
        key
    };
    let keys: Vec<String> = (0..8).map(with_endpoint).collect();
    let count = |name| {
        let cells = operator.json(&["cells", "list"]);
        cell(&cells, name)["tenants"].as_u64().unwrap()
    };
    let in_b = count("b");
    assert!(in_b >= 2, "{in_b}");
    let listed = operator.json(&["cells", "tenants", "b"]);
    assert_eq!(listed["data"].as_array().unwrap().len() as u64, in_b, "{listed}");
    let publish_all = || -> Vec<String> {
        let published = keys.iter().map(|key| publish(&two, key));
        let id = |answer: Answer| accepted(&answer).unwrap_or_else(|| panic!("{}", answer.body));
        published.map(id).collect()
    };
    until("the other node knows all tenants", || {
        keys.iter().all(|key| {
            http::call(two.address, "GET", "/v1/events", &[("x-api-key", key)], "").status == 200
        })
    });
    let mut acked = publish_all();

    let refused = operator.run(&["cells", "remove", "b"]);
    assert_ne!(refused.code, 0);
    assert!(refused.err.contains("gancho cells drain b --move"), "{}", refused.err);
    let wrong = operator.run(&["cells", "drain", "b", "--move", "--to", "x"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("there is no cell x: there are home, b, c"), "{}", wrong.err);
    let refused = operator.run(&["cells", "remove", "b"]);
    assert!(refused.err.contains("tenants live in the cell b"), "{}", refused.err);
    let moved = operator.run(&["cells", "drain", "b", "--move"]).ok();
    assert!(moved.out.contains(&format!("Moved {in_b} tenants from b.")), "{}", moved.out);
    assert_eq!(count("b"), 0);
    assert!(count("home") > 0 && count("c") > 0, "not all went to the same");
    let empty = operator.run(&["cells", "tenants", "b"]).ok();
    assert!(empty.out.contains("No tenants live in the cell b."), "{}", empty.out);
    let removed = operator.run(&["cells", "remove", "b"]).ok();
    assert!(removed.out.contains("Removed the cell b."), "{}", removed.out);
    let gone = operator.run(&["cells", "remove", "b"]);
    assert!(gone.err.contains("hint: `gancho cells list`"), "{}", gone.err);

    until("every node has closed it", || {
        let nodes = operator.json(&["nodes"]);
        let nodes = nodes["data"].as_array().or(nodes.as_array()).unwrap().clone();
        nodes.iter().all(|node| !node["cells"].to_string().contains(r#""b""#))
    });
    runtime.block_on(async {
        let client = b.client().await.unwrap();
        client.execute("drop schema public cascade", &[]).await.unwrap();
    });
    acked.extend(publish_all());
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
    assert!(seen.counts().values().all(|count| *count == 1), "each arrives once");
    assert_eq!(http::call(two.address, "GET", "/readyz", &[], "").status, 200);
}
