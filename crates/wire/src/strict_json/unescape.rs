//! Unescapes a JSON string. A lone surrogate has no UTF-8; it becomes three bytes as if it had, so that two
//! keys that differ in one stay different.

use std::borrow::Cow;

/// `inner` is the text between the quotes of a well-formed string.
pub(super) fn unescape(inner: &str) -> Cow<'_, [u8]> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner.as_bytes());
    }
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' {
            text.push(byte);
            rest = after;
            continue;
        }
        let (&escape, after) = after.split_first().unwrap_or((&b'\\', &[]));
        rest = after;
        match escape {
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let (unit, after) = unit(rest);
                rest = after;
                let low = rest.strip_prefix(b"\\u").map(self::unit);
                match (unit, low) {
                    (0xd800..=0xdbff, Some((low @ 0xdc00..=0xdfff, after))) => {
                        rest = after;
                        push(&mut text, 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
                    }
                    _ => push(&mut text, unit),
                }
            }
            other => text.push(other),
        }
    }
    Cow::Owned(text)
}

fn unit(hex: &[u8]) -> (u32, &[u8]) {
    let (digits, rest) = hex.split_at(hex.len().min(4));
    let value = |byte: &u8| (*byte as char).to_digit(16).unwrap_or(0);
    (digits.iter().fold(0, |sum, byte| sum << 4 | value(byte)), rest)
}

fn push(text: &mut Vec<u8>, code: u32) {
    if let Some(character) = char::from_u32(code) {
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let tail = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
        text.extend_from_slice(&[0xe0 | (code >> 12) as u8, tail(6), tail(0)]);
    }
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn escapes_stand_for_what_they_stand_for() {
        for (written, text) in [
            (r"a\u0062c", "abc"),
            (r"\ud83d\ude00", "\u{1f600}"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u00e9", "\u{e9}"),
            (r"\u0000", "\0"),
        ] {
            assert_eq!(unescape(written), text.as_bytes(), "{written}");
        }
        assert_ne!(unescape(r"\ud800"), unescape(r"\ud801"));
        assert_eq!(unescape(r"\ud800x"), &b"\xed\xa0\x80x"[..]);
        assert_eq!(unescape(r"\ud800\u0041"), &b"\xed\xa0\x80A"[..]);
    }
}
