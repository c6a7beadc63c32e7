//! Files that must not be opened, each with a text that says what to do.

use std::path::Path;

use gancho_store::StoreError;
use gancho_store_sqlite::{Options, SqliteStore};

/// Returns the text of the refusal. The file must be unchanged afterwards.
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

/// faults.md 24: a file with several names is one file.
#[test]
fn another_name_of_the_same_file_is_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let first = SqliteStore::open(&Options::at(&path)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("linked.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let text = refusal(&link);
    assert!(text.contains("in use by another gancho process"), "{text}");
    if cfg!(target_os = "linux") {
        for name in [folder.path().join("other.db"), elsewhere.path().join("hard.db")] {
            if std::fs::hard_link(&path, &name).is_ok() {
                let text = refusal(&name);
                assert!(text.contains("in use by another gancho process"), "{text}");
            }
        }
    }
    // The refused attempts have not disturbed the process that has it open.
    drop(first);
    let lock = std::fs::File::open(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    drop(lock);
    assert!(SqliteStore::open(&Options::at(&link)).is_ok());
}

/// faults.md 23: wherever the file is, no other user can read it.
#[tokio::test]
async fn the_file_and_its_log_are_private() {
    use std::os::unix::fs::PermissionsExt;

    use gancho_store::{Collection, Documents, Precondition};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    let mode = |ending: &str| {
        let name = format!("{}{ending}", path.display());
        std::fs::metadata(name).unwrap().permissions().mode() & 0o777
    };
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    let note = Collection::operators("note");
    store.put_document(note, "a", "1".into(), Precondition::Nothing).await.unwrap();
    assert_eq!([mode(""), mode("-wal"), mode("-shm")], [0o600; 3]);
    assert_eq!(
        std::fs::metadata(path.with_extension("lock")).unwrap().permissions().mode() & 0o777,
        0o600
    );
    drop(store);
    let lock = std::fs::File::open(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    drop(lock);
    // A file that an earlier version made: other users lose access, the group keeps it.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o664)).unwrap();
    let store = SqliteStore::open(&Options::at(&path)).unwrap();
    store.put_document(note, "b", "1".into(), Precondition::Nothing).await.unwrap();
    assert_eq!([mode(""), mode("-wal")], [0o660; 2]);
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
    // Every page but the first, because without its header the file would be no database at all.
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
            assert!(text.contains("cannot create the folder"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

/// Waits until the writer has released the file.
fn open_and_close(path: &Path) {
    drop(SqliteStore::open(&Options::at(path)).unwrap());
    let lock = std::fs::File::open(path.with_extension("lock")).unwrap();
    lock.lock().unwrap();
}

#[tokio::test]
async fn others_may_look_but_not_write() {
    use gancho_store::{Collection, Documents, Precondition};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho 100%.db");
    assert!(SqliteStore::open_to_read(&path).is_err(), "there is none yet");
    assert!(!path.exists(), "looking has made a file");
    let first = SqliteStore::open(&Options::at(&path)).unwrap();
    let collection = Collection::operators("note");
    first.put_document(collection, "a", "1".into(), Precondition::Nothing).await.unwrap();
    let second = SqliteStore::open_to_read(&path).unwrap();
    assert_eq!(second.document(collection, "a").await.unwrap().unwrap().body, "1");
    first.put_document(collection, "b", "2".into(), Precondition::Nothing).await.unwrap();
    assert_eq!(
        second.documents(collection, None, 10).await.unwrap().len(),
        2,
        "what came later is seen"
    );
    let refused = second.put_document(collection, "c", "3".into(), Precondition::Nothing).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    drop((first, second));
    // A process that has closed the store leaves all of it in the file.
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy ?#.db");
    std::fs::copy(&path, &copy).unwrap();
    let db = SqliteStore::open_to_read(&copy).unwrap();
    assert_eq!(db.documents(collection, None, 10).await.unwrap().len(), 2);
}

#[test]
fn looking_refuses_what_is_not_of_this_version() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    open_and_close(&path);
    for (version, word) in [(999, "newer Gancho"), (0, "older Gancho")] {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", version).unwrap();
        drop(db);
        let refused = SqliteStore::open_to_read(&path).err().unwrap().to_string();
        assert!(refused.contains(word), "{refused}");
    }
    std::fs::write(&path, "dear diary, ".repeat(1_000)).unwrap();
    let refused = SqliteStore::open_to_read(&path).err().unwrap().to_string();
    assert!(refused.contains("not a Gancho database"), "{refused}");
}

#[test]
fn a_copy_without_its_log_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gancho.db");
    std::fs::write(&path, "").unwrap();
    let refused = SqliteStore::open_to_read(&path).err().unwrap().to_string();
    assert!(refused.contains("ends in -wal"), "{refused}");
}
