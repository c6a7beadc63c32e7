//! Lines that are not events, among others.

use std::{io::Write, process::Output};

use crate::{
    pipe_process,
    receiver::{self, Seen},
};

fn pipe(input: &[u8], arguments: &[&str]) -> (Output, Seen) {
    let folder = tempfile::tempdir().unwrap();
    let (target, seen) = receiver::start();
    let mut command = pipe_process::command(&[], folder.path(), &pipe_process::url(target), None);
    let mut child = command.arg("--drain").args(arguments).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    (child.wait_with_output().unwrap(), seen)
}

/// Returns the printed ids, with what arrived under each.
fn sent(output: &Output, seen: &Seen) -> Vec<(String, String)> {
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    let mut lines: Vec<(String, String)> = printed
        .lines()
        .map(|line| {
            let (number, id) = line.split_once(' ').unwrap();
            let body = seen.body(id).expect("a delivery");
            (number.to_owned(), String::from_utf8(body).unwrap())
        })
        .collect();
    lines.sort();
    lines
}

// faults.md C3
#[test]
fn a_line_that_is_not_json_takes_no_other_with_it() {
    let (output, seen) = pipe(b"{\"a\":1}\n{\"b\":2}\nnot json\n\n\xff\xfe\n{\"c\":3}\n", &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    for part in ["line 3 skipped: not valid JSON", "line 5 skipped", "2 of 5 lines"] {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
    let sent = sent(&output, &seen);
    let expected =
        [("1", r#""data":{"a":1}"#), ("2", r#""data":{"b":2}"#), ("6", r#""data":{"c":3}"#)];
    assert_eq!(sent.len(), expected.len(), "{sent:?}");
    for ((number, body), (line, data)) in sent.iter().zip(expected) {
        assert!(number == line && body.contains(data), "{sent:?}");
    }
}

// faults.md C3
#[test]
fn a_line_that_is_not_accepted_is_a_failure() {
    let (output, seen) = pipe(b"{\"a\":1}\n{\"b\":2}\n", &["--type", "webhook.endpoint.disabled"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(8), "{said}");
    assert!(said.contains("line 2 skipped") && said.contains("2 of 2 lines"), "{said}");
    assert!(sent(&output, &seen).is_empty());
}

#[test]
fn lines_that_are_all_sent_are_a_success() {
    let (output, seen) = pipe(b"{\"a\":1}\n\n2", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(sent(&output, &seen).len(), 2);
}

#[test]
fn as_json_each_line_says_what_came_of_it() {
    let (output, seen) = pipe(b"{\"a\":1}\nnot json\n\n{\"c\":3}\n", &["--json"]);
    assert_eq!(output.status.code(), Some(8));
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["line"].as_u64());
    let numbers: Vec<_> = lines.iter().map(|line| line["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 4], "{printed}");
    assert_eq!(lines[1]["error"], "not valid JSON");
    for place in [0, 2] {
        assert!(seen.body(lines[place]["id"].as_str().unwrap()).is_some(), "{printed}");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("skipped 1 of 3 lines"), "{said}");
}

#[test]
fn a_url_that_may_not_be_called_is_refused_before_anything_is_written() {
    for (url, hint) in [
        ("http://127.0.0.1:8080/hooks", "hint: add --local"),
        ("127.0.0.1:8080", "hint: write it as https://host/path"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let refused = crate::operator::alone(folder.path(), &["pipe", "--url", url]);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(
            refused.err.contains("error: --url: ") && refused.err.contains(hint),
            "{}",
            refused.err
        );
        assert!(!folder.path().join("data").exists());
    }
}
