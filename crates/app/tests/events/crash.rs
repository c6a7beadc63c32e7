//! Killed with kill -9 under load, again and again: whatever was acknowledged arrives.

use std::{thread, time::Duration};

use gancho_testkit::until;

use crate::{
    pipe_process::{self, Acked, PipeProcess},
    receiver,
};

fn cycles(default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "how long the test runs is said from outside")]
    let asked = std::env::var("GANCHO_KILLS");
    asked.ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn survives(database: Option<&str>, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (address, seen) = receiver::start();
    let url = pipe_process::url(address);
    let acked = Acked::default();
    for cycle in 0..kills {
        let command = pipe_process::command(&[], folder.path(), &url, database);
        let gancho = PipeProcess::start(command, &format!("cycle-{cycle}"), 1_000_000, &acked);
        // Some before the first commit, most under full load, however slow the machine is.
        if cycle % 4 != 0 {
            let before = acked.lock().unwrap().len();
            until("it acknowledges", || acked.lock().unwrap().len() > before);
        }
        // Sleeps to be killed at another moment each time.
        thread::sleep(Duration::from_millis(30 + cycle * 37 % 400));
        gancho.kill();
    }
    pipe_process::drain(folder.path(), &url, database);

    let acked = acked.lock().unwrap();
    let counts = seen.counts();
    assert!(acked.len() as u64 > kills * 20, "too few to mean anything: {}", acked.len());
    for (id, line) in acked.iter() {
        let body = seen.body(id).unwrap_or_else(|| panic!("{id} ({line}) was lost"));
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains(line.as_str()), "{id}: {body} is not {line}");
    }
    let repeats: usize = counts.values().map(|count| count - 1).sum();
    // Only deliveries in flight at a kill can arrive twice: at most 512 at a time.
    assert!(repeats as u64 <= kills * 512, "{repeats} came twice");
    println!("{kills} kills: {} acknowledged, all arrived; {repeats} came twice", acked.len());
}

#[test]
fn nothing_acknowledged_is_lost_to_kill_9_on_sqlite() {
    survives(None, cycles(20));
}

#[test]
fn nothing_acknowledged_is_lost_to_kill_9_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    survives(Some(&database.url()), cycles(6).min(20));
}
