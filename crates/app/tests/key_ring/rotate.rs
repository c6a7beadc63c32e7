//! Keys of the ring: rotated while the gateway is stopped, while it runs, and while it is being killed.

use std::{path::Path, process::Command};

use gancho_testkit::until;
use serde_json::Value;

use crate::{
    gateway::{Gateway, command},
    http, receiver,
};

fn keys(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Value, String> {
    let mut keys = command(&["keys"], folder);
    let shown =
        keys.args(arguments).arg("--json").envs(variables.iter().copied()).output().unwrap();
    if !shown.status.success() {
        return Err(String::from_utf8(shown.stderr).unwrap());
    }
    Ok(serde_json::from_slice(&shown.stdout).unwrap_or_default())
}

fn listed(folder: &Path) -> Vec<(u64, u64)> {
    let shown = keys(folder, &["list"], &[]).unwrap();
    let keys = shown["keys"].as_array().unwrap();
    keys.iter()
        .map(|key| (key["number"].as_u64().unwrap(), key["records"].as_u64().unwrap()))
        .collect()
}

/// Many tenants with an endpoint each, and a partner with a key, all of whose secrets are still valid.
struct Customers {
    keys: Vec<String>,
    seen: receiver::Seen,
}

impl Customers {
    fn new(served: &Gateway, count: usize) -> Self {
        let (target, seen) = receiver::start();
        let keys = (0..count)
            .map(|number| {
                let key = served.tenant(&format!("t{number}"));
                let body = format!(
                    r#"{{"url":"http://{target}/hook","events":["*"],"headers":{{"X-Token":"secret-{number}"}}}}"#
                );
                let headers = [("x-api-key", key.as_str())];
                let made = http::call(served.address, "POST", "/v1/webhooks", &headers, &body);
                assert_eq!(made.status, 201, "{}", made.body);
                key
            })
            .collect();
        served.source("acme", "the secret of acme", &format!("http://{target}/core"));
        Self { keys, seen }
    }

    fn are_delivered_to(&self, served: &Gateway) {
        for (number, key) in self.keys.iter().enumerate() {
            let id = served.publish(key, "a.b", "{}");
            until("a delivery arrives", || self.seen.body(&id).is_some());
            let got = self.seen.last(&id).unwrap();
            let token = got.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-token"));
            assert_eq!(token.unwrap().1, format!("secret-{number}"));
        }
        let receipt = served.simulate("acme");
        until("a receipt arrives", || self.seen.body(&receipt).is_some());
    }
}

/// Besides endpoints: the source, its key, and the key that signs receipts.
const OTHERS: u64 = 3;

#[test]
fn rotated_while_it_stands_and_dropped_when_unused() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let customers = Customers::new(&served, 3);
    served.stop();
    assert_eq!(listed(folder.path()), [(1, 3 + OTHERS)]);
    let refused = keys(folder.path(), &["drop", "1"], &[]).unwrap_err();
    assert!(refused.contains("is the current key"), "{refused}");
    let done = keys(folder.path(), &["rotate"], &[]).unwrap();
    assert_eq!((&done["newest"], &done["resealed"]), (&2.into(), &(3 + OTHERS).into()));
    assert_eq!(listed(folder.path()), [(1, 0), (2, 3 + OTHERS)]);
    let again = keys(folder.path(), &["rotate", "--no-new-key"], &[]).unwrap();
    assert_eq!((&again["newest"], &again["resealed"]), (&2.into(), &0.into()));
    let refused = keys(folder.path(), &["drop", "7"], &[]).unwrap_err();
    assert!(refused.contains("the key ring has no key 7"), "{refused}");
    keys(folder.path(), &["drop", "1"], &[]).unwrap();
    assert_eq!(listed(folder.path()), [(2, 3 + OTHERS)]);
    let served = Gateway::start(folder.path(), &[]);
    customers.are_delivered_to(&served);
    served.stop();
}

#[test]
fn rotated_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let customers = Customers::new(&served, 3);
    let address = served.address.to_string();
    let here = [("GANCHO_API_LISTEN", address.as_str())];
    let done = keys(folder.path(), &["rotate"], &here).unwrap();
    assert_eq!((&done["newest"], &done["resealed"]), (&2.into(), &(3 + OTHERS).into()));
    customers.are_delivered_to(&served);
    let refused = keys(folder.path(), &["drop", "1"], &here).unwrap_err();
    assert!(refused.contains("a gateway is running with this key ring"), "{refused}");
    let shown = keys(folder.path(), &["list"], &here).unwrap();
    assert_eq!(shown["keys"][1]["records"], 3 + OTHERS);
    served.stop();
    let served = Gateway::start(folder.path(), &[]);
    customers.are_delivered_to(&served);
    served.stop();
}

#[test]
fn a_rotation_that_is_killed_loses_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let served = Gateway::start(folder.path(), &[]);
    let customers = Customers::new(&served, 30);
    served.stop();
    // At each sync: of the ring, of its directory, and of commits during the re-encryption.
    let mut partly = 0;
    for when in 1..=14 {
        let inject = format!("inject=fsync,fdatasync:signal=KILL:when={when}");
        let rotate = command(&["keys", "rotate"], folder.path());
        let killed = Command::new("strace")
            .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", &inject])
            .arg(rotate.get_program())
            .args(rotate.get_args())
            .env_clear()
            .envs(rotate.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(folder.path())
            .output()
            .expect("this test needs strace: apt-get install strace");
        assert!(!killed.status.success(), "it was not killed at sync {when}");
        let counts = listed(folder.path());
        let total: u64 = counts.iter().map(|(_, records)| records).sum();
        assert_eq!(total, 30 + OTHERS, "{counts:?}");
        partly += u64::from(counts.iter().filter(|(_, records)| *records > 0).count() > 1);
    }
    assert!(partly > 3, "only {partly} kills came in the middle of the sealing");
    let served = Gateway::start(folder.path(), &[]);
    customers.are_delivered_to(&served);
    served.stop();
    keys(folder.path(), &["rotate", "--no-new-key"], &[]).unwrap();
    let counts = listed(folder.path());
    let (newest, old) = counts.split_last().unwrap();
    assert_eq!(newest.1, 30 + OTHERS);
    assert!(old.iter().all(|(_, records)| *records == 0), "{counts:?}");
    let served = Gateway::start(folder.path(), &[]);
    customers.are_delivered_to(&served);
    served.stop();
}
