//! Signed checkpoints of the ledger. They are in the store and, to detect a changed or restored store, in
//! files next to it that are never overwritten.
//!
//! Lines are verified before they are signed. A ledger with a broken chain, or one that contradicts a
//! checkpoint on disk, is never signed again: not by this process, nor by another that finds those files; an
//! error is logged. The same applies as long as a file cannot be verified.

mod files;
mod newest;
mod prove;

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::Clock;
use gancho_ledger::{AuditError, Checkpoint, CheckpointError, Hash, Head, Tree};
use gancho_store::{Collection, Precondition, Store, StoreError};
use thiserror::Error;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::{
    files::on_file,
    prove::{MAX_PROVED_LINES, PROOF_FORM, ProofError},
};
use crate::SigningKeys;

/// The collection of checkpoints, keyed by size.
pub const CHECKPOINTS: &str = "checkpoint";
/// The default origin of the ledger.
pub const ORIGIN: &str = "gancho/ledger";
const COLLECTION: Collection = Collection::operators(CHECKPOINTS);
const PAGE: usize = 1_000;
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Pause between pages while all lines are verified again, so that others are not delayed.
const BREATH: Duration = Duration::from_millis(50);

pub struct Checkpointer {
    store: Arc<dyn Store>,
    keys: Arc<SigningKeys>,
    clock: Arc<dyn Clock>,
    settings: CheckpointSettings,
    walked: Mutex<WalkState>,
    /// Held while a proof is made.
    proving: Mutex<()>,
    /// Why nothing is signed any more.
    suspended: parking_lot::Mutex<Option<String>>,
    is_checked: AtomicBool,
}

#[derive(Debug, Clone)]
pub struct CheckpointSettings {
    /// The origin of the ledger: a name without spaces.
    pub origin: String,
    /// The directory of the files.
    pub folder: PathBuf,
    /// A checkpoint is signed after this many new lines.
    pub lines: u64,
    /// A checkpoint is signed after this time, if there are new lines.
    pub every: Duration,
    /// How often all lines are verified again; zero for never.
    pub check_every: Duration,
}

impl CheckpointSettings {
    pub fn new(origin: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        let (origin, folder) = (origin.into(), folder.into());
        let (every, check_every) = (Duration::from_mins(1), Duration::from_hours(1));
        Self { origin, folder, lines: 1_000, every, check_every }
    }
}

/// How far this process has verified the ledger.
struct WalkState {
    head: Head,
    tree: Tree,
    /// The checkpoints on disk that the walk has not reached, the nearest last. `None` if they could not be
    /// read: in that case no line is walked either.
    ahead: Option<Vec<Checkpoint>>,
    /// The last checkpoint that was signed or reached.
    newest: Option<Checkpoint>,
    /// The first error. A rewritten ledger looks valid again after the last checkpoint that contradicts it,
    /// so this process never forgets the error.
    audit_error: Option<AuditError>,
}

/// The size of the ledger, and how much of it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerStatus {
    /// The number of lines.
    pub size: u64,
    /// The newest checkpoint, of any node.
    pub newest: Option<Checkpoint>,
}

#[derive(Debug, Error)]
pub enum CheckpointerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger was changed. Nothing is signed.
    #[error("the ledger is invalid: {0}. hint: run `gancho ledger verify`")]
    AuditError(#[from] AuditError),
    #[error("cannot write or read the checkpoint {0}: {1}")]
    File(PathBuf, io::Error),
    #[error("cannot sign or verify the checkpoint: {0}")]
    Note(#[from] CheckpointError),
    /// Nothing is signed while the file exists.
    #[error(
        "{0} is not a checkpoint signed by this gateway. hint: compare it with copies stored elsewhere, then move it out of the directory"
    )]
    Foreign(PathBuf),
}

impl CheckpointerError {
    /// Whether it needs attention, because it does not resolve itself.
    const fn is_lasting(&self) -> bool {
        matches!(self, Self::AuditError(_) | Self::Foreign(_))
    }
}

impl Checkpointer {
    /// Reads the checkpoints on disk, which the ledger must match. A file that cannot be verified prevents
    /// signing, but not receiving.
    pub fn open(
        store: Arc<dyn Store>,
        keys: Arc<SigningKeys>,
        clock: Arc<dyn Clock>,
        settings: CheckpointSettings,
    ) -> Self {
        let (ahead, error) = match ahead(&settings, &keys) {
            Ok(ahead) => (Some(ahead), None),
            Err(error) => (None, Some(error)),
        };
        let (head, tree) = (Head::start(), Tree::default());
        let walked = Mutex::new(WalkState { head, tree, ahead, newest: None, audit_error: None });
        let suspended = parking_lot::Mutex::default();
        let checkpointer = Self {
            store,
            keys,
            clock,
            settings,
            walked,
            proving: Mutex::default(),
            suspended,
            is_checked: AtomicBool::new(false),
        };
        if let Some(error) = &error {
            checkpointer.suspend(error);
        }
        checkpointer
    }

