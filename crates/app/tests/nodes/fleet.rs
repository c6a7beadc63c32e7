//! Four nodes on one PostgreSQL under load: killed, frozen, cut off, added and rolled. Nothing is lost.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use gancho_testkit::{
    postgres::{Client, Database, connect_to, fresh_database},
    until,
};
use tokio::runtime::Runtime;

use super::load::{Load, PartnerLoad};
use crate::{
    gateway::{Gateway, command},
    partner::SECRET,
    receiver,
};

/// The maximum seconds from a node's last heartbeat until it is declared dead and its work is taken over.
const TAKEN_OVER: f64 = 30.0;

/// How long a living node may be idle while others have a backlog.
const MAX_IDLE: Duration = Duration::from_secs(5);

/// A proxy between a node and the server that can be cut: connections stay open, but transfer nothing.
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
    may_repeat: i64,
}

/// Detects living workers that hold nothing while much is due.
struct IdleWatch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<i64>>,
}

impl IdleWatch {
    fn start(url: String) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = is_over.clone();
        let thread = thread::spawn(move || {
            let runtime = Runtime::new().unwrap();
            let client = runtime.block_on(connect_to(&url)).unwrap();
            let sql = "select id from nodes n where not is_dead and roles like '%worker%'
                and beat_at > clock_timestamp() - interval '4 s'
                and not exists (select from deliveries where state = 3 and owner = n.id)
                and (select count(*) from (select from deliveries where state = 2
                    and due_at < extract(epoch from clock_timestamp()) * 1000000 limit 101) due) > 100";
            let mut since: BTreeMap<i64, Instant> = BTreeMap::new();
            let mut idle = Vec::new();
            while !end.load(Ordering::SeqCst) {
                let rows = runtime.block_on(client.query(sql, &[])).unwrap();
                let now: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                since.retain(|node, _| now.contains(node));
                for node in now {
                    if since.entry(node).or_insert_with(Instant::now).elapsed() > MAX_IDLE {
                        idle.push(node);
                    }
                }
                // Sleeps between two checks.
                thread::sleep(Duration::from_millis(200));
            }
            idle
        });
        Self { is_over, thread }
    }

    fn stop(self) -> Vec<i64> {
        self.is_over.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

impl Fleet<'_> {
    fn node(&self, roles: &str) -> Gateway {
        self.node_at(&self.url, roles)
    }

    fn node_at(&self, url: &str, roles: &str) -> Gateway {
        Gateway::start(self.folder, &[("GANCHO_DATABASE_URL", url), ("GANCHO_ROLES", roles)])
    }

    fn number(&self, sql: &str) -> i64 {
        self.runtime.block_on(self.client.query_one(sql, &[])).unwrap().get(0)
    }

    /// Returns the number of this process's node: its last, if it has joined several times.
    fn node_of(&self, gateway: &Gateway) -> i64 {
        self.number(&format!("select max(id) from nodes where name = 'gancho-{}'", gateway.id()))
    }

    fn held_by(&self, node: i64) -> i64 {
        self.number(&format!("select count(*) from deliveries where state = 3 and owner = {node}"))
    }

    /// Records what a node holds when it fails, some of which may be sent twice.
    fn note_held(&mut self, node: i64) {
        self.may_repeat += self.held_by(node);
    }

    fn holds_work(&self, node: i64) {
        until("the node holds deliveries", || self.held_by(node) > 0);
    }

    fn is_taken_over(&self, node: i64, why: &str) {
        // By the database's clock. The rows of dead nodes are pruned once a minute.
        let sql = format!(
            "select not exists (select from nodes where id = {node} and not is_dead)
                and not exists (select from deliveries where state = 3 and owner = {node}),
                extract(epoch from clock_timestamp() - (select beat_at from nodes where id = {node}))::float8"
        );
        let mut took = 0.0;
        until(why, || {
            let row = self.runtime.block_on(self.client.query_one(&sql, &[])).unwrap();
            took = row.get::<_, Option<f64>>(1).unwrap_or(took);
            row.get(0)
        });
        assert!(took < TAKEN_OVER, "{why}: {took:.1} s");
        println!("{why}: taken over after {took:.1} s");
    }

    /// Checks that there is one line for each webhook, however often it was posted.
    fn has_in_its_ledger(&self, webhooks: usize) {
        assert_eq!(self.number("select count(*) from ledger"), webhooks as i64);
        let mut verify = command(&["ledger", "verify"], self.folder);
        let verified = verify.env("GANCHO_DATABASE_URL", &self.url).output().unwrap();
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }

    fn rejoins(&self, gateway: &Gateway, old: i64) {
        until("it has another number", || self.node_of(gateway) > old);
        let new = self.node_of(gateway);
        self.holds_work(new);
    }
}

