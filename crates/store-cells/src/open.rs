//! Opening the cells that the directory names, adding one, and refusing what does not belong here.
//!
//! A cell that cannot be used is named in the log with the reason, and is tried again; the others go on.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use gancho_store::{Intake, Result, Store, StoreError, Tenants};
use gancho_store_postgres::{
    CellRow, CellState, Options, Placement, PlacementState, PostgresStore, schema_version,
};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    CellStore,
    cell::{Cell, HOME_NAME},
    identity::{Identity, identity, is_home, of_check, of_url, put_identity},
    moves::{MoveRules, refused},
    watch,
};

const MAX_NAME: usize = 40;

/// Encrypts what the directory and the cells hold of secrets, with the key ring of the gateway.
pub trait CellSecrets: Send + Sync + 'static {
    /// `of` says what the text is: it can be read under the same name only.
    fn seal(&self, of: &str, text: &str) -> Result<Vec<u8>, String>;

    fn open(&self, of: &str, sealed: &[u8]) -> Result<String, String>;

    /// Whether it is encrypted with the newest key.
    fn is_current(&self, sealed: &[u8]) -> bool;
}

#[derive(Clone)]
pub struct CellSetup {
    /// Of each cell.
    pub options: Options,
    pub secrets: Arc<dyn CellSecrets>,
    /// How long a claim waits for one cell before it goes on with the next.
    pub claim_wait: Duration,
    pub moves: MoveRules,
}

impl CellSetup {
    pub fn new(options: Options, secrets: Arc<dyn CellSecrets>) -> Self {
        let claim_wait = Duration::from_millis(250);
        Self { options, secrets, claim_wait, moves: MoveRules::default() }
    }
}

/// A cell, as operators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellStatus {
    pub name: String,
    pub is_draining: bool,
    /// How many live there.
    pub tenants: u64,
    /// Why this node cannot use it.
    pub trouble: Option<String>,
}

impl CellStore {
    /// Opens the cells that the directory in the home cell names. One that cannot be opened is logged, and tried
    /// again.
    pub async fn open(home: Arc<PostgresStore>, setup: CellSetup) -> Result<Arc<Self>> {
        if let Some(identity) = identity(&home).await? {
            return Err(StoreError::Refused(format!(
                "this database is the cell {} of a gateway and cannot be its home cell, too: set database_url to the \
                 home cell",
                identity.name
            )));
        }
        let (bell, intake_bell) = (home.bell(), home.intake_bell());
        let tenant_moves = Arc::new(Notify::new());
        let home = Arc::new(Cell::home(home, tenant_moves.clone()));
        let store = Arc::new(Self {
            all: vec_of(vec![home.clone()]),
            home,
            directory: crate::Directory::default(),
            members: crate::Members::default(),
            bell,
            intake_bell: intake_bell.unwrap_or_default(),
            document_cells: parking_lot::Mutex::default(),
            pauses: parking_lot::Mutex::default(),
            intake: crate::intake::IntakeState::default(),
            deferred: crate::statistics::DeferredRows::default(),
            late_claims: crate::late_claims::LateClaims::default(),
            move_failures: parking_lot::Mutex::default(),
            moves_under_way: parking_lot::Mutex::default(),
            setup,
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        });
        let found = Box::pin(store.refresh_once()).await?;
        join_all(found.iter().map(|cell| store.open_cell(cell))).await;
        watch::start(&store, tenant_moves);
        Ok(store)
    }

    /// Reads the directory, and returns the cells that are not open.
    pub(crate) async fn refresh_once(&self) -> Result<Vec<Arc<Cell>>> {
        let begun = Instant::now();
        let home = self.home.open_store()?;
        let rows = self.home.call(home.cells()).await?;
        if !rows.is_empty() {
            if self.is_alone() {
                home.adopt_tenants().await?;
                self.directory.load(&home).await?;
            } else {
                self.home.long(self.directory.refresh(&home)).await?;
            }
        }
        let mut read_at = self.directory.read_at.lock();
        let before = self.cells();
        if read_at.is_some_and(|at| at > begun) {
            // A later reading was faster.
            return Ok(before.iter().filter(|cell| !cell.is_open()).cloned().collect());
        }
        *read_at = Some(begun);
        let of_row = |row: &CellRow| {
            let known = before.iter().find(|cell| cell.number == row.number && !cell.is_home());
            let new = || Cell::closed(row, self.home.tenant_moves.clone());
            let cell = known.cloned().unwrap_or_else(|| Arc::new(new()));
            cell.refresh(row.state, &row.url);
            cell
        };
        let mut cells = vec![self.home.clone()];
        cells.extend(rows.iter().map(of_row));
        self.home.is_only.store(cells.len() == 1, Ordering::Relaxed);
        let closed = cells.iter().filter(|cell| !cell.is_open()).cloned().collect();
        let is_new = |cell: &Arc<Cell>| before.iter().all(|one| one.number != cell.number);
        let has_new = cells.iter().any(is_new);
        if before.iter().any(|cell| cells.iter().all(|one| one.number != cell.number)) {
            let is_there = |number: u32| cells.iter().any(|cell| cell.number == number);
            self.deferred.keep(is_there);
            self.late_claims.all.lock().retain(|(cell, _), _| is_there(*cell));
        }
        *self.all.write() = Arc::new(cells);
        drop(read_at);
        if has_new {
            self.directory.note_change();
        }
        Ok(closed)
    }

