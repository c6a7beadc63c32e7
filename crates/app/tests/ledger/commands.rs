//! `gancho ledger`: beside a running gateway, on a copy without the key ring, and on ledgers that were
//! manipulated in every possible way.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use data_encoding::HEXLOWER;
use gancho_ledger::{Head, Line};
use gancho_store::Ledger as _;
use gancho_store_sqlite::SqliteStore;
use serde_json::{Value, json};

use crate::{
    http,
    operator::{Operator, Ran, alone},
};

const VERIFY: &[&str] = &["ledger", "verify"];

/// Changes the database without the gateway.
fn meddle(database: &Path, sql: &str) {
    let program =
        "import sqlite3,sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())";
    let mut python = Command::new("python3");
    let python = python.args(["-c", program]).arg(database).stdin(Stdio::piped()).spawn();
    let mut python = python.expect("this test needs python3: apt-get install python3");
    let free =
        "DROP TRIGGER IF EXISTS ledger_is_not_changed; DROP TRIGGER IF EXISTS ledger_is_not_cut;";
    write!(python.stdin.take().unwrap(), "{free} {sql};").unwrap();
    assert!(python.wait().unwrap().success());
}

fn lines(database: &Path) -> Vec<Line> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = SqliteStore::open_to_read(database).unwrap();
    runtime.block_on(store.ledger_lines(0, 1_000)).unwrap()
}

/// A stopped gateway with five receipts and a checkpoint after the third, so that the last two are only
/// chained.
struct Stopped {
    folder: tempfile::TempDir,
    receipts: Vec<String>,
}

