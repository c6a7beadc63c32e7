//! The address guard of the real binary, in a separate network where something listens on every private
//! address: the test passes if none accepts a connection.

use std::process::Command;

#[test]
fn nothing_private_is_ever_reached() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/egress/guard.py");
    let output = Command::new("timeout")
        .args([
            "--kill-after=5",
            "240",
            "unshare",
            "--map-root-user",
            "--net",
            "--mount",
            "python3",
        ])
        .args([script, env!("CARGO_BIN_EXE_gancho")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}\n{complained}", output.status);
    assert!(said.contains(", 0 accepts"), "{said}\n{complained}");
}