    pub(crate) async fn open_cell(self: &Arc<Self>, cell: &Arc<Cell>) {
        let opened = match self.opened(&cell.name, &cell.url()).await {
            Ok(store) => {
                forward(&self.tasks, &self.stopping, store.bell(), &self.bell);
                if let Some(bell) = store.intake_bell() {
                    forward(&self.tasks, &self.stopping, bell, &self.intake_bell);
                }
                if let Some(settings) = self.intake.settings()
                    && let Err(error) = store.describe_intake(settings).await
                {
                    tracing::debug!(cell = cell.name, %error, "could not describe the intake");
                }
                tracing::info!(cell = cell.name, "cell opened");
                Ok(store)
            }
            Err(reason) => {
                if cell.trouble().as_ref() != Some(&reason) {
                    tracing::error!(cell = cell.name, reason, "cell cannot be used; will retry");
                }
                Err(reason)
            }
        };
        cell.opened(opened);
    }

    async fn opened(&self, name: &str, sealed: &[u8]) -> Result<Arc<PostgresStore>, String> {
        let url = self.setup.secrets.open(&of_url(name), sealed).map_err(|error| {
            format!("its URL in the directory is encrypted with another key ring ({error}): use the key ring of the other nodes")
        })?;
        let store = connect(&url, &self.setup.options).await?;
        let fleet = self.fleet().await.map_err(text)?.unwrap_or_default();
        match identity(&store).await.map_err(text)? {
            None => Err(format!(
                "the database is not a cell of this gateway, or has lost its tables: check where its URL leads, or remove \
                 the cell and add it again (gancho cells add {name})"
            )),
            Some(found) if found.fleet != fleet => Err(format!(
                "the database belongs to another gateway, as its cell {}: check where its URL leads",
                found.name
            )),
            Some(found) if found.name != name => {
                Err(format!("the database is the cell {}: check where its URL leads", found.name))
            }
            Some(found) => match self.setup.secrets.open(&of_check(name), &found.check) {
                Ok(check) if check == fleet => Ok(store),
                _ => Err("the database was set up with another key ring: use the key ring of the other nodes".into()),
            },
        }
    }

    /// Makes an empty database a cell. Fails with [`StoreError::Refused`] where it cannot be one.
    pub async fn add_cell(self: &Arc<Self>, name: &str, url: &str) -> Result<()> {
        check_name(name)?;
        let home = self.home.open_store()?;
        if home.reader().is_some() {
            return Err(StoreError::Refused(
                "lists are read from a replica of the home cell alone: remove database_read_url first".into(),
            ));
        }
        if home.cells().await?.iter().any(|cell| cell.name == name) {
            return Err(StoreError::Taken(format!("the name {name}")));
        }
        let fleet = self.fleet_or_new().await?;
        let refused = |why: String| StoreError::Refused(format!("cell {name}: {why}"));
        let store = connect(url, &self.setup.options).await.map_err(refused)?;
        if is_home(&store).await? {
            return Err(refused("the database is the home cell of a gateway: name another".into()));
        }
        match identity(&store).await? {
            Some(found) if found.fleet != fleet => {
                return Err(refused(format!(
                    "the database belongs to another gateway, as its cell {}: name another",
                    found.name
                )));
            }
            Some(found) if home.cells().await?.iter().any(|cell| cell.name == found.name) => {
                return Err(refused(format!("the database is the cell {} already", found.name)));
            }
            None if !store.tenants(None, 1).await?.is_empty() => {
                return Err(refused(
                    "the database has tenants: only an empty one can be added".into(),
                ));
            }
            Some(_) | None => {}
        }
        let seal = |of: &str, text: &str| self.setup.secrets.seal(of, text).map_err(refused);
        let check = seal(&of_check(name), &fleet)?;
        let identity = Identity { fleet, name: name.to_owned(), check };
        put_identity(&store, &identity).await?;
        drop(store);
        home.add_cell(name, &seal(&of_url(name), url)?).await?;
        for cell in self.refresh_once().await?.iter().filter(|cell| cell.name == name) {
            self.open_cell(cell).await;
        }
        Ok(())
    }

    /// A cell that drains takes no new tenants. Whether there is such a cell.
    pub async fn drain_cell(&self, name: &str, is_draining: bool) -> Result<bool> {
        if name == HOME_NAME {
            return Err(refused("the home cell cannot be drained: it has the directory"));
        }
        let state = if is_draining { CellState::Draining } else { CellState::Active };
        let was_there = self.home.open_store()?.set_cell_state(name, state).await?;
        self.refresh_once().await?;
        Ok(was_there)
    }

