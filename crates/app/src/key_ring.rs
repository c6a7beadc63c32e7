//! The key ring: from the settings, or from a file that is made once, with the database.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use gancho_inbound::SigningKeysError;
use gancho_store::Store;
use gancho_vault::KeyRing;

use crate::{
    private_file::{self, Creation},
    sealed_records::keys_in_use,
    settings::Settings,
};

const FILE: &str = "master.key";
/// What to do without the right ring.
const HINT: &str = "hint: copy master.key from another node of this database or from a backup (mode 0600), or set master_key_file";

#[derive(Clone)]
pub struct Ring {
    pub keys: Arc<KeyRing>,
    /// `None` if the ring is a setting: then it cannot be changed from here.
    pub file: Option<PathBuf>,
    /// Whether this process has made it.
    pub is_new: bool,
}

/// Where the ring comes from. A new one is made only once the database is open and holds nothing that
/// another ring has sealed.
#[derive(Clone)]
pub enum RingSource {
    Loaded(Ring),
    /// There is no file at this path yet.
    Missing(PathBuf),
}

impl From<Ring> for RingSource {
    fn from(ring: Ring) -> Self {
        Self::Loaded(ring)
    }
}

pub fn of(settings: &Settings) -> anyhow::Result<RingSource> {
    if let Some(text) = &settings.master_key {
        // Where a line cannot be broken, a semicolon does.
        let text = text.reveal().replace(';', "\n");
        let keys = KeyRing::parse(&text).context("master_key")?;
        return Ok(Ring { keys: Arc::new(keys), file: None, is_new: false }.into());
    }
    match &settings.master_key_file {
        // A file that was named is not made: a slip in its name must not make every secret unreadable.
        Some(path) => match private_file::read(path)? {
            Some(text) => Ok(parsed(&text, path)?.into()),
            None => bail!(
                "the key ring {} (master_key_file) does not exist. hint: copy it from another node or from a backup; for a new database, create one with `gancho keys generate > {}` and `chmod 600`",
                path.display(),
                path.display()
            ),
        },
        None => in_folder(&settings.data_dir),
    }
}

/// The file of the ring; `None` if the ring is a setting.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    if settings.master_key.is_some() {
        return None;
    }
    let named = settings.master_key_file.clone();
    Some(named.unwrap_or_else(|| settings.data_dir.join(FILE)))
}

/// The one in a data folder.
pub fn in_folder(folder: &Path) -> anyhow::Result<RingSource> {
    let path = folder.join(FILE);
    Ok(match private_file::read(&path)? {
        Some(text) => parsed(&text, &path)?.into(),
        None => RingSource::Missing(path),
    })
}

impl RingSource {
    /// Fails if there is no ring for what the store holds. It may be of an earlier version, and then cannot always be read:
    /// [`Self::open`] fails later.
    pub async fn check(&self, store: &dyn Store) -> anyhow::Result<()> {
        let Self::Missing(path) = self else { return Ok(()) };
        refuse_if_in_use(path, &keys_in_use(store).await.unwrap_or_default())
    }

    /// The ring, made with mode 0600 where there is none. Fails, and writes nothing, if the database
    /// already holds sealed secrets: a new ring could not open them and would hide that the old one is gone.
    pub async fn open(self, store: &dyn Store) -> anyhow::Result<Ring> {
        let path = match self {
            Self::Loaded(ring) => return Ok(ring),
            Self::Missing(path) => path,
        };
        refuse_if_in_use(&path, &keys_in_use(store).await?)?;
        let new = || Ok(KeyRing::generate()?.text().to_string());
        let (text, made) = private_file::read_or_make(&path, new)?;
        let is_new = made == Creation::Now;
        if is_new {
            tracing::warn!(path = %path.display(), "key ring created; back it up separately from the database");
        }
        Ok(Ring { is_new, ..parsed(&text, &path)? })
    }
}

fn refuse_if_in_use(path: &Path, in_use: &BTreeMap<u32, u64>) -> anyhow::Result<()> {
    if in_use.is_empty() {
        return Ok(());
    }
    let numbers: Vec<String> = in_use.keys().map(ToString::to_string).collect();
    let (word, records) =
        (if numbers.len() == 1 { "key" } else { "keys" }, in_use.values().sum::<u64>());
    bail!(
        "the key ring {} does not exist, but {records} records in the database are encrypted with its {word} {}. No new key ring was created. {HINT}",
        path.display(),
        numbers.join(", ")
    );
}

fn parsed(text: &str, path: &Path) -> anyhow::Result<Ring> {
    let keys =
        KeyRing::parse(text).with_context(|| format!("invalid key ring {}", path.display()))?;
    Ok(Ring { keys: Arc::new(keys), file: Some(path.to_owned()), is_new: false })
}

impl Ring {
    /// Says which ring does not fit where the gateway's signing key does not open with it. One that was
    /// made just now goes away again: another node has set the database up at the same moment.
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        if !matches!(error.downcast_ref(), Some(SigningKeysError::Unusable(_))) {
            return error;
        }
        let name = match &self.file {
            Some(path) => path.display().to_string(),
            None => "the one in the settings (master_key)".to_owned(),
        };
        if let (true, Some(path)) = (self.is_new, &self.file)
            && let Err(error) = std::fs::remove_file(path)
        {
            tracing::warn!(%error, path = %path.display(), "could not delete an unused key ring");
        }
        error.context(format!(
            "the secrets in the database are encrypted with another key ring than {name}. {HINT}"
        ))
    }

    /// Adds a key to the file. It seals here only after [`Ring::refresh`].
    pub fn add_key(&self) -> anyhow::Result<u32> {
        let Some(path) = &self.file else {
            bail!(
                "the key ring is in the settings (master_key) and cannot be changed by this command. hint: add a line to master_key, restart every node with it, and run `gancho keys rotate --no-new-key`"
            );
        };
        let text = private_file::read(path)?
            .with_context(|| format!("{} no longer exists", path.display()))?;
        let longer = KeyRing::parse(&text)?.with_new_key()?;
        private_file::replace(path, &longer.text())?;
        Ok(longer.newest())
    }

    /// Takes on what the file has by now. Says whether anything was new.
    pub fn refresh(&self) -> anyhow::Result<bool> {
        let Some(path) = &self.file else { return Ok(false) };
        let text = private_file::read(path)?
            .with_context(|| format!("{} no longer exists", path.display()))?;
        let read = KeyRing::parse(&text)
            .with_context(|| format!("invalid key ring {}", path.display()))?;
        if read.numbers() == self.keys.numbers() {
            return Ok(false);
        }
        self.keys.adopt(&read)?;
        Ok(true)
    }

    /// Removes a key from the file, for good.
    pub fn drop_key(&self, number: u32) -> anyhow::Result<()> {
        let path = self
            .file
            .as_ref()
            .context("the key ring is in the settings (master_key). hint: remove the line there")?;
        private_file::replace(path, &self.keys.without(number)?.text())
    }
}
