//! Two nodes on one PostgreSQL: a live tail at one shows what the other does.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use gancho_testkit::{postgres::fresh_database, until};
use serde_json::Value;

use crate::{gateway::Gateway, scripted_receiver::Receiver};

/// The events of a tail, read as they arrive.
struct Tail {
    stream: TcpStream,
    text: String,
}

impl Tail {
    fn open(gateway: &Gateway, key: &str) -> Self {
        let mut stream = TcpStream::connect(gateway.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let head = format!(
            "GET /v1/deliveries/tail HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut tail = Self { stream, text: String::new() };
        until("the tail is open", || tail.read().contains("retry: 2000"));
        tail
    }

    fn read(&mut self) -> &str {
        let mut buffer = [0; 16 << 10];
        if let Ok(count) = self.stream.read(&mut buffer) {
            self.text += &String::from_utf8_lossy(&buffer[..count]);
        }
        &self.text
    }

    /// Returns the changes of an event's delivery, in order.
    fn changes_of(&mut self, event: &str) -> Vec<String> {
        let lines = self.read().lines().filter_map(|line| line.strip_prefix("data: "));
        let data = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let own = data.filter(|data| data["event_id"] == event);
        own.map(|data| data["change"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_tail_at_one_node_shows_what_another_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = database.url();
    let node = |roles| {
        let variables = [("GANCHO_DATABASE_URL", url.as_str()), ("GANCHO_ROLES", roles)];
        Gateway::start(folder.path(), &variables)
    };
    let [front, back] = [node("api"), node("api,worker")];
    let receiver = Receiver::start();
    let [key, others] = ["acme", "other"].map(|slug| {
        let key = front.tenant(slug);
        front.endpoint(&key, &receiver.url());
        key
    });
    let mut tail = Tail::open(&front, &key);
    // The other node has to notice the watcher: earlier changes are not shown.
    until("the other node's deliveries are shown", || {
        let event = back.publish(&key, "invoice.paid", "{}");
        let patience = Instant::now() + Duration::from_secs(1);
        while Instant::now() < patience {
            if tail.changes_of(&event) == ["accepted", "delivered"] {
                return true;
            }
        }
        false
    });
    // From now on nothing is left out, neither what is accepted here and delivered there, nor retries.
    let here = front.publish(&key, "invoice.paid", "{}");
    let theirs = back.publish(&others, "invoice.paid", "{}");
    until("it is delivered there", || tail.changes_of(&here) == ["accepted", "delivered"]);
    receiver.answer_with(503, "");
    let failed = back.publish(&key, "invoice.paid", "{}");
    until("it fails there", || tail.changes_of(&failed) == ["accepted", "attempt_failed"]);
    assert_eq!(tail.changes_of(&theirs), Vec::<String>::new(), "of another tenant");

    // Nobody watches any more: after a while nothing is left in the store, and nothing is written.
    drop(tail);
    let client = runtime.block_on(database.client()).unwrap();
    let watches = || -> i64 {
        let sql = "select count(*) from records where kind = 'tail_watch'";
        runtime.block_on(client.query_one(sql, &[])).unwrap().get(0)
    };
    until("the watch has ended", || watches() == 0);
}
