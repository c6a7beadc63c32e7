//! Failing disks: an error at a sync is never ignored.

use std::{process::Command, time::Duration};

use gancho_testkit::until;

use crate::{
    pipe_process::{self, Acked, PipeProcess},
    receiver,
};

#[test]
fn a_failed_sync_stops_the_process_and_loses_nothing() {
    for when in [3, 8, 20, 45] {
        fails_at(when, false);
    }
}

/// Pages that were copied from the log into the file and could not be synced there must be copied again.
#[test]
fn a_failed_sync_of_the_file_alone_loses_nothing() {
    for when in [1, 2, 4] {
        fails_at(when, true);
    }
}

/// All syncs fail from this one on: of the log and of the file, or of the file alone.
fn fails_at(when: usize, file_alone: bool) {
    let there = Command::new("strace").arg("-V").output().is_ok();
    assert!(there, "this test needs strace: apt-get install strace");
    let folder = tempfile::tempdir().unwrap();
    let (address, seen) = receiver::start();
    let url = pipe_process::url(address);
    let acked = Acked::default();
    // The files exist before the failures start.
    pipe_process::drain(folder.path(), &url, None);

    let inject = format!("inject=fdatasync,fsync:error=EIO:when={when}+");
    let mut strace = vec!["strace", "-f", "-qq", "-o", "/dev/null"];
    strace.extend(["-e", "trace=fdatasync,fsync", "-e", &inject]);
    let file = folder.path().join("pipe.db");
    if file_alone {
        strace.extend(["-P", file.to_str().unwrap()]);
    }
    let command = pipe_process::command(&strace, folder.path(), &url, None);
    let (status, errors) =
        PipeProcess::start(command, "line", 200_000, &acked).end(Duration::from_secs(60));
    assert!(!status.success(), "it went on after a failed sync");
    assert!(errors.contains("the store stopped after an error"), "{errors}");

    pipe_process::drain(folder.path(), &url, None);
    let acked = acked.lock().unwrap();
    assert!(!file_alone || acked.len() > 100, "{} were acknowledged before", acked.len());
    for (id, line) in acked.iter() {
        assert!(seen.body(id).is_some(), "sync {when}: {id} ({line}) was lost");
    }
}

#[test]
fn a_second_process_on_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (address, _) = receiver::start();
    let url = pipe_process::url(address);
    let acked = Acked::default();
    let first = PipeProcess::start(
        pipe_process::command(&[], folder.path(), &url, None),
        "first",
        1_000_000,
        &acked,
    );
    until("the first one works", || !acked.lock().unwrap().is_empty());
    let second = pipe_process::command(&[], folder.path(), &url, None).output().unwrap();
    first.kill();
    assert!(!second.status.success());
    let errors = String::from_utf8(second.stderr).unwrap();
    assert!(errors.contains("in use by another gancho process"), "{errors}");
}
