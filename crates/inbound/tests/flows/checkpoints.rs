//! The ledger's checkpoints: signed, on file, and a ledger that is not what it was is not signed again.

use gancho_inbound::{
    CheckpointFault, Checkpointer,
    checkpoints::{CHECKPOINTS, CheckpointSettings, on_file},
};
use gancho_ledger::{Audit, Flaw};
use gancho_store::Shelf;

use crate::stage::{Stage, core};

fn settings(stage: &Stage) -> CheckpointSettings {
    CheckpointSettings::new("gancho.test/ledger", stage.folder.path().join("checkpoints"))
}

fn open(stage: &Stage) -> Checkpointer {
    let node = &stage.node;
    let clock = stage.clock.clone();
    Checkpointer::open(node.store.clone(), node.keys.clone(), clock, settings(stage)).unwrap()
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
    let shelf = Shelf::operators(CHECKPOINTS);
    assert_eq!(stage.node.store.records(shelf, None, 10).await.unwrap().len(), 2);
    let mut audit = Audit::new(filed).unwrap();
    for line in stage.node.store.ledger_lines(0, 100).await.unwrap() {
        audit.take(&line).unwrap();
    }
    assert_eq!(audit.finish().unwrap().checkpoints, 2);
    // Another process goes on where this one was, also with a new key.
    stage.node.keys.rotate().await.unwrap();
    receive(stage, 10..11).await;
    assert_eq!(open(stage).run_once(false).await.unwrap().unwrap().size, 11);
    assert_eq!(on_file(&settings(stage), &stage.node.keys).unwrap().len(), 3);
}

/// A file that is there is never written over, and one that was changed is noticed.
async fn files_are_not_written_over(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..1).await;
    open(stage).run_once(true).await.unwrap().unwrap();
    open(stage).run_once(true).await.unwrap().unwrap();
    let folder = settings(stage).folder;
    let mut names: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["000000000001-1.txt", "000000000001.txt"]);
    let path = folder.join("000000000001.txt");
    let text = std::fs::read_to_string(&path).unwrap().replace("\n1\n", "\n2\n");
    std::fs::write(&path, text).unwrap();
    let node = &stage.node;
    let opened = Checkpointer::open(
        node.store.clone(),
        node.keys.clone(),
        stage.clock.clone(),
        settings(stage),
    );
    assert!(matches!(opened, Err(CheckpointFault::Foreign(odd)) if odd == path));
}

/// An old copy of the database that is put back is shorter than what was signed for.
async fn a_store_that_was_put_back_is_noticed(stage: &Stage) {
    stage.acme(&core().await).await;
    receive(stage, 0..5).await;
    open(stage).run_once(false).await.unwrap().unwrap();
    // Another store with the same keys and fewer lines stands for the old copy.
    let old = if stage.is_postgres() { Stage::postgres().await } else { Stage::sqlite().await };
    old.acme(&core().await).await;
    for n in 0..2 {
        old.kept(&old.signed(&format!("{{\"n\":{n}}}"))).await;
    }
    let checkpointer = Checkpointer::open(
        old.node.store.clone(),
        stage.node.keys.clone(),
        stage.clock.clone(),
        settings(stage),
    )
    .unwrap();
    let fault = checkpointer.run_once(false).await.unwrap_err();
    assert!(
        matches!(&fault, CheckpointFault::Flaw(Flaw::Short { found: 2, size: 5, .. })),
        "{fault}"
    );
    // One with as many lines, but not these, was rewritten.
    for n in 2..6 {
        old.kept(&old.signed(&format!("{{\"other\":{n}}}"))).await;
    }
    let fault = checkpointer.run_once(false).await.unwrap_err();
    assert!(matches!(&fault, CheckpointFault::Flaw(Flaw::Rewritten { size: 5, .. })), "{fault}");
}

on_both!(
    they_are_kept_outside_and_the_ledger_agrees,
    files_are_not_written_over,
    a_store_that_was_put_back_is_noticed,
);
