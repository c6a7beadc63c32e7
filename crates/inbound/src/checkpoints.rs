//! Signed checkpoints of the ledger, kept in the store and, so that a store that was changed or put
//! back is noticed, as files beside it that are never written twice.
//!
//! Lines are walked as they are signed for: a ledger whose chain is broken, or that is shorter than a
//! checkpoint on file, is not signed again, and that is said loudly.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use gancho_domain::Clock;
use gancho_ledger::{Checkpoint, CheckpointError, Flaw, Hash, Head, Tree};
use gancho_store::{Expect, Shelf, Store, StoreError};
use thiserror::Error;
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::SigningKeys;

/// The records' kind; each stands under its size.
pub const CHECKPOINTS: &str = "checkpoint";
/// Whose ledger it is, where nothing else is said.
pub const ORIGIN: &str = "gancho/ledger";
const SHELF: Shelf = Shelf::operators(CHECKPOINTS);
const PAGE: usize = 1_000;
const LOOK_EVERY: Duration = Duration::from_secs(5);

pub struct Checkpointer {
    store: Arc<dyn Store>,
    keys: Arc<SigningKeys>,
    clock: Arc<dyn Clock>,
    settings: CheckpointSettings,
    walked: Mutex<Walked>,
}

#[derive(Debug, Clone)]
pub struct CheckpointSettings {
    /// Whose ledger it is: a name without blanks.
    pub origin: String,
    /// Where the files go.
    pub folder: PathBuf,
    /// One is made when so many lines were added,
    pub lines: u64,
    /// or when some were and so long has passed.
    pub every: Duration,
}

impl CheckpointSettings {
    pub fn new(origin: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        let (origin, folder) = (origin.into(), folder.into());
        Self { origin, folder, lines: 1_000, every: Duration::from_mins(1) }
    }
}

/// How far the ledger was walked by this process.
struct Walked {
    head: Head,
    tree: Tree,
    /// Those on file that the walk has not reached, the nearest last.
    ahead: Vec<Checkpoint>,
    /// The last one made or met.
    newest: Option<Checkpoint>,
}

/// How far the ledger goes, and how far it is signed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How many lines there are.
    pub size: u64,
    /// As far as this process knows.
    pub newest: Option<Checkpoint>,
}

#[derive(Debug, Error)]
pub enum CheckpointFault {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger is not what it was. Nothing is signed.
    #[error("the ledger does not hold: {0}. hint: run `gancho ledger verify`")]
    Flaw(#[from] Flaw),
    #[error("the checkpoint at {0} cannot be written or read: {1}")]
    File(PathBuf, io::Error),
    #[error("the checkpoint cannot be signed or opened: {0}")]
    Note(#[from] CheckpointError),
    #[error("the checkpoint at {0} was not signed by this gateway")]
    Foreign(PathBuf),
}

impl Checkpointer {
    /// Reads what is on file: the ledger must agree with all of it.
    pub fn open(
        store: Arc<dyn Store>,
        keys: Arc<SigningKeys>,
        clock: Arc<dyn Clock>,
        settings: CheckpointSettings,
    ) -> Result<Self, CheckpointFault> {
        let mut ahead = on_file(&settings, &keys)?;
        ahead.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.size));
        let walked = Walked { head: Head::start(), tree: Tree::default(), ahead, newest: None };
        Ok(Self { store, keys, clock, settings, walked: Mutex::new(walked) })
    }

    /// Makes one if lines were added since the last; with `force` also if none were.
    pub async fn run_once(&self, force: bool) -> Result<Option<Checkpoint>, CheckpointFault> {
        let mut walked = self.walked.lock().await;
        self.walk(&mut walked).await?;
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
        // The file first: what is in the store can be changed by whoever changes the ledger.
        self.write(&checkpoint, &note)?;
        let name = name(size);
        self.store.put_record(SHELF, &name, Bytes::from(note), Expect::Nothing).await?;
        walked.newest = Some(checkpoint.clone());
        Ok(Some(checkpoint))
    }

    pub async fn standing(&self) -> Result<Standing, CheckpointFault> {
        let walked = self.walked.lock().await;
        let newest = walked.ahead.first().or(walked.newest.as_ref()).cloned();
        Ok(Standing { size: self.store.ledger_size().await?, newest })
    }

