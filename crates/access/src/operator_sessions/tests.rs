use gancho_domain::{IdMaker, ManualClock, SystemRandom};
use gancho_store_sqlite::SqliteStore;
use gancho_vault::Secret;
use tokio_util::task::TaskTracker;

use super::*;
use crate::{NewUser, OperatorToken, Role, UserChange};

struct Fleet {
    store: Arc<dyn Store>,
    ring: Arc<KeyRing>,
    clock: Arc<ManualClock>,
}

impl Fleet {
    fn new() -> Self {
        let ring = Arc::new(KeyRing::generate().unwrap());
        let clock = Arc::new(ManualClock::at_secs(1_000));
        Self { store: SqliteStore::inline().unwrap(), ring, clock }
    }

    /// Creates a node, or the same one after a restart.
    fn node(&self) -> Access {
        self.node_with("correct-horse-battery")
    }

    fn node_with(&self, token: &str) -> Access {
        let ids = Arc::new(IdMaker::new(self.clock.clone(), Arc::new(SystemRandom)));
        let (token, tasks) = (OperatorToken::new(token).unwrap(), TaskTracker::new());
        let (store, ring, clock) = (self.store.clone(), self.ring.clone(), self.clock.clone());
        Access::new(token, store, ring, ids, clock, tasks)
    }
}

async fn open(node: &Access, cookie: &str) -> Result<Option<OperatorSession>> {
    match node.session_cookie(cookie) {
        Some(cookie) => node.session(cookie).await,
        None => Ok(None),
    }
}

#[tokio::test]
async fn every_node_knows_a_session_and_a_restart_ends_none() {
    let fleet = Fleet::new();
    let (one, other) = (fleet.node(), fleet.node());
    let cookie = one.begin_session(None).await.unwrap();
    let here = open(&one, &cookie).await.unwrap().unwrap();
    let there = open(&other, &cookie).await.unwrap().unwrap();
    assert_eq!((here.operator().role(), here.operator().user()), (Role::Operator, None));
    assert!(there.has_csrf(here.csrf()) && !there.has_csrf(""));
    assert!(other.is_session_open(&there).await);
    let second = one.begin_session(None).await.unwrap();
    assert_ne!(second, cookie);
    assert!(!open(&one, &second).await.unwrap().unwrap().has_csrf(here.csrf()));

    one.end_session(&here).await.unwrap();
    assert!(open(&one, &cookie).await.unwrap().is_none());
    assert!(!one.is_session_open(&here).await);
    assert!(open(&fleet.node(), &cookie).await.unwrap().is_none(), "after its cache has ended");
    assert!(open(&fleet.node(), &second).await.unwrap().is_some(), "the other one goes on");
}

#[tokio::test]
async fn it_ends_unused_and_after_its_longest_time() {
    let fleet = Fleet::new();
    let cookie = fleet.node().begin_session(None).await.unwrap();
    let idle = fleet.node().begin_session(None).await.unwrap();
    let step = MAX_IDLE / 2;
    let mut passed = Duration::ZERO;
    while passed + step < MAX_AGE {
        fleet.clock.advance(step);
        passed += step;
        // Another node each time, which knows of the use only from the store.
        assert!(open(&fleet.node(), &cookie).await.unwrap().is_some(), "{passed:?}");
    }
    assert!(open(&fleet.node(), &idle).await.unwrap().is_none());
    fleet.clock.advance(step);
    assert!(open(&fleet.node(), &cookie).await.unwrap().is_none(), "however much it is used");
}

#[tokio::test]
async fn use_does_not_bring_back_a_session_that_was_ended_elsewhere() {
    let fleet = Fleet::new();
    let (one, other) = (fleet.node(), fleet.node());
    let cookie = one.begin_session(None).await.unwrap();
    let session = open(&other, &cookie).await.unwrap().unwrap();
    one.end_session(&session).await.unwrap();
    fleet.clock.advance(USE_PRECISION);
    // It still has the session in its cache, and tries to record the use.
    let _ = open(&other, &cookie).await.unwrap();
    assert!(open(&fleet.node(), &cookie).await.unwrap().is_none());
}

#[tokio::test]
async fn another_operator_token_or_a_changed_account_ends_it() {
    let fleet = Fleet::new();
    let node = fleet.node();
    let password = || Secret::new("correct horse battery".to_owned());
    let new = NewUser { name: "ana".to_owned(), role: Role::Support, password: password() };
    let user = node.users.create(new).await.unwrap();
    let of_owner = node.begin_session(None).await.unwrap();
    let of_user = node.begin_session(Some(&user)).await.unwrap();
    let session = open(&node, &of_user).await.unwrap().unwrap();
    assert_eq!(session.operator().user(), Some("ana"));
    assert_eq!(session.operator().role(), Role::Support);

    let other = fleet.node_with("battery-horse-correct");
    assert!(open(&other, &of_owner).await.unwrap().is_none());
    assert!(open(&other, &of_user).await.unwrap().is_some());

    let change = UserChange { role: Some(Role::ReadOnly), password: None };
    node.users.change("ana", change).await.unwrap();
    assert!(open(&node, &of_user).await.unwrap().is_none());
    assert!(!node.is_session_open(&session).await);
    assert!(open(&node, &of_owner).await.unwrap().is_some());
}

/// The other node has read the user before the change.
#[tokio::test]
async fn a_session_that_began_after_a_change_is_good_on_every_node() {
    let fleet = Fleet::new();
    let (one, other) = (fleet.node(), fleet.node());
    let password = Secret::new("correct horse battery".to_owned());
    let new = NewUser { name: "ana".to_owned(), role: Role::Support, password };
    let user = one.users.create(new).await.unwrap();
    let before = one.begin_session(Some(&user)).await.unwrap();
    assert!(open(&other, &before).await.unwrap().is_some());
    let change = UserChange { role: Some(Role::ReadOnly), password: None };
    let changed = one.users.change("ana", change).await.unwrap();
    let after = one.begin_session(Some(&changed)).await.unwrap();
    let session = open(&other, &after).await.unwrap().unwrap();
    assert_eq!(session.operator().role(), Role::ReadOnly);
    assert!(open(&other, &before).await.unwrap().is_none());
}

#[tokio::test]
async fn every_changed_bit_of_a_cookie_is_noticed() {
    let fleet = Fleet::new();
    let node = fleet.node();
    let cookie = node.begin_session(None).await.unwrap();
    let bytes = BASE64URL_NOPAD.decode(cookie.as_bytes()).unwrap();
    for at in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let changed = BASE64URL_NOPAD.encode(&changed);
        assert!(open(&node, &changed).await.unwrap().is_none(), "bit {at}");
    }
    for malformed in ["", "A", "!", &cookie[..40], &format!("{cookie}AAAA")] {
        assert!(open(&node, malformed).await.unwrap().is_none(), "{malformed}");
    }
    assert!(open(&node, &cookie).await.unwrap().is_some());
}