/// Returns the URL of the same database through the proxy.
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
    let url = database.url();
    let mut fleet = Fleet { runtime: &runtime, client, folder: folder.path(), url, may_repeat: 0 };
    let proxy = Proxy::start(server_of(&database));
    let mut apis = vec![fleet.node("api,ingest"), fleet.node("api,ingest")];
    let killed = fleet.node("worker");
    let frozen = fleet.node("worker");
    let (address, seen) = receiver::start_slow(Duration::from_millis(200));
    let (core, handed_on) = receiver::start();
    let key = apis[0].tenant("acme");
    apis[0].endpoint(&key, &format!("http://{address}/hook"));
    apis[0].source("acme", SECRET, &format!("http://{core}/core"));
    let ingest = Arc::new(Mutex::new(apis.iter().map(Gateway::ingest).collect::<Vec<_>>()));
    let load = Load::start(&key, apis.iter().map(|node| node.address).collect());
    let partner = PartnerLoad::start(ingest.clone());
    let watch = IdleWatch::start(fleet.url.clone());
    let goes_on = || {
        load.goes_on();
        partner.goes_on();
    };
    let replace = |apis: &mut Vec<Gateway>, place: usize, new: Gateway| {
        load.turn_to(place, new.address);
        ingest.lock().unwrap()[place] = new.ingest();
        std::mem::replace(&mut apis[place], new)
    };

    let number = fleet.node_of(&killed);
    fleet.holds_work(number);
    killed.signal("KILL");
    fleet.note_held(number);
    fleet.is_taken_over(number, "a killed node is declared dead");
    goes_on();

    // One more, behind a network that can fail.
    let cut = fleet.node_at(&through(&proxy, &database), "worker");
    fleet.holds_work(fleet.node_of(&cut));

    let number = fleet.node_of(&frozen);
    frozen.signal("STOP");
    fleet.note_held(number);
    fleet.is_taken_over(number, "a frozen node is declared dead");
    frozen.signal("CONT");
    fleet.rejoins(&frozen, number);
    assert_eq!(fleet.held_by(number), 0, "it holds nothing under its old number");
    goes_on();

    let number = fleet.node_of(&cut);
    proxy.cut(true);
    fleet.note_held(number);
    fleet.is_taken_over(number, "a node that was cut off is declared dead");
    goes_on();
    proxy.cut(false);
    fleet.rejoins(&cut, number);

    // API nodes: one dies, and another resumes with requests that it received while it was frozen.
    let number = fleet.node_of(&apis[0]);
    apis[0].signal("KILL");
    fleet.is_taken_over(number, "a killed node that accepts is declared dead");
    drop(replace(&mut apis, 0, fleet.node("api,ingest")));
    goes_on();
    let number = fleet.node_of(&apis[1]);
    apis[1].signal("STOP");
    fleet.is_taken_over(number, "a frozen node that accepts is declared dead");
    apis[1].signal("CONT");
    goes_on();
    until("it has another number", || fleet.node_of(&apis[1]) > number);

    // Replaced one by one.
    for place in 0..apis.len() {
        replace(&mut apis, place, fleet.node("api,ingest")).stop();
        goes_on();
    }
    let workers: Vec<Gateway> = [frozen, cut]
        .into_iter()
        .map(|old| {
            let new = fleet.node("worker");
            old.stop();
            goes_on();
            new
        })
        .collect();

    let (acked, posted) = (load.stop(), partner.stop());
    until("all were delivered", || acked.iter().all(|id| seen.body(id).is_some()));
    until("all are settled", || {
        fleet.number("select count(*) from deliveries where state in (2, 3, 4)") == 0
    });
    assert_eq!(watch.stop(), Vec::<i64>::new(), "a worker was idle while much was due");
    // One result for each delivery: what a node without a lease sends is not written.
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
    // Only what a node held when it failed may have arrived twice.
    let repeats: usize = seen.counts().values().map(|count| count - 1).sum();
    println!("{} acknowledged, all delivered; {repeats} came twice", acked.len());
    assert!(repeats as i64 <= fleet.may_repeat, "{repeats} of {}", fleet.may_repeat);

    println!("{posted} webhooks");
    assert_eq!(handed_on.counts().len(), posted);
    fleet.has_in_its_ledger(posted);
    drop((apis, workers));
}
