//! `gancho deliveries tail`, at a gateway that delivers.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use gancho_testkit::until;

use crate::{operator::Operator, scripted_receiver::Receiver};

/// A command that runs until it is killed.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mut command: Command) -> (Running, impl Iterator<Item = String>) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    (Running(child), lines)
}

#[test]
fn a_line_for_each_change() {
    let at = Operator::start();
    let receiver = Receiver::start();
    let keys = ["acme", "other"].map(|slug| at.served.tenant(slug));
    for key in &keys {
        at.served.endpoint(key, &receiver.url());
    }
    let (_json, mut values) = start(at.command(&["deliveries", "tail", "--json"]));
    let arguments = ["deliveries", "tail", "--tenant", "acme", "--status", "delivered"];
    let (_lines, mut lines) = start(at.command(&arguments));
    // Whether they have connected is not visible from outside.
    let first = std::thread::scope(|scope| {
        let reading = scope.spawn(|| (values.next().unwrap(), lines.next().unwrap()));
        until("both have shown something", || {
            at.served.publish(&keys[1], "other.thing", "{}");
            at.served.publish(&keys[0], "invoice.paid", "{}");
            reading.is_finished()
        });
        reading.join().unwrap()
    });
    let value: serde_json::Value = serde_json::from_str(&first.0).unwrap();
    assert!(["acme", "other"].contains(&value["tenant"].as_str().unwrap()), "{value}");
    assert!(value["change"].is_string() && value["id"].is_string(), "{value}");
    let line = &first.1;
    assert!(line.contains("delivered") && line.contains("invoice.paid"), "{line}");
    assert!(line.contains("#1  200") && !line.contains('\u{1b}'), "{line}");

    let refused = at.run(&["deliveries", "tail", "--status", "new"]);
    assert_eq!(refused.code, 4);
    assert!(refused.err.contains("must be one of"), "{}", refused.err);
    assert_eq!(at.run(&["deliveries", "tail", "--tenant", "nobody"]).code, 4);
    assert_eq!(at.run(&["deliveries", "tail", "--color"]).code, 2);
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let at = Operator::start();
    let receiver = Receiver::start();
    let key = at.served.tenant("acme");
    at.served.endpoint(&key, &receiver.url());
    let mut command = at.command(&["deliveries", "tail"]);
    let mut child = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    drop(child.0.stdout.take());
    let mut ended = None;
    until("it has ended", || {
        at.served.publish(&key, "a.b", "{}");
        ended = child.0.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success());
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.0.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(said, "");
}
