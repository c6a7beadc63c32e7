//! One cell: a database, whether it is open, and whether it answers.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use gancho_store::{Result, StoreError};
use gancho_store_postgres::{CellRow, CellState, PostgresStore};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

/// A cell that fails is left alone for this long: callers are refused at once rather than made to wait. One that hangs
/// is left alone until a heartbeat to it succeeds.
const REST: Duration = Duration::from_secs(1);
/// Failures in a row after which a cell rests.
const MAX_FAILURES: u32 = 3;
/// How long a heartbeat, and what is as simple, may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);
/// How long a lookup or a write may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long accepting may take, which waits its turn behind the rows of others.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a list or a step of upkeep may take. Nobody waits that long for a cell that hangs:
/// its heartbeats tell before.
const LONG_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of the home cell.
pub const HOME: u32 = 0;
/// Its name.
pub const HOME_NAME: &str = "home";

const SILENT: &str = "it does not answer";

/// Why a cell is closed that has just been found in the directory.
pub(crate) const NEW: &str = "it is being opened";

pub(crate) struct Cell {
    pub number: u32,
    pub name: String,
    connection: RwLock<Connection>,
    health: Mutex<Health>,
    /// Whether there is no other.
    pub is_only: AtomicBool,
    /// Held while a node joins, so that it joins once.
    pub joining: tokio::sync::Mutex<()>,
    /// Rung when the cell refuses something because a tenant moves: then the directory is looked at at once.
    pub tenant_moves: Arc<Notify>,
    /// Rung when the cell is found to hang: then nobody waits for it any longer.
    hang_bell: Notify,
}

struct Connection {
    state: CellState,
    /// The URL as it is in the directory.
    url: Vec<u8>,
    /// Or why it is not open.
    store: Result<Arc<PostgresStore>, String>,
}

#[derive(Default)]
struct Health {
    failures: u32,
    /// Set when calls are first suspended, and cleared when the cell responds.
    rests_until: Option<Instant>,
    /// It accepts calls and does not answer. Cleared when it responds, as to a heartbeat.
    hangs: bool,
}

impl Cell {
    pub fn home(store: Arc<PostgresStore>, tenant_moves: Arc<Notify>) -> Self {
        let connection = Connection { state: CellState::Active, url: Vec::new(), store: Ok(store) };
        Self {
            number: HOME,
            name: HOME_NAME.to_owned(),
            connection: RwLock::new(connection),
            health: Mutex::default(),
            is_only: AtomicBool::new(true),
            joining: tokio::sync::Mutex::default(),
            tenant_moves,
            hang_bell: Notify::new(),
        }
    }

    pub fn closed(row: &CellRow, tenant_moves: Arc<Notify>) -> Self {
        let CellRow { number, name, url, state } = row.clone();
        let connection = Connection { state, url, store: Err(NEW.to_owned()) };
        let (connection, health) = (RwLock::new(connection), Mutex::default());
        let (joining, is_only) = (tokio::sync::Mutex::default(), AtomicBool::new(false));
        let hang_bell = Notify::new();
        Self { number, name, connection, health, is_only, joining, tenant_moves, hang_bell }
    }

    pub fn is_home(&self) -> bool {
        self.number == HOME
    }

    pub fn is_open(&self) -> bool {
        self.connection.read().store.is_ok()
    }

    /// Why it does not serve, if it does not.
    pub fn trouble(&self) -> Option<String> {
        match &self.connection.read().store {
            Err(why) => Some(why.clone()),
            Ok(_) if self.is_resting() => Some(SILENT.to_owned()),
            Ok(_) => None,
        }
    }

    pub fn state(&self) -> CellState {
        self.connection.read().state
    }

    pub fn url(&self) -> Vec<u8> {
        self.connection.read().url.clone()
    }

    /// Whether it may get another tenant.
    pub fn takes_tenants(&self) -> bool {
        self.state() == CellState::Active && self.trouble().is_none()
    }

    /// What the directory says of it now.
    pub fn refresh(&self, state: CellState, url: &[u8]) {
        let mut connection = self.connection.write();
        connection.state = state;
        if connection.url != url {
            connection.url = url.to_vec();
        }
    }

    /// The outcome of opening it. Where two tasks open it at once, the first that succeeds is right: the other may fail
    /// because the home cell is away, which is no reason to close this one.
    pub fn opened(&self, store: Result<Arc<PostgresStore>, String>) {
        let mut connection = self.connection.write();
        if connection.store.is_err() {
            connection.store = store;
            *self.health.lock() = Health::default();
        }
    }

    fn close(&self, why: String) {
        self.connection.write().store = Err(why);
        *self.health.lock() = Health::default();
    }

    /// The store, unless it is closed or rests.
    pub fn store(&self) -> Result<Arc<PostgresStore>> {
        if self.is_resting() {
            return Err(self.unavailable(SILENT));
        }
        self.open_store()
    }