    /// At most `max` tenants of a cell, by slug, after `after`. `None`: there is no such cell.
    ///
    /// Those whose creation was interrupted are looked up first: they are in the cell, or forgotten.
    pub async fn tenants_of_cell(
        &self,
        name: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Option<Vec<Placement>>> {
        self.refresh_once().await?;
        let cells = self.cells();
        let Some(cell) = cells.iter().find(|cell| cell.name == name) else { return Ok(None) };
        let home = self.home.open_store()?;
        let mut found = home.placements_in(cell.number, after, max).await?;
        for one in found.iter_mut().filter(|one| one.state == PlacementState::Creating) {
            // Where the cell cannot be asked, they are shown as they are.
            if let Ok(false) = self.is_unused(one).await {
                one.state = home.placement(one.tenant).await?.map_or(one.state, |now| now.state);
            }
        }
        Ok(Some(found))
    }

    /// Removes a cell that drains and has no tenants any more. Its database is left as it is. Whether there was such a cell.
    ///
    /// With `is_lost` also one that cannot be asked whether events from SQL wait in it.
    pub async fn remove_cell(&self, name: &str, is_lost: bool) -> Result<bool> {
        if name == HOME_NAME {
            return Err(refused("the home cell cannot be removed: it has the directory"));
        }
        self.refresh_once().await?;
        let home = self.home.open_store()?;
        let cells = self.cells();
        let Some(cell) = cells.iter().find(|cell| cell.name == name) else { return Ok(false) };
        if cell.state() != CellState::Draining {
            return Err(refused(format!(
                "the cell {name} gets new tenants: drain it first (gancho cells drain {name} --move)"
            )));
        }
        if !is_lost {
            self.check_intake(cell).await?;
        }
        if !home.remove_cell(name).await? {
            return Err(refused(format!(
                "tenants live in the cell {name}, move, or are being erased there: move them first (gancho cells drain {name} --move)"
            )));
        }
        tracing::info!(cell = name, "cell removed");
        self.refresh_once().await.map(|_| true)
    }

    /// Fails while events that were published with SQL wait in the cell.
    async fn check_intake(&self, cell: &Cell) -> Result<()> {
        let counted = async { cell.bounded(cell.open_store()?.intake_counts()).await };
        match counted.await {
            Ok(counts) if counts.waiting == 0 => Ok(()),
            Ok(counts) => Err(refused(format!(
                "{} events that were published with SQL wait in the cell {}: try again in a moment",
                counts.waiting, cell.name
            ))),
            Err(error) => Err(refused(format!(
                "events that were published with SQL may wait in it, and it cannot be asked ({error}): remove it when it \
                 answers, or as lost (gancho cells remove {} --lost)",
                cell.name
            ))),
        }
    }

    /// The home cell first.
    pub async fn list_cells(&self) -> Result<Vec<CellStatus>> {
        let home = self.home.open_store()?;
        if !self.is_alone() {
            self.refresh_once().await?;
        }
        let counts = self.home.call(home.tenants_per_cell()).await?;
        let of_cell = |cell: &Arc<Cell>| CellStatus {
            name: cell.name.clone(),
            is_draining: cell.state() == CellState::Draining,
            tenants: counts
                .iter()
                .find(|(number, _)| *number == cell.number)
                .map_or(0, |one| one.1),
            trouble: cell.trouble(),
        };
        Ok(self.cells().iter().map(of_cell).collect())
    }
}

fn vec_of(cells: Vec<Arc<Cell>>) -> parking_lot::RwLock<Arc<Vec<Arc<Cell>>>> {
    parking_lot::RwLock::new(Arc::new(cells))
}

async fn connect(url: &str, options: &Options) -> Result<Arc<PostgresStore>, String> {
    let version = schema_version(url).await.map_err(text)?;
    if version.found > version.known {
        return Err(format!(
            "its schema is {}, and this version knows {}: upgrade this node",
            version.found, version.known
        ));
    }
    PostgresStore::connect(url, options.clone()).await.map_err(text)
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn text(error: StoreError) -> String {
    error.to_string()
}

fn check_name(name: &str) -> Result<()> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_valid = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits);
    if is_valid && name != HOME_NAME {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "{name:?} cannot be the name of a cell: use 1 to {MAX_NAME} lowercase letters, digits and `-`, and not `{HOME_NAME}`"
    )))
}

/// Rings our bell with that of a cell.
fn forward(tasks: &TaskTracker, stop: &CancellationToken, from: Arc<Notify>, to: &Arc<Notify>) {
    let (stop, to) = (stop.clone(), to.clone());
    tasks.spawn(async move {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = from.notified() => to.notify_one(),
            }
        }
    });
}
