//! Runs the commands of docs/cells.md, with databases of the test server in place of other machines.

use std::{fs, os::unix::fs::symlink, process::Command};

use gancho_testkit::postgres::fresh_database;
use tokio::runtime::Runtime;

use crate::{docs::blocks::steps, operator::Operator, pipe_process::GANCHO};

#[test]
fn the_commands_of_the_page_on_cells() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cells.md");
    let page = fs::read_to_string(page).unwrap();
    let runtime = Runtime::new().unwrap();
    let home = runtime.block_on(fresh_database()).unwrap();
    let away = runtime.block_on(fresh_database()).unwrap();
    let at = Operator::with(&[("GANCHO_DATABASE_URL", &home.url())]);
    let key = at.served.tenant("acme");
    at.served.endpoint(&key, "http://127.0.0.1:18080/");

    let script: String = steps(&page).into_iter().map(|step| step.commands).collect();
    let named = "postgres://gancho:…@db2.internal/gancho?sslmode=require";
    assert!(script.contains(named), "{script}");
    let script = script.replace(named, &away.url());
    let program = at.folder.path().join("bin");
    fs::create_dir(&program).unwrap();
    symlink(GANCHO, program.join("gancho")).unwrap();
    // The database is there already.
    let script =
        format!("set -eux\nPATH={}:$PATH\ncreatedb() {{ :; }}\n{script}", program.display());
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).current_dir(at.folder.path()).env_clear();
    let set = at.command(&[]);
    bash.envs(set.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = bash.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{err}");
    for part in ["Added the cell b", "moved"] {
        assert!(out.contains(part), "no `{part}` in {out}{err}");
    }
    let tenants = at.json(&["cells", "list"]);
    assert_eq!(tenants["data"].as_array().map_or(0, Vec::len), 1, "b is removed: {tenants}");
    assert_eq!(
        at.json(&["endpoints", "list", "--tenant", "acme"])["data"].as_array().unwrap().len(),
        1
    );
}
