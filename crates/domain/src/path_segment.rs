//! Escapes a value for use as one segment of a URL's path, or as one part of its query.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except those that a URL may contain anywhere.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes every character that would end the segment. Dots alone are escaped too, because they would be read
/// as a parent directory.
pub fn path_segment(value: &str) -> String {
    if value.bytes().all(|byte| byte == b'.') {
        return value.replace('.', "%2E");
    }
    utf8_percent_encode(value, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_a_segment() {
        for (value, segment) in [
            ("evt_01", "evt_01"),
            ("a b/c?d#e%", "a%20b%2Fc%3Fd%23e%25"),
            ("..", "%2E%2E"),
            (".", "%2E"),
            ("../a", "..%2Fa"),
            ("é", "%C3%A9"),
        ] {
            assert_eq!(path_segment(value), segment);
        }
    }
}
