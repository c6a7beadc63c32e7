//! A full disk: nothing more is accepted, what was accepted can still be settled, and nothing is lost. Once
//! with the store's own limit, once with a real full disk.

use std::{path::PathBuf, process::Command, sync::Arc};

use bytes::Bytes;
use gancho_domain::Tenant;
use gancho_store::{
    Collection, Precondition, Store, StoreError,
    conformance::{
        Fixture,
        build::{World, delivered},
    },
};
use gancho_store_sqlite::{Options, SqliteStore};
use tempfile::TempDir;

struct Limited {
    store: Arc<SqliteStore>,
    _folder: TempDir,
}

const LIMIT: u64 = 4 << 20;

impl Fixture for Limited {
    const MAX_SCANNED: usize = 100_000;

    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options =
            Options { max_bytes: Some(LIMIT), ..Options::at(folder.path().join("gancho.db")) };
        Self { store: SqliteStore::open(&options).unwrap(), _folder: folder }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn reopen(self) -> Self {
        self
    }
}

/// A disk of 24 MiB, which the store may fill except for the space that is reserved for settling.
struct SmallDisk {
    store: Arc<SqliteStore>,
    disk: Mounted,
}

struct Mounted(PathBuf, Option<TempDir>);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        drop(self.1.take());
    }
}

impl Fixture for SmallDisk {
    const MAX_SCANNED: usize = 100_000;

    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success(), "this test mounts a small disk and must run as root");
        let disk = Mounted(path, Some(folder));
        let store = SqliteStore::open(&Options::at(disk.0.join("gancho.db"))).unwrap();
        Self { store, disk }
    }

    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn reopen(self) -> Self {
        let Self { store, disk } = self;
        drop(store);
        std::fs::File::open(disk.0.join("gancho.lock")).unwrap().lock().unwrap();
        let store = SqliteStore::open(&Options::at(disk.0.join("gancho.db"))).unwrap();
        Self { store, disk }
    }
}

/// Accepts until the store is full. Returns what was acknowledged.
async fn fill<F: Fixture>(world: &World<F>) -> u64 {
    let acme = world.tenant().await;
    let shop = world.target();
    let mut accepted = 0;
    let started = std::time::Instant::now();
    loop {
        let draft = world.event(acme).body(vec![b'x'; 64 << 10]).to(shop).done();
        match world.store.accept(vec![draft], world.node).await {
            Ok(_) => accepted += 1,
            Err(StoreError::Full(why)) => {
                assert!(why.contains("free space") || why.contains("raise the limit"), "{why}");
                return accepted;
            }
            Err(other) => panic!("{other:?}"),
        }
        assert!(started.elapsed().as_secs() < 60, "it never fills up");
    }
}

async fn settle_all<F: Fixture>(world: &World<F>, accepted: u64) {
    let jobs = world.take_all().await;
    assert_eq!(jobs.len() as u64, accepted, "what was acknowledged is there");
    for job in &jobs {
        let settled = world.store.settle(world.node, vec![delivered(job, world.now())]).await;
        assert!(settled.is_ok(), "{settled:?}");
    }
    world.nothing_is_due().await;
}

/// An operator can throttle tenants, shorten their retention and delete them.
async fn room_is_made<F: Fixture>(world: &World<F>) {
    let tenants = world.store.tenants(None, 10).await.unwrap();
    for tenant in tenants {
        assert!(world.store.change_tenant(tenant).await.unwrap());
    }
    let silences = Collection::operators("silences");
    let put = world.store.put_document(silences, "all", Bytes::new(), Precondition::Anything).await;
    assert!(put.unwrap().is_some());
    let another = world.store.create_tenant(Tenant::new(world.id(), "another", world.now())).await;
    assert!(matches!(another, Err(StoreError::Full(_))), "{another:?}");
}

#[tokio::test]
async fn at_its_limit_the_store_accepts_no_more_but_settles() {
    let world = World::<Limited>::new().await;
    let accepted = fill(&world).await;
    assert!((20..200).contains(&accepted), "{accepted}");
    room_is_made(&world).await;
    settle_all(&world, accepted).await;
}

#[tokio::test]
async fn on_a_full_disk_the_store_accepts_no_more_but_settles_and_loses_nothing() {
    if !is_root() {
        // Only root may mount, so another user becomes root in a new namespace. (faults.md E5)
        return as_root("on_a_full_disk_the_store_accepts_no_more_but_settles_and_loses_nothing");
    }
    let world = World::<SmallDisk>::new().await;
    let accepted = fill(&world).await;
    assert!(accepted > 50, "{accepted}");
    room_is_made(&world).await;
    settle_all(&world, accepted).await;
    let world = world.reopen().await;
    world.nothing_is_due().await;
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

/// Runs one test of this file as the root of a new namespace.
fn as_root(test: &str) {
    let (_, module) = module_path!().split_once("::").unwrap();
    let ran = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}")])
        .output()
        .expect("this test needs root, or unshare: apt-get install util-linux");
    let said = String::from_utf8_lossy(&ran.stdout);
    let why = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "run it as root, or allow user namespaces: {said}{why}");
    assert!(said.contains("1 passed"), "it was not run: {said}");
}
