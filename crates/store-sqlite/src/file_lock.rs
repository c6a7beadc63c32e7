//! Locks the database file: only one process may have it open, and no other user of the machine may read it.
//!
//! A file may have several names, by a link or another mount. So it is locked twice, by a lock file beside
//! its real path and, if the system allows it, on the file itself. Two processes on one file would each trust
//! a stale cache.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use gancho_store::Result;

use crate::open::refused;

/// Held as long as the process lives; the system releases it when the process dies.
pub(crate) struct FileLock {
    _beside: File,
    _file: Option<File>,
}

/// Only its owner may read and write it.
const PRIVATE: u32 = 0o600;

/// Locks the file, and creates it if it does not exist. SQLite gives its log and its index the same rights.
pub(crate) fn hold(path: &Path) -> Result<FileLock> {
    let named =
        |what: &str, error: &io::Error| refused(format!("{what} {}: {error}", path.display()));
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close_to_others(path),
        Err(error) => return Err(named("cannot open", &error)),
    }
    let real = fs::canonicalize(path).map_err(|error| named("cannot open", &error))?;
    let beside = real.with_extension("lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(PRIVATE)
        .open(&beside)
        .map_err(|error| refused(format!("cannot open the lock {}: {error}", beside.display())))?;
    take(&lock, path)?;
    Ok(FileLock { _beside: lock, _file: hold_inode(&real, path)? })
}

/// Restricts the rights to the file, because files of earlier versions were readable by anyone. The group is
/// unchanged: backups may need it.
fn close_to_others(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let Ok(file) = fs::metadata(&name) else { continue };
        let mode = file.mode() & 0o7777;
        if mode & 0o007 != 0 {
            let closed = fs::set_permissions(&name, fs::Permissions::from_mode(mode & !0o007));
            if let Err(error) = closed {
                tracing::warn!(%error, path = %path.display(), hint = "run chmod o-rwx on it", "database is readable by others");
            }
        }
    }
}

/// Locks the file itself. On Linux a lock of this kind and those of SQLite are independent; elsewhere they
/// would conflict, as on network file systems.
#[cfg(target_os = "linux")]
fn hold_inode(real: &Path, path: &Path) -> Result<Option<File>> {
    const REMOTE: [u64; 3] = [0x6969, 0xff53_4d42, 0xfe53_4d42];
    let is_remote = |kind: u64| REMOTE.contains(&(kind & 0xffff_ffff));
    if rustix::fs::statfs(real).is_ok_and(|system| is_remote(system.f_type as u64)) {
        return Ok(None);
    }
    let file = File::open(real)
        .map_err(|error| refused(format!("cannot open {}: {error}", path.display())))?;
    let taken = take(&file, path);
    if taken.is_err() {
        // Closing it would release the locks that SQLite holds on the same file, if this process has it
        // open.
        std::mem::forget(file);
        return taken.map(|()| None);
    }
    Ok(Some(file))
}

#[cfg(not(target_os = "linux"))]
fn hold_inode(_real: &Path, _path: &Path) -> Result<Option<File>> {
    Ok(None)
}

fn take(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(refused(format!(
            "{} is in use by another gancho process. hint: stop that one first, or give this one another directory with --data-dir; for several processes on one database use PostgreSQL",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => {
            Err(refused(format!("cannot lock {}: {error}", path.display())))
        }
    }
}
