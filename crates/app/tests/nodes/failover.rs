//! The primary of a PostgreSQL with a synchronous standby is killed under load, and the standby is promoted.

use std::time::{Duration, Instant};

use gancho_testkit::{
    postgres::{Postgres, connect_to, fresh_database_on},
    until,
};
use tokio::runtime::Runtime;

use super::load::Load;
use crate::{gateway::Gateway, http, receiver};

/// No publisher hangs as long as the failover takes.
const REFUSED_WITHIN: Duration = Duration::from_secs(10);
/// Counted from the promotion.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(30);

#[test]
fn nothing_acknowledged_is_lost_in_a_failover() {
    let runtime = Runtime::new().unwrap();
    let primary = Postgres::start(&[]).unwrap();
    let standby = primary.start_standby().unwrap();
    let database = runtime.block_on(fresh_database_on(&primary.url("postgres"))).unwrap();
    let client = runtime.block_on(database.client()).unwrap();
    let number =
        |sql: &str| -> i64 { runtime.block_on(client.query_one(sql, &[])).unwrap().get(0) };
    let wait = "alter system set synchronous_standby_names = '*'";
    runtime.block_on(client.batch_execute(wait)).unwrap();
    runtime.block_on(client.batch_execute("select pg_reload_conf()")).unwrap();
    until("commits wait for the standby", || {
        number("select count(*) from pg_stat_replication where sync_state = 'sync'") == 1
    });

    let folder = tempfile::tempdir().unwrap();
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/{}?sslmode=disable&target_session_attrs=read-write",
        primary.port(),
        standby.port(),
        database.name()
    );
    let node = || Gateway::start(folder.path(), &[("GANCHO_DATABASE_URL", &url)]);
    let nodes = [node(), node()];
    let (address, seen) = receiver::start();
    let key = nodes[0].tenant("acme");
    nodes[0].endpoint(&key, &format!("http://{address}/hook"));
    let load = Load::start(&key, nodes.iter().map(|node| node.address).collect());
    until("the load is under way", || load.count() > 300);

    primary.kill().unwrap();
    let killed = Instant::now();
    // A call that came too late for the last commit is refused at once, although those in it wait for its
    // outcome.
    let headers = [("x-api-key", key.as_str())];
    let publish = || {
        let body = r#"{"type":"a.b","data":{}}"#;
        let answer = http::try_call(nodes[0].address, "POST", "/v1/events", &headers, body);
        answer.map(|answer| answer.status)
    };
    until("events are refused", || publish() == Some(503));
    println!("refused {:.1?} after the kill", killed.elapsed());
    assert!(killed.elapsed() < REFUSED_WITHIN, "{:?}", killed.elapsed());
    let before = load.count();
    standby.promote().unwrap();
    let promoted = Instant::now();
    until("events are accepted again", || load.count() > before + 20);
    println!(
        "accepted again {:.1?} after the kill, {:.1?} after the promotion",
        killed.elapsed(),
        promoted.elapsed()
    );
    assert!(promoted.elapsed() < ACCEPTED_WITHIN, "{:?}", promoted.elapsed());
    load.goes_on();
    let refused = load.refusals();
    let acked = load.stop();

    let client = runtime.block_on(connect_to(&standby.url(database.name()))).unwrap();
    let left = "select count(*) from deliveries where state <> 5";
    until("all are delivered", || {
        runtime.block_on(client.query_one(left, &[])).unwrap().get::<_, i64>(0) == 0
    });
    let lost = acked.iter().filter(|id| seen.body(id).is_none()).count();
    println!("{} acknowledged, {lost} lost; refused: {refused:?}", acked.len());
    assert_eq!(lost, 0);
    assert!(refused.keys().all(|status| *status == 503), "{refused:?}");
    drop(nodes);
}