    /// The store, also while it rests: to find out whether it answers again.
    pub fn open_store(&self) -> Result<Arc<PostgresStore>> {
        match &self.connection.read().store {
            Ok(store) => Ok(store.clone()),
            Err(why) => Err(self.unavailable(why)),
        }
    }

    fn is_resting(&self) -> bool {
        let health = self.health.lock();
        health.hangs || health.rests_until.is_some_and(|until| Instant::now() < until)
    }

    /// Whether it rests until a heartbeat succeeds.
    pub fn is_hanging(&self) -> bool {
        self.health.lock().hangs
    }

    fn unavailable(&self, why: &str) -> StoreError {
        StoreError::Unavailable(format!("cell {}: {why}", self.name))
    }

    /// Notes how a call went, and names the cell in its error.
    pub fn noted<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(StoreError::Unavailable(why)) => {
                let failures = {
                    let mut health = self.health.lock();
                    health.failures += 1;
                    health.failures
                };
                if failures >= MAX_FAILURES {
                    self.rest(&why, false);
                }
                Err(if self.is_home() {
                    StoreError::Unavailable(why)
                } else {
                    self.unavailable(&why)
                })
            }
            // This cell alone has stopped: the others go on, and it is opened again.
            Err(StoreError::Broken(why)) if !self.is_home() => {
                self.close(why.clone());
                Err(self.unavailable(&why))
            }
            other => {
                if matches!(other, Err(StoreError::Moving(_))) {
                    self.tenant_moves.notify_one();
                }
                self.answers();
                other
            }
        }
    }

    fn answers(&self) {
        let before = {
            let mut health = self.health.lock();
            if health.failures == 0 {
                return;
            }
            std::mem::take(&mut *health)
        };
        if before.rests_until.is_some() {
            tracing::info!(cell = self.name, "cell answers again");
        }
    }

    /// A gateway of one cell is as it ever was: that one never rests.
    fn rest(&self, error: &str, hangs: bool) {
        if self.is_alone() {
            return;
        }
        let before = {
            let mut health = self.health.lock();
            let hangs = hangs || health.hangs;
            let rests_until = Some(Instant::now() + REST);
            std::mem::replace(&mut *health, Health { failures: MAX_FAILURES, rests_until, hangs })
        };
        if before.rests_until.is_none() {
            tracing::error!(cell = self.name, error, "cell does not answer; its tenants wait");
        }
        if hangs {
            self.hang_bell.notify_waiters();
        }
    }

    fn is_alone(&self) -> bool {
        self.is_only.load(Ordering::Relaxed)
    }

    /// It has not answered in time: it rests at once, until a heartbeat succeeds, and nobody waits for it any longer.
    pub fn hangs(&self) -> StoreError {
        self.rest(SILENT, true);
        self.unavailable(SILENT)
    }

    /// One call has not been answered in time. It may be the call, and not the cell, that is slow.
    fn note_timeout(&self) {
        let failures = {
            let mut health = self.health.lock();
            health.failures += 1;
            health.failures
        };
        if failures >= MAX_FAILURES {
            self.rest(SILENT, true);
        }
    }

    fn timed_out(&self) -> StoreError {
        StoreError::TimedOut(format!("cell {}: {SILENT}", self.name))
    }

    /// A simple call, which a cell answers within [`TIMEOUT`] if it answers at all. Also while it hangs: this is how it is
    /// found to answer again.
    pub async fn bounded<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout(TIMEOUT, call).await {
            Ok(result) => self.noted(result),
            Err(_) => Err(self.hangs()),
        }
    }

    /// A lookup or a write. A write that fails with [`StoreError::TimedOut`] may be carried out all the same.
    pub async fn call<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.within(CALL_TIMEOUT, call).await
    }

    /// What is accepted. After [`StoreError::TimedOut`], what was accepted all the same is leased to no node.
    pub async fn accept<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.within(ACCEPT_TIMEOUT, call).await
    }

    /// A call that may take long, and that other cells may wait for.
    pub async fn long<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.within(LONG_TIMEOUT, call).await
    }

    /// Waits until the cell answers, the time is over, or the cell is found to hang.
    ///
    /// What is done again after an error must not be called by this, if a first try that is carried out late does harm: the
    /// result of an attempt, and the release of a lease, which may by then be a later one.
    async fn within<T>(
        &self,
        timeout: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if self.is_alone() {
            return self.noted(call.await);
        }
        let found_to_hang = self.hang_bell.notified();
        tokio::select! {
            biased;
            result = call => self.noted(result),
            () = found_to_hang => Err(self.timed_out()),
            () = tokio::time::sleep(timeout) => {
                self.note_timeout();
                Err(self.timed_out())
            }
        }
    }
}
