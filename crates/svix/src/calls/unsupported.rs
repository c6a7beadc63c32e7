//! The calls that are answered with 501, and why: a list of method, path and operation below each reason.

use std::sync::LazyLock;

use super::{Support::Unsupported, SvixCall};

const LIST: &str = include_str!("unsupported.txt");

pub static CALLS: LazyLock<Vec<SvixCall>> = LazyLock::new(|| {
    let mut calls = Vec::new();
    let mut why = "";
    for line in LIST.lines() {
        if let Some(reason) = line.strip_prefix("# ") {
            why = reason;
            continue;
        }
        let mut words = line.split(' ');
        // A test counts the calls, so it notices a line that is none.
        if let (Some(method), Some(path), Some(operation)) =
            (words.next(), words.next(), words.next())
        {
            calls.push(SvixCall { method, path, operation, support: Unsupported(why) });
        }
    }
    calls
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_call() {
        let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(CALLS.len(), lines.count());
        assert!(CALLS.len() > 200 && CALLS.iter().all(|call| call.path.contains("/api/v1/")));
    }
}
