//! The archive as files in a directory, accessible by the owner of the process only.

use std::{
    collections::BTreeSet,
    fs::{DirBuilder, File, Permissions},
    io::{self, ErrorKind::PermissionDenied, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_engine::{Archive, ArchiveError, LetterName};
use gancho_store::{FullDeadLetter, Store};

use crate::{document, layout};

pub struct FolderArchive {
    folder: PathBuf,
    /// Used to look up tenants' slugs.
    store: Arc<dyn Store>,
}

impl FolderArchive {
    /// Creates the archive. The directory is created with the first dead letter.
    pub fn new(folder: impl Into<PathBuf>, store: Arc<dyn Store>) -> Self {
        Self { folder: folder.into(), store }
    }
}

#[async_trait]
impl Archive for FolderArchive {
    async fn write_letters(&self, letters: &[FullDeadLetter]) -> Result<(), ArchiveError> {
        let files = document::files(&*self.store, letters).await?;
        let folder = self.folder.clone();
        let written = tokio::task::spawn_blocking(move || write_all(&folder, &files)).await;
        written.map_err(|_| ArchiveError("writing to the archive was interrupted".into()))?
    }

    async fn forget(&self, letters: &[LetterName], _: Time) -> Result<u64, ArchiveError> {
        let folders = layout::folders(&*self.store, letters).await?;
        let names = letters.iter().map(|letter| layout::file(letter.delivery));
        let files: Vec<_> =
            folders.iter().map(|folder| self.folder.join(folder)).zip(names).collect();
        let removed = tokio::task::spawn_blocking(move || remove_all(&files)).await;
        let removed = removed
            .map_err(|_| ArchiveError("removing from the archive was interrupted".into()))?;
        removed.map_err(|error| ArchiveError(format!("cannot remove from the archive: {error}")))
    }
}

/// Removes files. Searches the directory of every day for each.
fn remove_all(files: &[(PathBuf, String)]) -> io::Result<u64> {
    let mut count = 0;
    for (folder, name) in files {
        let days = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            days => days?,
        };
        for day in days {
            let day = day?.path();
            match std::fs::remove_file(day.join(name)) {
                Ok(()) => {
                    File::open(&day)?.sync_all()?;
                    count += 1;
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(count)
}

/// Writes files. Each is written atomically, and all are fsynced when this returns.
fn write_all(root: &Path, files: &[(String, Vec<u8>)]) -> Result<(), ArchiveError> {
    let mut folders = BTreeSet::new();
    for (name, text) in files {
        let path = root.join(name);
        write(root, &path, text, &mut folders).map_err(|error| {
            ArchiveError(format!(
                "cannot write {}: {error}. hint: check the free space and the permissions of the archive directory",
                path.display()
            ))
        })?;
    }
    // A file name is durable once its directory was fsynced. The deepest directories come last, so they are
    // fsynced in reverse order.
    for folder in folders.iter().rev() {
        match File::open(folder).and_then(|open| open.sync_all()) {
            Ok(()) => {}
            // The parent of the archive may belong to another user.
            Err(error) if error.kind() == PermissionDenied && !folder.starts_with(root) => {}
            Err(error) => {
                let why = format!("cannot fsync the directory {}: {error}", folder.display());
                return Err(ArchiveError(why));
            }
        }
    }
    Ok(())
}

fn write(root: &Path, path: &Path, text: &[u8], folders: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(root);
    if !folders.contains(folder) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let inside = folder.ancestors().take_while(|one| one.starts_with(root));
        folders.extend(inside.map(Path::to_owned));
        // The archive directory itself may be new as well.
        let above = root.parent().filter(|above| !above.as_os_str().is_empty());
        folders.insert(above.unwrap_or(Path::new(".")).to_owned());
    }
    let mut new = tempfile::Builder::new()
        .prefix(".")
        .suffix(".new")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    new.write_all(text)?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}