impl Stopped {
    fn new() -> Self {
        let at = Operator::start();
        let mut receipts = at.receive(3);
        assert_eq!(at.json(&["ledger", "checkpoint"])["checkpoint"]["size"], 3);
        receipts.extend(at.receive(2));
        let folder = at.folder.path();
        // Killed, because a soft stop signs the rest.
        at.served.signal("KILL");
        let kept = tempfile::tempdir().unwrap();
        copy(&folder.join("data"), &kept.path().join("data"));
        Self { folder: kept, receipts }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn database(&self) -> PathBuf {
        self.data().join("gancho.db")
    }

    fn meddled(&self, sql: &str) -> Ran {
        meddle(&self.database(), sql);
        alone(self.folder.path(), VERIFY)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

#[track_caller]
fn does_not_hold(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    for word in words {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn it_is_verified_beside_a_gateway_that_runs() {
    let at = Operator::start();
    let empty = at.run(VERIFY).ok().out;
    assert!(empty.contains("The ledger is valid: 0 lines"), "{empty}");
    assert!(at.run(&["ledger", "checkpoint"]).ok().out.contains("The ledger is empty"));
    let receipts = at.receive(3);
    let early = at.run(&["ledger", "prove", &receipts[0]]);
    assert_eq!(early.code, 1);
    assert!(early.err.contains("sign one with `gancho ledger checkpoint`"), "{}", early.err);
    let chained = at.json(VERIFY);
    assert_eq!((&chained["lines"], &chained["checkpoints_on_file"]), (&json!(3), &json!(0)));
    assert!(at.run(&["ledger", "checkpoint"]).ok().out.contains("Signed a checkpoint of 3 lines"));
    assert!(at.run(&["ledger", "checkpoint"]).ok().out.contains("Nothing was added"));
    at.receive(1);
    let said = at.run(VERIFY).ok().out;
    assert!(said.contains("The ledger is valid: 4 lines"), "{said}");
    assert!(said.contains("1 line not covered by a checkpoint yet"), "{said}");
    let figures = at.json(VERIFY);
    assert_eq!(figures["holds"], true);
    assert_eq!(
        (&figures["checkpoints_in_database"], &figures["checkpoints_on_file"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(figures["lines_without_checkpoint"], 1);
    let folder = at.stop();
    // It has signed the rest at its stop.
    let figures = alone(folder.path(), &["ledger", "verify", "--json"]).ok().json();
    assert_eq!(figures["lines_without_checkpoint"], 0);
    let here = alone(folder.path(), &["ledger", "checkpoint", "--json"]).ok().json();
    assert_eq!((&here["is_new"], &here["checkpoint"]["size"]), (&json!(false), &json!(4)));
}

#[test]
fn a_receipt_is_proved_to_anyone() {
    let at = Operator::start();
    let body = r#"{"event_id":"evt-1","amount":12.50}"#;
    let receipts = at.receive(4);
    let simulate = ["sources", "simulate", "acme", "--body", "-", "--json"];
    let sent = at.run_with(&simulate, &[], body).ok().json();
    let receipt = sent["answer"]["receipt"].as_str().unwrap().to_owned();
    at.run(&["ledger", "checkpoint"]).ok();
    let proof = at.run(&["ledger", "prove", &receipt]).ok().out;
    for receipt in receipts.iter().chain([&receipt]) {
        leads_to_its_root(&at.run(&["ledger", "prove", receipt]).ok().out);
    }
    let keys = http::call(at.ingest, "GET", "/.well-known/jwks.json", &[], "").body;
    let nobody = at.run(&["ledger", "prove", "rcp_01HZZZZZZZZZZZZZZZZZZZZZZZ"]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.err.contains("is not in the ledger"), "{}", nobody.err);
    assert_eq!(at.run(&["ledger", "prove", "out_01HZZZZZZZZZZZZZZZZZZZZZZZ"]).code, 2);
    drop(at);

    // Anyone: no database, no ring, no gateway.
    let anyone = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(anyone.path().join(name), text).unwrap();
    for (name, text) in [("proof.json", proof.as_str()), ("body.json", body), ("keys.json", &keys)]
    {
        put(name, text);
    }
    let check = |more: &[&str]| {
        let arguments = [&["ledger", "check-proof", "proof.json"], more].concat();
        alone(anyone.path(), &arguments)
    };
    let said = check(&[]).ok().out;
    assert!(said.contains(&receipt) && said.contains("5 of 5") && said.contains("note:"), "{said}");
    let sure = check(&["--keys", "keys.json", "--body", "body.json"]).ok().out;
    assert!(sure.contains("identical to the given file") && !sure.contains("note:"), "{sure}");
    put("body.json", &body.replace("12.50", "12.5"));
    does_not_hold(&check(&["--body", "body.json"]), &["the body is not the one"]);

    let honest: Value = serde_json::from_str(&proof).unwrap();
    let changed = |change: fn(&mut Value)| {
        let mut proof = honest.clone();
        change(&mut proof);
        put("proof.json", &proof.to_string());
        check(&["--keys", "keys.json"])
    };
    does_not_hold(
        &changed(|proof| {
            let entry = proof["line"]["entry"].as_str().unwrap().replace("evt-1", "evt-2");
            proof["line"]["entry"] = entry.into();
        }),
        &["the line is not in the ledger that the checkpoint signs"],
    );
    does_not_hold(
        &changed(|proof| proof["line"]["number"] = 4.into()),
        &["is not in the ledger that the checkpoint signs"],
    );
    does_not_hold(
        &changed(|proof| {
            let note = proof["checkpoint"].as_str().unwrap().replace("\n5\n", "\n6\n");
            proof["checkpoint"] = note.into();
        }),
        &["the signature of the checkpoint is invalid"],
    );
    does_not_hold(
        &changed(|proof| proof["key"]["x"] = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".into()),
        &["not in the given key set"],
    );
    assert_eq!(changed(|proof| proof["form"] = "another".into()).code, 1);
}

/// The verification of RFC 9162, section 2.1.3.2, in another language.
const PATH: &str = r#"
import base64, hashlib, json, struct, sys
proof = json.load(sys.stdin)
sha = lambda data: hashlib.sha256(data).digest()
number, size = proof["line"]["number"], proof["inclusion"]["size"]
node = sha(b"\0" + struct.pack(">Q", number) + proof["line"]["entry"].encode())
first, last = number - 1, size - 1
for step in proof["inclusion"]["path"]:
    assert last != 0
    other = base64.b64decode(step)
    if first & 1 or first == last:
        node = sha(b"\1" + other + node)
        while not first & 1 and first:
            first, last = first >> 1, last >> 1
    else:
        node = sha(b"\1" + node + other)
    first, last = first >> 1, last >> 1
assert last == 0 and base64.b64encode(node).decode() == proof["checkpoint"].split("\n")[2]
"#;

fn leads_to_its_root(proof: &str) {
    let python = Command::new("python3").args(["-c", PATH]).stdin(Stdio::piped()).spawn();
    let mut python = python.unwrap();
    python.stdin.take().unwrap().write_all(proof.as_bytes()).unwrap();
    assert!(python.wait().unwrap().success(), "{proof}");
}

/// A copy elsewhere without the key ring, with the public keys from a third place.
#[test]
fn a_copy_is_verified_without_the_key_ring() {
    let at = Operator::start();
    at.receive(3);
    let keys = http::call(at.ingest, "GET", "/.well-known/jwks.json", &[], "").body;
    let folder = at.stop();
    let elsewhere = tempfile::tempdir().unwrap();
    let here = |name: &str| elsewhere.path().join(name);
    // A stopped gateway leaves no write-ahead log beside the file.
    fs::copy(folder.path().join("data/gancho.db"), here("copy.db")).unwrap();
    copy(&folder.path().join("data/checkpoints"), &here("signed"));
    fs::write(here("keys.json"), keys).unwrap();
    let arguments = [
        "ledger",
        "verify",
        "--database-url",
        "sqlite:copy.db",
        "--checkpoints",
        "signed",
        "--keys",
        "keys.json",
    ];
    let said = alone(elsewhere.path(), &arguments).ok().out;
    assert!(said.contains("3 lines") && !said.contains("note:"), "{said}");
    assert!(!here("data").exists(), "nothing is made by looking");
    let none = [&arguments[..5], &["not-there"]].concat();
    assert_eq!(alone(elsewhere.path(), &none).code, 1);

    // Keys of another gateway: nothing counts as signed.
    let other = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    fs::write(here("keys.json"), other).unwrap();
    does_not_hold(&alone(elsewhere.path(), &arguments), &["is not signed with this key"]);
}

#[test]
fn the_first_line_that_was_changed_is_named() {
    let stopped = Stopped::new();
    let sound = alone(stopped.folder.path(), VERIFY).ok().out;
    assert!(sound.contains("5 lines"), "{sound}");
    let ran = stopped.meddled(
        "UPDATE ledger SET entry = CAST(replace(CAST(entry AS TEXT), 'acme', 'evil') AS BLOB) WHERE number IN (4, 5)",
    );
    let receipt = stopped.receipts[3].as_str();
    does_not_hold(&ran, &["line 4 was changed", receipt, "of evil", "4 of 5"]);
    assert!(ran.err.contains("lines up to 3 match"), "{}", ran.err);
    let told = alone(stopped.folder.path(), &["ledger", "verify", "--json"]);
    assert_eq!(told.code, 3);
    let told = told.json();
    assert_eq!(
        (&told["holds"], &told["line"], &told["receipt"]),
        (&json!(false), &json!(4), &json!(receipt))
    );
    let proof = alone(stopped.folder.path(), &["ledger", "prove", &stopped.receipts[0]]);
    assert_eq!(proof.code, 0, "what was signed for before is still proved: {}", proof.err);
    does_not_hold(
        &alone(stopped.folder.path(), &["ledger", "checkpoint"]),
        &["the ledger is invalid"],
    );
}

#[test]
fn lines_that_are_gone_or_no_lines_are_named() {
    let hole = Stopped::new();
    does_not_hold(&hole.meddled("DELETE FROM ledger WHERE number = 2"), &["line 2 is missing"]);
    let short = Stopped::new();
    let ran = short.meddled("DELETE FROM ledger WHERE number > 2");
    does_not_hold(&ran, &["ends at line 2", "covers 3 lines", "3 of 2"]);
    let invalid = Stopped::new();
    let ran = invalid.meddled("UPDATE ledger SET link = X'00' WHERE number = 5");
    does_not_hold(&ran, &["the link of line 5 is not a hash"]);
}

/// Anyone who can write to the database can make the chain valid again, but cannot reach signed checkpoints
/// outside it.
#[test]
fn a_ledger_that_was_rewritten_as_a_whole_is_seen_by_its_checkpoints() {
    let stopped = Stopped::new();
    let mut head = Head::start();
    let mut sql = String::from("DELETE FROM records WHERE kind = 'checkpoint';");
    for line in lines(&stopped.database()) {
        let entry = String::from_utf8(line.entry).unwrap().replace("acme", "evil").into_bytes();
        let forged = head.next(entry);
        head = forged.head();
        let (entry, link) = (HEXLOWER.encode(&forged.entry), forged.link.hex());
        let number = forged.number.to_string();
        sql.extend(["UPDATE ledger SET entry = X'", &entry, "', link = X'", &link]);
        sql.extend(["' WHERE number = ", &number, ";"]);
    }
    let ran = stopped.meddled(&sql);
    does_not_hold(&ran, &["the lines up to 3 do not match the checkpoint", "rewritten"]);
    // Without the checkpoints, only the chain is left, and the output says so.
    fs::remove_dir_all(stopped.data().join("checkpoints")).unwrap();
    let blind = alone(stopped.folder.path(), VERIFY).ok().out;
    assert!(blind.contains("could have rewritten the whole ledger"), "{blind}");
}

#[test]
fn a_checkpoint_that_was_changed_is_named() {
    let stopped = Stopped::new();
    let path = stopped.data().join("checkpoints/000000000003.txt");
    let note = fs::read_to_string(&path).unwrap();
    fs::write(&path, note.replace("\n3\n", "\n2\n")).unwrap();
    let ran = alone(stopped.folder.path(), VERIFY);
    does_not_hold(&ran, &["000000000003.txt", "the signature of the checkpoint is invalid"]);
}

/// A running gateway does not sign for lines that were changed, and continues with everything else.
#[test]
fn a_gateway_that_runs_does_not_sign_for_what_was_changed() {
    let at = Operator::start();
    at.receive(2);
    let database = at.folder.path().join("data/gancho.db");
    meddle(&database, "UPDATE ledger SET entry = X'7b7d' WHERE number = 1");
    does_not_hold(&at.run(&["ledger", "checkpoint"]), &["the ledger is invalid", "line 1"]);
    does_not_hold(&at.run(VERIFY), &["line 1 was changed", "1 of 2"]);
    at.receive(1);
}

/// Also if nothing is received that would be signed.
#[test]
fn a_line_that_was_changed_is_noticed_though_nothing_new_comes() {
    let at = Operator::with(&[("GANCHO_LEDGER_CHECK_INTERVAL", "1s")]);
    at.receive(2);
    at.run(&["ledger", "checkpoint"]).ok();
    let database = at.folder.path().join("data/gancho.db");
    meddle(&database, "UPDATE ledger SET entry = X'7b7d' WHERE number = 1");
    at.served.first_logged("checkpoints are suspended");
    does_not_hold(&at.run(&["ledger", "checkpoint"]), &["the ledger is invalid", "line 1"]);
}

#[test]
fn it_is_verified_on_postgres() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(gancho_testkit::postgres::fresh_database()).unwrap();
    let at = Operator::with(&[("GANCHO_DATABASE_URL", &database.url())]);
    let receipts = at.receive(3);
    at.run(&["ledger", "checkpoint"]).ok();
    assert_eq!(at.json(VERIFY)["lines"], 3);
    let proof = at.run(&["ledger", "prove", &receipts[1]]).ok().out;
    let said = at.run_with(&["ledger", "check-proof", "-"], &[], &proof).ok().out;
    assert!(said.contains("2 of 3"), "{said}");
}

#[test]
fn nothing_is_made_where_there_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [VERIFY, &["ledger", "checkpoint"]] {
        let ran = alone(folder.path(), arguments);
        assert_eq!(ran.code, 1, "{}", ran.out);
        assert!(ran.err.contains("with --data-dir"), "{}", ran.err);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
