//! A database without its key ring: a second node with an empty directory, or a restore that forgot the file.
//! No ring is created, so that nothing hides what is missing. (faults.md C2)

use std::{
    io::Read,
    path::Path,
    process::{Output, Stdio},
};

use gancho_testkit::until;

use crate::{
    gateway::{Gateway, command},
    pipe_process, receiver,
};

fn run(arguments: &[&str], folder: &Path, database: Option<&str>) -> Output {
    let mut command = command(arguments, folder);
    if let Some(url) = database {
        command.env("GANCHO_DATABASE_URL", url);
    }
    command.output().unwrap()
}

/// Checks that it fails, names the file and what to do, and has not created it.
fn asks_for_the_ring(output: &Output, folder: &Path) {
    let said = String::from_utf8_lossy(&output.stderr);
    let ring = folder.join("data/master.key");
    assert!(!output.status.success(), "{said}");
    for part in
        [ring.to_str().unwrap(), "encrypted with its key 1", "copy master.key", "master_key_file"]
    {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
    assert!(!ring.exists(), "a new ring was made");
}

/// Copies a file as a backup does: without the mode in which a gateway has its database.
fn plain_copy(from: &Path, to: &Path) {
    let program =
        "import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', [sys.argv[2]])";
    let mut python = std::process::Command::new("python3");
    let copied = python.args(["-c", program]).args([from, to]).status();
    let copied = copied.expect("this test needs python3: apt-get install python3");
    assert!(copied.success());
}

fn is_not_replaced(database: Option<&str>) {
    let first = tempfile::tempdir().unwrap();
    let variables: Vec<_> = database.map(|url| ("GANCHO_DATABASE_URL", url)).into_iter().collect();
    Gateway::start(first.path(), &variables).stop();

    // On SQLite a restore of only the database, on PostgreSQL a node with an empty directory.
    let second = tempfile::tempdir().unwrap();
    if database.is_none() {
        let data = second.path().join("data");
        std::fs::create_dir(&data).unwrap();
        plain_copy(&first.path().join("data/gancho.db"), &data.join("gancho.db"));
    }
    let database_file = second.path().join("data/gancho.db");
    let before = std::fs::read(&database_file).ok();
    for arguments in
        [&["serve"][..], &["keys", "list"], &["keys", "rotate"], &["ledger", "checkpoint"]]
    {
        asks_for_the_ring(&run(arguments, second.path(), database), second.path());
        assert!(before == std::fs::read(&database_file).ok(), "{arguments:?} changed the database");
        assert!(!second.path().join("data/admin.token").exists(), "{arguments:?} made a token");
    }

    // With the first node's ring it starts.
    let ring = second.path().join("data/master.key");
    std::fs::create_dir_all(ring.parent().unwrap()).unwrap();
    std::fs::copy(first.path().join("data/master.key"), &ring).unwrap();
    Gateway::start(second.path(), &variables).stop();

    // With another ring it says which does not match, and leaves the file unchanged.
    let other = run(&["keys", "generate"], second.path(), database).stdout;
    std::fs::write(&ring, &other).unwrap();
    let refused = run(&["serve"], second.path(), database);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("another key ring than") && said.contains("copy master.key"), "{said}");
    assert_eq!(std::fs::read(&ring).unwrap(), other);
}

#[test]
fn a_lost_ring_is_not_replaced_on_sqlite() {
    is_not_replaced(None);
}

#[test]
fn a_lost_ring_is_not_replaced_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    is_not_replaced(Some(&database.url()));
}

/// Its only secrets are those of endpoints.
#[test]
fn a_pipe_does_not_replace_a_lost_ring() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (target, _seen) = receiver::start();
    pipe_process::drain(&data, &pipe_process::url(target), None);
    std::fs::remove_file(data.join("master.key")).unwrap();
    let mut command = pipe_process::command(&[], &data, &pipe_process::url(target), None);
    asks_for_the_ring(&command.stdin(Stdio::null()).output().unwrap(), folder.path());
}

/// Two nodes set a database up at the same moment: one succeeds, and the other leaves no ring behind.
#[test]
fn of_two_first_nodes_one_wins() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut nodes = folders.each_ref().map(|folder| {
        let mut node = command(&["serve"], folder.path());
        node.env("GANCHO_DATABASE_URL", database.url()).stderr(Stdio::piped());
        node.spawn().unwrap()
    });
    let mut loser = None;
    until("one of them gives up", || {
        loser = (0..2).find(|number| nodes[*number].try_wait().unwrap().is_some());
        loser.is_some()
    });
    let loser = loser.unwrap();
    let mut said = String::new();
    nodes[loser].stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("copy master.key"), "{said}");
    let ring = |number: usize| folders[number].path().join("data/master.key");
    assert!(!ring(loser).exists(), "{said}");
    assert!(ring(1 - loser).exists());
    for node in &mut nodes {
        let _ = node.kill();
        node.wait().unwrap();
    }
}