    /// Returns why nothing is signed any more, if so: the ledger or a file contradicts what was signed.
    pub fn suspension(&self) -> Option<String> {
        self.suspended.lock().clone()
    }

    /// Whether this process has verified the ledger.
    pub fn is_checked(&self) -> bool {
        self.is_checked.load(Ordering::Relaxed)
    }

    fn suspend(&self, error: &CheckpointerError) {
        tracing::error!(error = %error, "checkpoints are suspended");
        *self.suspended.lock() = Some(error.to_string());
    }

    /// Signs a checkpoint if lines were added since the last one; with `force` in any case.
    pub async fn run_once(&self, force: bool) -> Result<Option<Checkpoint>, CheckpointerError> {
        let mut walked = self.walked.lock().await;
        if let Some(audit_error) = &walked.audit_error {
            return Err(audit_error.clone().into());
        }
        if walked.ahead.is_none() {
            walked.ahead = Some(ahead(&self.settings, &self.keys)?);
        }
        if let Err(error) = self.walk(&mut walked, Duration::ZERO).await {
            if let CheckpointerError::AuditError(audit_error) = &error {
                walked.audit_error = Some(audit_error.clone());
            }
            return Err(error);
        }
        self.is_checked.store(true, Ordering::Relaxed);
        let size = walked.tree.size();
        if size == 0 || (size == walked.last() && !force) {
            return Ok(None);
        }
        let checkpoint = Checkpoint {
            origin: self.settings.origin.clone(),
            size,
            root: walked.tree.root(),
            made_at: self.clock.now().to_string(),
        };
        let note = self.keys.current().signer().sign(&checkpoint)?;
        // The file comes first: anyone who can change the ledger can change the checkpoints in the store too.
        files::write(&self.settings.folder, size, &note)?;
        let name = name(size);
        self.store
            .put_document(COLLECTION, &name, Bytes::from(note), Precondition::Nothing)
            .await?;
        walked.newest = Some(checkpoint.clone());
        Ok(Some(checkpoint))
    }

    /// Verifies all lines again, from the first, which `run_once` does not do with lines that this process
    /// has signed for. A changed line is never signed for again.
    pub async fn check(&self) -> Result<(), CheckpointerError> {
        let fresh = self.read_files().await.map(WalkState::before);
        let checked = match fresh {
            Ok(mut fresh) => self.walk(&mut fresh, BREATH).await,
            Err(error) => Err(error),
        };
        match &checked {
            Err(CheckpointerError::AuditError(audit_error)) => {
                self.walked.lock().await.audit_error.get_or_insert_with(|| audit_error.clone());
            }
            // Nothing is signed until the files can be read again.
            Err(CheckpointerError::Foreign(_)) => {
                *self.walked.lock().await =
                    WalkState { ahead: None, ..WalkState::before(Vec::new()) };
            }
            Ok(()) | Err(_) => {}
        }
        checked
    }

    /// Reads the checkpoints on disk. There may be many, so it uses another thread.
    async fn read_files(&self) -> Result<Vec<Checkpoint>, CheckpointerError> {
        let (settings, keys) = (self.settings.clone(), self.keys.clone());
        let read = tokio::task::spawn_blocking(move || ahead(&settings, &keys)).await;
        read.unwrap_or_else(|error| {
            let folder = self.settings.folder.clone();
            Err(CheckpointerError::File(folder, io::Error::other(error)))
        })
    }

    pub async fn status(&self) -> Result<LedgerStatus, CheckpointerError> {
        let size = self.store.ledger_size().await?;
        let in_store = newest::in_store(&*self.store, &self.keys, size).await?;
        let walked = self.walked.lock().await;
        let here = walked.furthest().or(walked.newest.as_ref()).cloned();
        let newest = here.into_iter().chain(in_store).max_by_key(|checkpoint| checkpoint.size);
        Ok(LedgerStatus { size, newest })
    }

    /// Runs until `stop`, then signs once more, so that everything received is signed.
    pub async fn run(&self, stop: CancellationToken) {
        tokio::join!(self.sign_regularly(&stop), self.check_regularly(&stop));
    }

