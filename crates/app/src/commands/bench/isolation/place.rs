//! Creates an empty database for each gateway, so that one step does not affect the next.

use std::path::{Path, PathBuf};

use gancho_store_postgres::ScratchDatabase;
use tempfile::TempDir;

/// Where databases are created. At most one exists at a time.
pub struct StoreLocations {
    database_url: Option<String>,
    current: Option<StoreLocation>,
    created: usize,
}

struct StoreLocation {
    folder: TempDir,
    scratch: Option<ScratchDatabase>,
}

impl StoreLocations {
    /// Uses the PostgreSQL server or the directory of the SQLite file in the URL; without a URL, a temporary
    /// directory.
    pub fn new(database_url: Option<String>) -> Self {
        Self { database_url, current: None, created: 0 }
    }

    /// Removes the previous database and creates the next. Returns its URL and a directory for the gateway's
    /// data.
    pub async fn next(&mut self) -> anyhow::Result<(String, PathBuf)> {
        self.clear().await?;
        self.created += 1;
        let (url, place) = match &self.database_url {
            Some(url) if !url.starts_with("sqlite:") => {
                let name = format!("gancho_bench_{}_{}", std::process::id(), self.created);
                let scratch = ScratchDatabase::create(url, &name).await?;
                (
                    scratch.url(),
                    StoreLocation { folder: tempfile::tempdir()?, scratch: Some(scratch) },
                )
            }
            asked => {
                let file = asked.as_deref().and_then(|url| url.strip_prefix("sqlite:"));
                let folder = match file.and_then(|file| Path::new(file).parent()) {
                    Some(parent) if parent != Path::new("") => tempfile::tempdir_in(parent)?,
                    _ => tempfile::tempdir()?,
                };
                let url = format!("sqlite:{}", folder.path().join("bench.db").display());
                (url, StoreLocation { folder, scratch: None })
            }
        };
        let folder = place.folder.path().to_owned();
        self.current = Some(place);
        Ok((url, folder))
    }

    pub async fn clear(&mut self) -> anyhow::Result<()> {
        let Some(StoreLocation { folder, scratch }) = self.current.take() else { return Ok(()) };
        if let Some(scratch) = scratch {
            scratch.remove().await?;
        }
        folder.close()?;
        Ok(())
    }
}
