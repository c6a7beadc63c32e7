//! `gancho tenants move`, while two nodes publish and deliver: what is acknowledged arrives once, and
//! publishing is refused only for a moment. If a node is killed halfway, the other continues the move.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::{postgres::fresh_database, until};
use tokio::runtime::Runtime;

use crate::{
    gateway::Gateway,
    http::{self, Answer},
    operator::Operator,
    receiver,
};

fn publish(gateway: &Gateway, key: &str) -> Answer {
    let body = r#"{"type":"a.b","data":{}}"#;
    http::call(gateway.address, "POST", "/v1/events", &[("x-api-key", key)], body)
}

/// The observations of one publisher.
#[derive(Default)]
struct Published {
    acked: Vec<String>,
    refused: usize,
    /// The longest time without an acknowledgment, from the first refusal on.
    refused_for: Duration,
}

fn publish_until(gateway: &Gateway, key: &str, is_over: &AtomicBool) -> Published {
    let (mut seen, mut since) = (Published::default(), None);
    while !is_over.load(Ordering::Relaxed) {
        let answer = publish(gateway, key);
        if answer.status == 202 {
            seen.acked.push(answer.json()["id"].as_str().unwrap().to_owned());
            let refused_for = since.take().map_or(Duration::ZERO, |since: Instant| since.elapsed());
            seen.refused_for = seen.refused_for.max(refused_for);
            // Sleeps so that no more is published than a busy machine delivers.
            thread::sleep(Duration::from_millis(20));
        } else {
            assert_eq!(answer.status, 503, "{}", answer.body);
            assert_eq!(answer.json()["code"], "tenant_moving", "{}", answer.body);
            seen.refused += 1;
            since.get_or_insert_with(Instant::now);
        }
    }
    seen
}

#[test]
fn a_tenant_moves_while_it_is_published_to() {
    let runtime = Runtime::new().unwrap();
    let home = runtime.block_on(fresh_database()).unwrap();
    let away = runtime.block_on(fresh_database()).unwrap();
    let url = home.url();
    let variables = [("GANCHO_DATABASE_URL", url.as_str())];
    let operator = Operator::with(&variables);
    let one = &operator.served;
    let two = Gateway::start(operator.folder.path(), &variables);
    let key = one.tenant("acme");
    operator.run_with(&["cells", "add", "b", "--url-file", "-"], &[], &away.url()).ok();
    let (address, seen) = receiver::start();
    one.endpoint(&key, &format!("http://{address}/hook"));

    let wrong = operator.run(&["tenants", "move", "acme", "--to", "c"]);
    assert!(wrong.err.contains("there is no cell c: there are home, b"), "{}", wrong.err);
    let wrong = operator.run(&["tenants", "move", "acme", "--back"]);
    assert!(wrong.err.contains("the tenant is not being moved"), "{}", wrong.err);

    let mut acked = Vec::new();
    let mut move_to = |cell: &str, from: &str| {
        let is_over = AtomicBool::new(false);
        let published = thread::scope(|scope| {
            let publishers =
                [one, &two].map(|node| scope.spawn(|| publish_until(node, &key, &is_over)));
            let moved = operator.run(&["tenants", "move", "acme", "--to", cell]);
            is_over.store(true, Ordering::Relaxed);
            let moved = moved.ok();
            assert!(
                moved.out.contains(&format!("Moved acme from {from} to {cell}.")),
                "{}",
                moved.out
            );
            println!("{}", moved.out);
            publishers.map(|publisher| publisher.join().unwrap())
        });
        for seen in published {
            println!(
                "{} acknowledged, {} refused, for {:?}",
                seen.acked.len(),
                seen.refused,
                seen.refused_for
            );
            assert!(seen.refused_for < Duration::from_millis(1500), "{:?}", seen.refused_for);
            acked.extend(seen.acked);
        }
    };
    move_to("b", "home");
    move_to("home", "b");
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
    let counts = seen.counts();
    assert!(counts.values().all(|count| *count == 1), "each arrives once");
    assert_eq!(counts.len(), acked.len(), "and nothing else");

    // Taken back before it has arrived.
    operator.run(&["tenants", "move", "acme", "--to", "b", "--no-wait"]).ok();
    let back = operator.run(&["tenants", "move", "acme", "--back"]).ok();
    assert!(back.out.contains("acme stays in home"), "{}", back.out);
    let status = operator.json(&["tenants", "move", "acme", "--status"]);
    assert_eq!(status["state"], "taken_back", "{status}");

    // The node that has begun it is killed.
    let begun = two.operator("POST", "/v1/tenants/acme/move", r#"{"cell":"b"}"#);
    assert_eq!(begun.status, 202, "{}", begun.body);
    two.signal("KILL");
    acked.push(publish(one, &key).json()["id"].as_str().unwrap().to_owned());
    let moved = operator.run(&["tenants", "move", "acme", "--to", "b"]).ok();
    assert!(moved.out.contains("Moved acme from home to b."), "{}", moved.out);
    acked.push(publish(one, &key).json()["id"].as_str().unwrap().to_owned());
    until("all of them arrive", || acked.iter().all(|id| seen.counts().contains_key(id)));
    let cells = operator.json(&["cells", "list"]);
    assert_eq!(
        cells[1]["tenants"].as_u64().or(cells["data"][1]["tenants"].as_u64()),
        Some(1),
        "{cells}"
    );
}
