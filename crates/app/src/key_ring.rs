//! The key ring: from the settings, or from a file that is created once, with the database.

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
pub struct LoadedKeyRing {
    pub keys: Arc<KeyRing>,
    /// `None` if the ring is a setting, which cannot be changed from here.
    pub file: Option<PathBuf>,
    /// Whether this process has created it.
    pub is_new: bool,
}

/// The source of the ring. A new one is created only once the database is open and has nothing that another
/// ring has encrypted.
#[derive(Clone)]
pub enum RingSource {
    Loaded(LoadedKeyRing),
    /// There is no file at this path yet.
    Missing(PathBuf),
}

impl From<LoadedKeyRing> for RingSource {
    fn from(ring: LoadedKeyRing) -> Self {
        Self::Loaded(ring)
    }
}

pub fn of(settings: &Settings) -> anyhow::Result<RingSource> {
    if let Some(text) = &settings.master_key {
        // A semicolon replaces a line break where that is not possible.
        let text = text.reveal().replace(';', "\n");
        let keys = KeyRing::parse(&text).context("master_key")?;
        return Ok(LoadedKeyRing { keys: Arc::new(keys), file: None, is_new: false }.into());
    }
    match &settings.master_key_file {
        // A configured file is not created: a typo in its name must not make every secret unreadable.
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

/// Returns the file of the ring; `None` if the ring is a setting.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    if settings.master_key.is_some() {
        return None;
    }
    let named = settings.master_key_file.clone();
    Some(named.unwrap_or_else(|| settings.data_dir.join(FILE)))
}

/// Returns the ring in a data directory.
pub fn in_folder(folder: &Path) -> anyhow::Result<RingSource> {
    let path = folder.join(FILE);
    Ok(match private_file::read(&path)? {
        Some(text) => parsed(&text, &path)?.into(),
        None => RingSource::Missing(path),
    })
}

impl RingSource {
    /// Fails if there is no ring for the secrets in the store. The store may be of an earlier version, and
    /// then cannot always be read: [`Self::open`] fails later.
    pub async fn check(&self, store: &dyn Store) -> anyhow::Result<()> {
        let Self::Missing(path) = self else { return Ok(()) };
        refuse_if_in_use(path, &keys_in_use(store).await.unwrap_or_default())
    }

    /// Returns the ring. Creates it with mode 0600 if there is none. Fails, and writes nothing, if the
    /// database already has encrypted secrets: a new ring could not decrypt them and would hide that the old
    /// one is missing.
    pub async fn open(self, store: &dyn Store) -> anyhow::Result<LoadedKeyRing> {
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
        Ok(LoadedKeyRing { is_new, ..parsed(&text, &path)? })
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

fn parsed(text: &str, path: &Path) -> anyhow::Result<LoadedKeyRing> {
    let keys =
        KeyRing::parse(text).with_context(|| format!("invalid key ring {}", path.display()))?;
    Ok(LoadedKeyRing { keys: Arc::new(keys), file: Some(path.to_owned()), is_new: false })
}

impl LoadedKeyRing {
    /// Explains which ring is wrong if the gateway's signing key cannot be decrypted with it. Removes a ring
    /// that was created just now, because another node has set the database up at the same moment.
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

    /// Adds a key to the file. This process encrypts with it only after [`LoadedKeyRing::refresh`].
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

    /// Loads the current content of the file. Returns whether anything was new.
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

    /// Permanently removes a key from the file.
    pub fn drop_key(&self, number: u32) -> anyhow::Result<()> {
        let path = self
            .file
            .as_ref()
            .context("the key ring is in the settings (master_key). hint: remove the line there")?;
        private_file::replace(path, &self.keys.without(number)?.text())
    }
}
