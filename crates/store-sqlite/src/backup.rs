//! Copies the database while it is in use, and restores such a copy.
//!
//! **Invariant.** The copy is the database at one moment. It is made within one read transaction, so commits
//! of a running gateway neither appear in it nor wait for it. It is complete, checked and synced before it
//! gets its name.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use gancho_store::{Result, StoreError};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use crate::{
    file_lock, migrations,
    open::{self, refused},
    tx_error::store_error,
};

/// Pages that are copied between two reports.
const STEP: i32 = 512;

/// The result of a backup or a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupSummary {
    pub bytes: u64,
    /// Whether it has the schema of this version. An older one is migrated when the gateway starts.
    pub is_current: bool,
}

/// Copies the database to a new file. `progress` gets the number of bytes that are copied, and the total.
pub fn back_up(
    from: &Path,
    to: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<BackupSummary> {
    if to.exists() {
        return Err(refused(format!("{} exists already. hint: choose another name", to.display())));
    }
    let part = beside(to, ".part");
    let source = open::to_read(from)?;
    let made = copy(&source, &part, &mut progress).and_then(|()| check(&part));
    let summary = match made {
        Ok(summary) => summary,
        Err(error) => {
            for ending in ["", "-journal", "-wal", "-shm"] {
                let _ = fs::remove_file(beside(&part, ending));
            }
            return Err(error);
        }
    };
    publish(&part, to)?;
    Ok(summary)
}

/// Checks a copy: reads every page, and checks that this version can open it.
pub fn check(path: &Path) -> Result<BackupSummary> {
    if !path.is_file() {
        return Err(refused(format!("no file found at {}", path.display())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = || -> rusqlite::Result<(String, u64)> {
        let db = Connection::open_with_flags(path, flags)?;
        let verdict = db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        let bytes = fs::metadata(path).map_or(0, |file| file.len());
        Ok((verdict, bytes))
    };
    let damaged = |what: &str| {
        refused(format!(
            "{} is damaged or is not a backup ({what}). hint: use a file that `gancho backup` wrote",
            path.display()
        ))
    };
    let (verdict, bytes) = read().map_err(|error| damaged(&error.to_string()))?;
    if verdict != "ok" {
        return Err(damaged(&verdict));
    }
    let db = Connection::open_with_flags(path, flags).map_err(|error| store_error(&error))?;
    let schema = migrations::schema_of(&db)?;
    Ok(BackupSummary { bytes, is_current: schema == migrations::newest() })
}

/// Replaces the database by a checked copy. Fails while a process has the database open. The database that
/// was there before is renamed; its new name is returned.
pub fn restore(from: &Path, to: &Path, without: &[&str]) -> Result<Option<PathBuf>> {
    check(from)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let failed = |what: &str, error: std::io::Error| refused(format!("cannot {what}: {error}"));
    fs::create_dir_all(folder).map_err(|error| failed("create the directory", error))?;
    let was_there = to.exists();
    let _lock = file_lock::hold(to)?;
    let part = beside(to, ".part");
    if let Err(error) = fs::copy(from, &part) {
        let _ = fs::remove_file(&part);
        return Err(failed("copy the backup", error));
    }
    if let Err(error) = remove_documents(&part, without) {
        let _ = fs::remove_file(&part);
        return Err(refused(format!("cannot change the copy of the backup: {error}")));
    }
    let before = was_there.then(|| free_name(to));
    if let Some(before) = &before {
        for ending in ["", "-wal", "-shm"] {
            let old = beside(to, ending);
            if old.exists() {
                fs::rename(&old, beside(before, ending))
                    .map_err(|error| failed("move the present database away", error))?;
            }
        }
    }
    publish(&part, to)?;
    Ok(before)
}

fn remove_documents(file: &Path, kinds: &[&str]) -> rusqlite::Result<()> {
    let copy = Connection::open(file)?;
    for kind in kinds {
        copy.execute("DELETE FROM records WHERE kind = ?1", [kind])?;
    }
    // As a backup has it: without a write-ahead log beside the file.
    copy.pragma_update(None, "journal_mode", "DELETE")
}

fn copy(source: &Connection, to: &Path, progress: &mut impl FnMut(u64, u64)) -> Result<()> {
    let _ = fs::remove_file(to);
    File::create(to)
        .and_then(|file| file.set_permissions(fs::Permissions::from_mode(0o600)))
        .map_err(|error| refused(format!("cannot write {}: {error}", to.display())))?;
    let mut copy = || -> rusqlite::Result<()> {
        // Held open, so that the copy does not start over after each commit of another connection.
        source.execute_batch("BEGIN")?;
        let size: u64 =
            source.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0))? as u64;
        source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let mut target = Connection::open(to)?;
        {
            let backup = Backup::new(source, &mut target)?;
            loop {
                let step = backup.step(STEP)?;
                let at = backup.progress();
                let done = (at.pagecount - at.remaining).max(0) as u64;
                progress(done * size, at.pagecount.max(0) as u64 * size);
                match step {
                    StepResult::Done => break,
                    StepResult::Busy | StepResult::Locked => {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                    }
                    _ => {}
                }
            }
        }
        source.execute_batch("COMMIT")?;
        // One file, without a write-ahead log beside it.
        target.pragma_update(None, "journal_mode", "DELETE")
    };
    copy().map_err(|error| match store_error(&error) {
        StoreError::Full(_) => refused(format!(
            "cannot write {}: its disk is full; free space there, or choose another directory",
            to.display()
        )),
        other => other,
    })
}

fn publish(part: &Path, to: &Path) -> Result<()> {
    let done = || -> std::io::Result<()> {
        File::open(part)?.sync_all()?;
        fs::rename(part, to)?;
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
    };
    done().map_err(|error| StoreError::Refused(format!("cannot write {}: {error}", to.display())))
}

fn free_name(path: &Path) -> PathBuf {
    let name = |number: u32| beside(path, &format!(".before-restore-{number}"));
    (1..=u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(0))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