    async fn check_regularly(&self, stop: &CancellationToken) {
        let every = self.settings.check_every;
        if every.is_zero() {
            return;
        }
        while tokio::time::timeout(every, stop.cancelled()).await.is_err() {
            let Some(outcome) = stop.run_until_cancelled(self.check()).await else { return };
            match outcome {
                Ok(()) => {}
                Err(error) if error.is_lasting() => self.suspend(&error),
                Err(error) => tracing::warn!(error = %error, "could not check the ledger"),
            }
        }
    }

    async fn sign_regularly(&self, stop: &CancellationToken) {
        let mut made = Instant::now();
        let mut is_held = false;
        loop {
            let is_last = tokio::time::timeout(LOOK_EVERY, stop.cancelled()).await.is_ok();
            let is_time = made.elapsed() >= self.settings.every;
            if is_last || is_time || (!is_held && self.has_many().await) {
                let done = self.run_once(false).await;
                is_held = done.as_ref().is_err_and(CheckpointerError::is_lasting);
                match done {
                    Ok(Some(_)) => {
                        *self.suspended.lock() = None;
                        made = Instant::now();
                    }
                    Ok(None) => *self.suspended.lock() = None,
                    Err(error) if is_held => {
                        self.suspend(&error);
                        made = Instant::now();
                    }
                    Err(error) => tracing::warn!(error = %error, "could not sign a checkpoint"),
                }
            }
            if is_last {
                return;
            }
        }
    }

    async fn has_many(&self) -> bool {
        let last = self.walked.lock().await.last();
        let size = self.store.ledger_size().await;
        size.is_ok_and(|size| size.saturating_sub(last) >= self.settings.lines)
    }

    async fn walk(
        &self,
        walked: &mut WalkState,
        breath: Duration,
    ) -> Result<(), CheckpointerError> {
        loop {
            let lines = self.store.ledger_lines(walked.head.number, PAGE).await?;
            for line in &lines {
                let expected = walked.head.number + 1;
                if line.number != expected {
                    return Err(AuditError::Hole { expected, found: line.number }.into());
                }
                let leaf = line.leaf();
                if line.link != Hash::of_link(&walked.head.link, &leaf) {
                    return Err(AuditError::Changed { number: line.number }.into());
                }
                walked.head = line.head();
                walked.tree.push(leaf);
                walked.meet()?;
            }
            if lines.len() < PAGE {
                break;
            }
            tokio::time::sleep(breath).await;
        }
        match walked.furthest() {
            None => self.check_walked_lines(walked).await,
            Some(furthest) => Err(AuditError::Short {
                found: walked.head.number,
                size: furthest.size,
                made_at: furthest.made_at.clone(),
            }
            .into()),
        }
    }

    /// Checks that the walked lines still exist. A store that was restored while the process ran has fewer.
    async fn check_walked_lines(&self, walked: &WalkState) -> Result<(), CheckpointerError> {
        let found = self.store.ledger_size().await?;
        if found < walked.head.number {
            let (size, made_at) = (walked.head.number, self.clock.now().to_string());
            return Err(AuditError::Short { found, size, made_at }.into());
        }
        Ok(())
    }
}

impl WalkState {
    /// The state before the first line.
    fn before(ahead: Vec<Checkpoint>) -> Self {
        let (head, tree) = (Head::start(), Tree::default());
        Self { head, tree, ahead: Some(ahead), newest: None, audit_error: None }
    }

    fn meet(&mut self) -> Result<(), AuditError> {
        let size = self.tree.size();
        let Some(ahead) = &mut self.ahead else { return Ok(()) };
        while let Some(next) = ahead.last().filter(|next| next.size == size) {
            if next.root != self.tree.root() {
                return Err(AuditError::Rewritten { size, made_at: next.made_at.clone() });
            }
            self.newest = ahead.pop();
        }
        Ok(())
    }

    fn furthest(&self) -> Option<&Checkpoint> {
        self.ahead.as_ref().and_then(|ahead| ahead.first())
    }

    /// Returns how many lines are signed.
    fn last(&self) -> u64 {
        self.newest.as_ref().map_or(0, |newest| newest.size)
    }
}

/// Returns the checkpoints on disk, the nearest last.
fn ahead(
    settings: &CheckpointSettings,
    keys: &SigningKeys,
) -> Result<Vec<Checkpoint>, CheckpointerError> {
    let mut ahead = on_file(settings, keys)?;
    ahead.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
    Ok(ahead)
}

/// Returns the key of a size, zero-padded so that keys sort by size.
fn name(size: u64) -> String {
    format!("{size:012}")
}
