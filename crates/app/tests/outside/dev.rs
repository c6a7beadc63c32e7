//! The first of the two commands in README.md.

use std::process::Command;

use crate::piped::GANCHO;

#[test]
fn dev_delivers_a_first_signed_event_and_says_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        // The second time it finds what the first has left.
        let shown = Command::new(GANCHO)
            .args(["dev", "--once", "--data-dir"])
            .arg(folder.path())
            .output()
            .unwrap();
        let text = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.status.success(), "{text}{}", String::from_utf8_lossy(&shown.stderr));
        for part in
            ["Gancho is running", "published user.created", "signature verified, answered 200"]
        {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    }
}

#[test]
fn dev_takes_what_is_typed() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(GANCHO)
        .args(["dev", "--data-dir"])
        .arg(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"p\ns\nq\n").unwrap();
    let shown = child.wait_with_output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.status.success(), "{text}");
    assert!(text.contains("p     publish another event"), "{text}");
    assert_eq!(text.matches("published user.created").count(), 2, "{text}");
    assert!(text.contains("Stopped"), "{text}");
}
