//! The ledger's checkpoints: they are signed and on disk, and a ledger that was changed is not signed again.

use gancho_inbound::{
    Checkpointer, CheckpointerError,
    checkpoints::{CHECKPOINTS, CheckpointSettings, on_file},
};
use gancho_ledger::{Audit, AuditError};
use gancho_store::Collection;

use crate::stage::{Stage, core};

fn settings(stage: &Stage) -> CheckpointSettings {
    CheckpointSettings::new("gancho.test/ledger", stage.place.folder().join("checkpoints"))
}

fn open(stage: &Stage) -> Checkpointer {
    let node = &stage.node;
    let clock = stage.clock.clone();
    Checkpointer::open(node.store.clone(), node.keys.clone(), clock, settings(stage))
}

/// Returns the names of the files in the directory.
fn names(stage: &Stage) -> Vec<String> {
    let entries = std::fs::read_dir(settings(stage).folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn receive(stage: &Stage, range: std::ops::Range<u32>) {
    for n in range {
        stage.kept(&stage.signed(&format!("{{\"n\":{n}}}"))).await;
    }
}

async fn they_are_kept_outside_and_the_ledger_agrees(stage: &Stage) {
    stage.acme(&core().await).await;
    let checkpointer = open(stage);
    assert_eq!(checkpointer.run_once(false).await.unwrap(), None, "there is nothing yet");
    receive(stage, 0..3).await;
    let first = checkpointer.run_once(false).await.unwrap().unwrap();
    assert_eq!(first.size, 3);
    assert_eq!(checkpointer.run_once(false).await.unwrap(), None, "nothing was added");
    receive(stage, 3..10).await;
    let second = checkpointer.run_once(false).await.unwrap().unwrap();
    assert_eq!(second.size, 10);
    let mut filed = on_file(&settings(stage), &stage.node.keys).unwrap();
    filed.sort_by_key(|checkpoint| checkpoint.size);
    assert_eq!(filed, [first, second]);
    let collection = Collection::operators(CHECKPOINTS);
    assert_eq!(stage.node.store.documents(collection, None, 10).await.unwrap().len(), 2);
    let mut audit = Audit::new(filed).unwrap();
    for line in stage.node.store.ledger_lines(0, 100).await.unwrap() {
        audit.take(&line).unwrap();
    }
    assert_eq!(audit.finish().unwrap().checkpoints, 2);
    // Another process continues where this one stopped, even with a new key.
    stage.node.keys.rotate().await.unwrap();
    receive(stage, 10..11).await;
    assert_eq!(open(stage).run_once(false).await.unwrap().unwrap().size, 11);
    assert_eq!(on_file(&settings(stage), &stage.node.keys).unwrap().len(), 3);
}

/// faults.md B14: a node that signs nothing and has no files finds the newest checkpoint in the store,
/// however many are before it and however many lines are after it.
async fn any_node_knows_the_newest(stage: &Stage) {
    stage.acme(&core().await).await;
    let checkpointer = open(stage);
    let elsewhere = tempfile::tempdir().unwrap();
    let idle = || {
        let (node, clock) = (&stage.node, stage.clock.clone());
        let settings = CheckpointSettings::new("gancho.test/ledger", elsewhere.path());
        Checkpointer::open(node.store.clone(), node.keys.clone(), clock, settings)
    };
    assert_eq!(idle().status().await.unwrap().newest, None);
    let mut lines = 0;
    for more in [1, 1, 2, 7, 1, 13, 1, 40] {
        receive(stage, lines..lines + more).await;
        lines += more;
        let made = checkpointer.run_once(false).await.unwrap();
        for standing in [idle().status().await.unwrap(), checkpointer.status().await.unwrap()] {
            assert_eq!((standing.size, &standing.newest), (u64::from(lines), &made));
        }
    }
    let newest = idle().status().await.unwrap().newest;
    receive(stage, lines..lines + 30).await;
    let standing = idle().status().await.unwrap();
    assert_eq!((standing.size, standing.newest), (u64::from(lines) + 30, newest));
}

/// A file is never overwritten, and a changed file is noticed.
async fn files_are_not_written_over(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..1).await;
    open(stage).run_once(true).await.unwrap().unwrap();
    open(stage).run_once(true).await.unwrap().unwrap();
    assert_eq!(names(stage), ["000000000001-1.txt", "000000000001.txt"]);
    let path = settings(stage).folder.join("000000000001.txt");
    let text = std::fs::read_to_string(&path).unwrap().replace("\n1\n", "\n2\n");
    std::fs::write(&path, text).unwrap();
    receive(stage, 1..2).await;
    let error = open(stage).run_once(false).await.unwrap_err();
    assert!(matches!(error, CheckpointerError::Foreign(invalid) if invalid == path));
}

/// A process that ended while it wrote leaves an incomplete file. Under a temporary name it has no effect.
/// Under the name of a checkpoint it may have been one, so nothing is signed until someone has checked it.
async fn what_is_not_whole_is_not_taken_for_one(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..2).await;
    let folder = settings(stage).folder;
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("000000000002.tmp"), "gancho.te").unwrap();
    open(stage).run_once(false).await.unwrap().unwrap();
    assert_eq!(names(stage), ["000000000002.tmp", "000000000002.txt"]);
    let note = std::fs::read(folder.join("000000000002.txt")).unwrap();
    assert_eq!(open(stage).run_once(false).await.unwrap(), None, "it is whole");

    let path = folder.join("000000000003.txt");
    for invalid in [&b""[..], &note[..note.len() / 2], b"\xff\xfe", b"gancho.test/ledger\n3\n"] {
        std::fs::write(&path, invalid).unwrap();
        let before = names(stage);
        let checkpointer = open(stage);
        receive(stage, 2..4).await;
        for force in [false, true, false] {
            let error = checkpointer.run_once(force).await.unwrap_err();
            assert!(
                matches!(&error, CheckpointerError::Foreign(found) if *found == path),
                "{error}"
            );
        }
        let newest = checkpointer.status().await.unwrap().newest.unwrap();
        assert_eq!(newest.size, 2, "the last that was signed");
        assert_eq!(names(stage), before);
    }
    let checkpointer = open(stage);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(checkpointer.run_once(false).await.unwrap().unwrap().size, 4);
}

