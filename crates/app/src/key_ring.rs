//! The key ring: from the settings, or from a file that is made once.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use gancho_vault::KeyRing;

use crate::{
    private_file::{self, Made},
    settings::Settings,
};

const FILE: &str = "master.key";

#[derive(Clone)]
pub struct Ring {
    pub keys: Arc<KeyRing>,
    /// Nothing where the ring is a setting: then it cannot be changed from here.
    pub file: Option<PathBuf>,
}

pub fn of(settings: &Settings) -> anyhow::Result<Ring> {
    if let Some(text) = &settings.master_key {
        // Where a line cannot be broken, a semicolon does.
        let text = text.reveal().replace(';', "\n");
        let keys = KeyRing::parse(&text).context("master_key")?;
        return Ok(Ring { keys: Arc::new(keys), file: None });
    }
    match &settings.master_key_file {
        // A file that was named is not made: a slip in its name must not make every secret unreadable.
        Some(path) => match private_file::read(path)? {
            Some(text) => parsed(&text, path),
            None => bail!(
                "the key ring {} is not there. hint: make one with `gancho keys generate > {}` and `chmod 600`",
                path.display(),
                path.display()
            ),
        },
        None => in_folder(&settings.data_dir),
    }
}

/// The one in a data folder, made with mode 0600 if it is not there.
pub fn in_folder(folder: &Path) -> anyhow::Result<Ring> {
    let path = folder.join(FILE);
    let new = || Ok(KeyRing::generate()?.text().to_string());
    let (text, made) = private_file::read_or_make(&path, new)?;
    if made == Made::Now {
        tracing::info!(path = %path.display(), "made a key ring; keep a copy apart from the database");
    }
    parsed(&text, &path)
}

fn parsed(text: &str, path: &Path) -> anyhow::Result<Ring> {
    let keys = KeyRing::parse(text).with_context(|| format!("the key ring {}", path.display()))?;
    Ok(Ring { keys: Arc::new(keys), file: Some(path.to_owned()) })
}

impl Ring {
    /// Adds a key to the file. It seals here only after [`Ring::refresh`].
    pub fn add_key(&self) -> anyhow::Result<u32> {
        let Some(path) = &self.file else {
            bail!(
                "the key ring is in the settings (master_key) and cannot be changed from here. hint: add a line there yourself, start every node with it, and run `gancho keys rotate --no-new-key`"
            );
        };
        let text =
            private_file::read(path)?.with_context(|| format!("{} is gone", path.display()))?;
        let longer = KeyRing::parse(&text)?.with_new_key()?;
        private_file::replace(path, &longer.text())?;
        Ok(longer.newest())
    }

    /// Takes on what the file has by now. Says whether anything was new.
    pub fn refresh(&self) -> anyhow::Result<bool> {
        let Some(path) = &self.file else { return Ok(false) };
        let text =
            private_file::read(path)?.with_context(|| format!("{} is gone", path.display()))?;
        let read =
            KeyRing::parse(&text).with_context(|| format!("the key ring {}", path.display()))?;
        if read.numbers() == self.keys.numbers() {
            return Ok(false);
        }
        self.keys.adopt(&read)?;
        Ok(true)
    }

    /// Removes a key from the file, for good.
    pub fn drop_key(&self, number: u32) -> anyhow::Result<()> {
        let path =
            self.file.as_ref().context("the key ring is in the settings: remove the line there")?;
        private_file::replace(path, &self.keys.without(number)?.text())
    }
}
