//! Four nodes on one PostgreSQL under load: killed, frozen, cut off, added and rolled. Nothing is lost.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use gancho_testkit::{
    postgres::{Client, Database, fresh_database},
    until,
};
use tokio::runtime::Runtime;

use super::load::Load;
use crate::{gateway::Gateway, receiver};

/// The work of a dead node is taken over within 30 seconds; a machine that runs other tests beside this one may be late.
const TAKEN_OVER: Duration = Duration::from_secs(60);

/// Stands between a node and the server, and can be cut: connections stay open, and nothing comes through.
struct Proxy {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Proxy {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = is_cut.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let (client_too, server_too) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (there, back) = (cut.clone(), cut.clone());
                thread::spawn(move || forward(client, server, &there));
                thread::spawn(move || forward(server_too, client_too, &back));
            }
        });
        Self { port, is_cut }
    }

    fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        while is_cut.load(Ordering::SeqCst) {
            // Sleeps as long as the network is down.
            thread::sleep(Duration::from_millis(20));
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

struct Fleet<'a> {
    runtime: &'a Runtime,
    client: Client,
    folder: &'a Path,
    url: String,
}

impl Fleet<'_> {
    fn node(&self, roles: &str) -> Gateway {
        Gateway::start(self.folder, &[("GANCHO_DATABASE_URL", &self.url), ("GANCHO_ROLES", roles)])
    }

    fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(self.client.query_one(sql, &[])).unwrap().get(0)
    }

    /// The number of the node of this process: its last, if it has joined several times.
    fn node_of(&self, gateway: &Gateway) -> i64 {
        self.number(&format!("select max(id) from nodes where name = 'gancho-{}'", gateway.id()))
    }

    fn held_by(&self, node: i64) -> i64 {
        self.number(&format!("select count(*) from deliveries where state = 3 and owner = {node}"))
    }

    fn holds_work(&self, node: i64) {
        until("the node holds deliveries", || self.held_by(node) > 0);
    }

    fn is_taken_over(&self, node: i64, why: &str) {
        let started = Instant::now();
        until(why, || {
            self.number(&format!("select count(*) from nodes where id = {node} and not is_dead"))
                == 0
        });
        until("its work is taken over", || self.held_by(node) == 0);
        let took = started.elapsed();
        assert!(took < TAKEN_OVER, "{why}: {took:?}");
        println!("{why}: taken over after {took:.1?}");
    }

    fn rejoins(&self, gateway: &Gateway, old: i64) {
        until("it has another number", || self.node_of(gateway) > old);
        let new = self.node_of(gateway);
        self.holds_work(new);
    }
}

/// The URL of the same database through the proxy.
fn through(proxy: &Proxy, database: &Database) -> String {
    let url = database.url();
    let (head, tail) = url.rsplit_once('/').unwrap();
    let (head, _) = head.rsplit_once(':').unwrap();
    format!("{head}:{}/{tail}", proxy.port)
}

fn server_of(database: &Database) -> SocketAddr {
    let url = database.url();
    let server = url.split('@').nth(1).unwrap().split('/').next().unwrap();
    server.parse().expect("a server on the loopback interface")
}

#[test]
fn nothing_is_lost_when_nodes_are_killed_frozen_cut_off_added_and_rolled() {
    let runtime = Runtime::new().unwrap();
    let database = runtime.block_on(fresh_database()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let client = runtime.block_on(database.client()).unwrap();
    let fleet = Fleet { runtime: &runtime, client, folder: folder.path(), url: database.url() };
    let proxy = Proxy::start(server_of(&database));
    let mut apis = vec![fleet.node("api,ingest"), fleet.node("api,ingest")];
    let killed = fleet.node("worker");
    let frozen = fleet.node("worker");
    let (address, seen) = receiver::start_slow(Duration::from_millis(200));
    let key = apis[0].tenant("acme");
    apis[0].endpoint(&key, &format!("http://{address}/hook"));
    let load = Load::start(&key, apis.iter().map(|node| node.address).collect());

    let number = fleet.node_of(&killed);
    fleet.holds_work(number);
    killed.signal("KILL");
    fleet.is_taken_over(number, "a killed node is declared dead");
    load.goes_on();

    // One more, behind a network that can fail.
    let cut = {
        let cut_off = Fleet {
            url: through(&proxy, &database),
            client: runtime.block_on(database.client()).unwrap(),
            ..fleet
        };
        let node = cut_off.node("worker");
        let number = fleet.node_of(&node);
        fleet.holds_work(number);
        node
    };

    let number = fleet.node_of(&frozen);
    frozen.signal("STOP");
    fleet.is_taken_over(number, "a frozen node is declared dead");
    frozen.signal("CONT");
    fleet.rejoins(&frozen, number);
    assert_eq!(fleet.held_by(number), 0, "it holds nothing under its old number");
    load.goes_on();

    let number = fleet.node_of(&cut);
    proxy.cut(true);
    fleet.is_taken_over(number, "a node that was cut off is declared dead");
    load.goes_on();
    proxy.cut(false);
    fleet.rejoins(&cut, number);

    // Rolled one by one.
    for (place, api) in apis.iter_mut().enumerate() {
        let new = fleet.node("api,ingest");
        load.turn_to(place, new.address);
        std::mem::replace(api, new).stop();
        load.goes_on();
    }
    let workers: Vec<Gateway> = [frozen, cut]
        .into_iter()
        .map(|old| {
            let new = fleet.node("worker");
            old.stop();
            load.goes_on();
            new
        })
        .collect();

    let acked = load.stop();
    until("all were delivered", || acked.iter().all(|id| seen.body(id).is_some()));
    until("all are settled", || {
        fleet.number("select count(*) from deliveries where state in (2, 3, 4)") == 0
    });
    // One result for each delivery: what a node says that has lost its lease is not written.
    let settled = fleet.number(
        "select count(*) from (select delivery_id from attempts where response_status = 200
         group by tenant_id, delivery_id having count(*) > 1) twice",
    );
    assert_eq!(settled, 0);
    assert_eq!(
        fleet.number("select count(*) from deliveries where state <> 5"),
        0,
        "every delivery ends as delivered"
    );
    let repeats: usize = seen.counts().values().map(|count| count - 1).sum();
    println!("{} acknowledged, all delivered; {repeats} came twice", acked.len());
    drop((apis, workers));
}