/// A database that was restored from an old copy has fewer lines than were signed for.
async fn a_store_that_was_put_back_is_noticed(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..5).await;
    open(stage).run_once(false).await.unwrap().unwrap();
    // Another store with the same keys and fewer lines represents the old copy.
    let old = if stage.is_postgres() { Stage::postgres().await } else { Stage::sqlite().await };
    old.acme(&core().await).await;
    for n in 0..2 {
        old.kept(&old.signed(&format!("{{\"n\":{n}}}"))).await;
    }
    let checkpoints_of = |of: &Stage| {
        let (store, keys) = (of.node.store.clone(), stage.node.keys.clone());
        Checkpointer::open(store, keys, stage.clock.clone(), settings(stage))
    };
    let before = names(stage);
    let running = checkpoints_of(&old);
    let is_short = |error: &CheckpointerError| {
        matches!(error, CheckpointerError::AuditError(AuditError::Short { found: 2, size: 5, .. }))
    };
    let error = running.run_once(false).await.unwrap_err();
    assert!(is_short(&error), "{error}");
    // A ledger with as many other lines was rewritten. It is never signed: however often it is checked,
    // whatever is appended, and also by a process that knows only the files.
    for end in [6, 7, 12, 20] {
        for n in end - 4..end {
            old.send(&old.signed(&format!("{{\"other\":{n}}}"))).await;
        }
        let restarted = checkpoints_of(&old);
        for force in [false, false, true, false] {
            let error = running.run_once(force).await.unwrap_err();
            assert!(is_short(&error), "what was found is not forgotten: {error}");
            let error = restarted.run_once(force).await.unwrap_err();
            assert!(
                matches!(
                    &error,
                    CheckpointerError::AuditError(AuditError::Rewritten { size: 5, .. })
                ),
                "{error}"
            );
        }
    }
    assert_eq!(names(stage), before);
    let collection = Collection::operators(CHECKPOINTS);
    assert_eq!(old.node.store.documents(collection, None, 10).await.unwrap(), []);
    // The ledger of these checkpoints is still signed for.
    receive(stage, 5..6).await;
    assert_eq!(open(stage).run_once(false).await.unwrap().unwrap().size, 6);
}

/// Several checkpoints on disk, of which the first match: the walk must not pass over the first that does
/// not.
async fn the_first_that_differs_is_the_last_word(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..2).await;
    let writing = open(stage);
    for n in 2..6 {
        writing.run_once(false).await.unwrap().unwrap();
        receive(stage, n..n + 1).await;
    }
    let before = names(stage);
    assert_eq!(before.len(), 4);
    let other = if stage.is_postgres() { Stage::postgres().await } else { Stage::sqlite().await };
    other.acme(&core().await).await;
    for n in 0..9 {
        other.kept(&other.signed(&format!("{{\"other\":{n}}}"))).await;
    }
    let (store, keys) = (other.node.store.clone(), stage.node.keys.clone());
    let checkpointer = Checkpointer::open(store, keys, stage.clock.clone(), settings(stage));
    for _ in 0..8 {
        let error = checkpointer.run_once(false).await.unwrap_err();
        let is_first =
            matches!(&error, CheckpointerError::AuditError(AuditError::Rewritten { size: 2, .. }));
        assert!(is_first, "{error}");
    }
    assert_eq!(names(stage), before);
}

on_both!(
    any_node_knows_the_newest,
    they_are_kept_outside_and_the_ledger_agrees,
    files_are_not_written_over,
    what_is_not_whole_is_not_taken_for_one,
    a_store_that_was_put_back_is_noticed,
    the_first_that_differs_is_the_last_word,
);
