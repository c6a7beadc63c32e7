//! Reads the ledger, its checkpoints and the keys that signed them. Writes nothing, and does not need the key
//! ring.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use gancho_inbound::{PublicKey, checkpoints::CHECKPOINTS, keys::public_keys};
use gancho_ledger::{Checkpoint, CheckpointError};
use gancho_store::{Collection, Store};

use super::LedgerArgs;
use crate::{
    commands::input,
    database, dev_gateway,
    gateway::database_url,
    logs,
    settings::{self, Settings},
};

pub struct Book {
    pub store: Arc<dyn Store>,
    pub keys: Vec<PublicKey>,
    /// Whether the keys come from the database itself.
    pub are_own_keys: bool,
    pub folder: PathBuf,
    pub notes: Vec<SignedCheckpoint>,
    pub unsound: Vec<InvalidCheckpoint>,
}

/// A checkpoint with a valid signature.
#[derive(Debug, Clone)]
pub struct SignedCheckpoint {
    pub checkpoint: Checkpoint,
    pub text: String,
    pub key: PublicKey,
    /// Whether it is stored outside the database.
    pub is_filed: bool,
}

/// A stored checkpoint that is invalid.
#[derive(Debug)]
pub struct InvalidCheckpoint {
    pub place: String,
    pub why: CheckpointError,
}

/// Checkpoints per read.
const PAGE: usize = 1_000;
const COLLECTION: Collection = Collection::operators(CHECKPOINTS);

impl Book {
    pub async fn open(which: &LedgerArgs) -> anyhow::Result<Self> {
        let settings = settings::load(&which.flags)?.settings;
        logs::start(settings.log_format, logs::QUIET);
        let store = database::open_to_read(&database_url(&settings)).await.with_context(|| {
            let hint = "select the data directory with --data-dir, or a database or copy with --database-url sqlite:PATH";
            let hint = dev_gateway::hint().unwrap_or(hint);
            format!("cannot read the ledger. hint: {hint}")
        })?;
        let keys = match &which.keys {
            Some(path) => keys_of(path)?,
            None => public_keys::of_store(&*store).await?,
        };
        let folder = folder(which, &settings)?;
        let mut book = Self {
            store,
            keys,
            are_own_keys: which.keys.is_none(),
            folder,
            notes: Vec::new(),
            unsound: Vec::new(),
        };
        // Read before the lines, so that no checkpoint covers a line that was read too early.
        book.read_files()?;
        book.read_documents().await?;
        Ok(book)
    }

    /// Returns how many checkpoints are stored outside the database.
    pub fn filed(&self) -> usize {
        self.notes.iter().filter(|note| note.is_filed).count()
    }

    fn read_files(&mut self) -> anyhow::Result<()> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(none) if none.kind() == ErrorKind::NotFound => return Ok(()),
            other => other.with_context(|| format!("cannot read {}", self.folder.display()))?,
        };
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        paths.sort();
        for path in paths {
            let bytes =
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            self.take(path.display().to_string(), &bytes, true);
        }
        Ok(())
    }

    async fn read_documents(&mut self) -> anyhow::Result<()> {
        let mut after = None;
        loop {
            let documents = self.store.documents(COLLECTION, after.as_deref(), PAGE).await?;
            for document in &documents {
                self.take(format!("{} in the database", document.key), &document.body, false);
            }
            after = documents.last().map(|document| document.key.clone());
            if documents.len() < PAGE {
                return Ok(());
            }
        }
    }

    fn take(&mut self, place: String, bytes: &[u8], is_filed: bool) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut worst = CheckpointError::OtherKey;
        for key in &self.keys {
            match key.verifier().open(&text) {
                Ok(checkpoint) => {
                    self.notes.push(SignedCheckpoint { checkpoint, text, key: *key, is_filed });
                    return;
                }
                Err(CheckpointError::OtherKey) => {}
                Err(why) => worst = why,
            }
        }
        self.unsound.push(InvalidCheckpoint { place, why: worst });
    }
}

/// Returns the directory of the checkpoints. One that the user names must exist; the default one may not
/// exist yet.
fn folder(which: &LedgerArgs, settings: &Settings) -> anyhow::Result<PathBuf> {
    match &which.checkpoints {
        Some(folder) if !folder.is_dir() => {
            bail!("the directory {} does not exist", folder.display())
        }
        Some(folder) => Ok(folder.clone()),
        None => Ok(settings.data_dir.join("checkpoints")),
    }
}

/// Reads the keys from a file.
pub fn keys_of(path: &Path) -> anyhow::Result<Vec<PublicKey>> {
    let set = serde_json::from_str(input::json(path)?.get())?;
    let keys = PublicKey::from_jwks(&set);
    if keys.is_empty() {
        bail!(
            "{} contains no Ed25519 key. hint: use the document that the gateway serves at /.well-known/jwks.json",
            path.display()
        );
    }
    Ok(keys)
}
