//! Files that must not be opened, each with a text that says what to do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use gancho_store::StoreError;
use gancho_store_sqlite::{Options, SqliteStore};

/// The text of the refusal. The file must be as it was afterwards.
fn refusal(path: &Path) -> String {
    let before = std::fs::read(path).ok();
    match SqliteStore::open(&Options::at(path)) {
        Err(StoreError::Refused(text)) => {
            assert_eq!(std::fs::read(path).ok(), before, "a refused file was changed");
            text
        }
        Err(other) => panic!("refused, but as {other:?}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn a_second_process_is_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let first = SqliteStore::open(&Options::at(&path)).unwrap();
    let text = refusal(&path);
    assert!(text.contains("in use by another gancho process"), "{text}");
    assert!(text.contains("PostgreSQL"), "{text}");
    drop(first);
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "dear diary, ".repeat(1_000)).unwrap();
    let text = refusal(&path);
    assert!(text.contains("damaged or is not a Gancho database"), "{text}");
    assert!(text.contains("Nothing was changed"), "{text}");
}

#[test]
fn a_damaged_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    open_and_close(&path);
    let mut bytes = std::fs::read(&path).unwrap();
    let page = 8_192;
    // Every page but the first, whose header would make it no database at all.
    bytes[page..].iter_mut().for_each(|byte| *byte = 0xAA);
    std::fs::write(&path, bytes).unwrap();
    let text = refusal(&path);
    assert!(text.contains("damaged"), "{text}");
    assert!(text.contains("backup"), "{text}");
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    open_and_close(&path);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let text = refusal(&path);
    assert!(text.contains("newer Gancho (schema 999"), "{text}");
    assert!(text.contains("Start the newer version"), "{text}");
}

#[test]
fn another_programs_database_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE theirs (x);").unwrap();
    drop(db);
    let text = refusal(&path);
    assert!(text.contains("another program"), "{text}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    match SqliteStore::open(&Options::at(file.join("sub").join("gancho.db"))).err() {
        Some(StoreError::Refused(text)) => {
            assert!(text.contains("cannot make the folder"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

/// Waits until the writer has let go of the file.
fn open_and_close(path: &Path) {
    drop(SqliteStore::open(&Options::at(path)).unwrap());
    let lock = std::fs::File::open(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
}