    /// Looks from time to time, until `stop`; then once more, so that what was received is signed for.
    pub async fn run(&self, stop: CancellationToken) {
        let mut made = Instant::now();
        loop {
            let is_last = tokio::time::timeout(LOOK_EVERY, stop.cancelled()).await.is_ok();
            if is_last || made.elapsed() >= self.settings.every || self.has_many().await {
                match self.run_once(false).await {
                    Ok(Some(_)) => made = Instant::now(),
                    Ok(None) => {}
                    Err(fault @ CheckpointFault::Flaw(_)) => {
                        tracing::error!(%fault, "the ledger was changed");
                    }
                    Err(fault) => tracing::warn!(%fault, "no checkpoint could be made"),
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

    async fn walk(&self, walked: &mut Walked) -> Result<(), CheckpointFault> {
        loop {
            let lines = self.store.ledger_lines(walked.head.number, PAGE).await?;
            for line in &lines {
                let expected = walked.head.number + 1;
                if line.number != expected {
                    return Err(Flaw::Hole { expected, found: line.number }.into());
                }
                let leaf = line.leaf();
                if line.link != Hash::of_link(&walked.head.link, &leaf) {
                    return Err(Flaw::Changed { number: line.number }.into());
                }
                walked.head = line.head();
                walked.tree.push(leaf);
                walked.meet()?;
            }
            if lines.len() < PAGE {
                break;
            }
        }
        match walked.ahead.first() {
            None => self.still_there(walked).await,
            Some(furthest) => Err(Flaw::Short {
                found: walked.head.number,
                size: furthest.size,
                made_at: furthest.made_at.clone(),
            }
            .into()),
        }
    }

    /// A store that was put back while the process ran has fewer lines than were walked.
    async fn still_there(&self, walked: &Walked) -> Result<(), CheckpointFault> {
        let found = self.store.ledger_size().await?;
        if found < walked.head.number {
            let (size, made_at) = (walked.head.number, self.clock.now().to_string());
            return Err(Flaw::Short { found, size, made_at }.into());
        }
        Ok(())
    }

    /// Never over one that is there: at most the same size is written beside it.
    fn write(&self, checkpoint: &Checkpoint, note: &str) -> Result<(), CheckpointFault> {
        let folder = &self.settings.folder;
        let fault = |path: &PathBuf| {
            let path = path.clone();
            move |fault| CheckpointFault::File(path, fault)
        };
        fs::create_dir_all(folder).map_err(fault(folder))?;
        for copy in 0..1_000 {
            let name = match copy {
                0 => format!("{}.txt", name(checkpoint.size)),
                copy => format!("{}-{copy}.txt", name(checkpoint.size)),
            };
            let path = folder.join(name);
            let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other.map_err(fault(&path))?,
            };
            file.write_all(note.as_bytes()).map_err(fault(&path))?;
            file.sync_all().map_err(fault(&path))?;
            // The name of the file has to be on disk too.
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(fault(folder))?;
            return Ok(());
        }
        let full = io::Error::other("too many checkpoints of one size");
        Err(CheckpointFault::File(folder.clone(), full))
    }
}

impl Walked {
    fn meet(&mut self) -> Result<(), Flaw> {
        let size = self.tree.size();
        while let Some(next) = self.ahead.pop_if(|next| next.size == size) {
            if next.root != self.tree.root() {
                return Err(Flaw::Rewritten { size, made_at: next.made_at });
            }
            self.newest = Some(next);
        }
        Ok(())
    }

    /// How far it is signed for.
    fn last(&self) -> u64 {
        self.newest.as_ref().map_or(0, |newest| newest.size)
    }
}

/// So that they sort by size.
fn name(size: u64) -> String {
    format!("{size:012}")
}

/// All that were written here before, each with its signature checked.
pub fn on_file(
    settings: &CheckpointSettings,
    keys: &SigningKeys,
) -> Result<Vec<Checkpoint>, CheckpointFault> {
    let folder = &settings.folder;
    let entries = match fs::read_dir(folder) {
        Err(none) if none.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|fault| CheckpointFault::File(folder.clone(), fault))?,
    };
    let verifiers = keys.verifiers();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.map_err(|fault| CheckpointFault::File(folder.clone(), fault))?.path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let note = fs::read_to_string(&path)
            .map_err(|fault| CheckpointFault::File(path.clone(), fault))?;
        let opened = verifiers.iter().find_map(|verifier| verifier.open(&note).ok());
        all.push(opened.ok_or(CheckpointFault::Foreign(path))?);
    }
    Ok(all)
}
