//! Reads a request's headers strictly: one value or none, never the first of several.

use crate::{HeaderPart, VerifyError};

/// All headers of a request as received, so that a repeated one is noticed.
pub type Headers<'a> = [(&'a str, &'a [u8])];

/// More than any scheme needs for the maximum number of signatures.
pub const MAX_HEADER_BYTES: usize = 4096;

const MAX_ID_BYTES: usize = 128;

/// Returns the only value of a header, or `None` without the header.
pub(crate) fn optional<'a>(
    headers: &Headers<'a>,
    name: &str,
    part: HeaderPart,
) -> Result<Option<&'a [u8]>, VerifyError> {
    let mut values = headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| *v);
    let value = values.next();
    if values.next().is_some() {
        return Err(VerifyError::Duplicated(part));
    }
    if value.is_some_and(|v| v.len() > MAX_HEADER_BYTES) {
        return Err(VerifyError::TooLong(part));
    }
    Ok(value)
}

pub(crate) fn required<'a>(
    headers: &Headers<'a>,
    name: &str,
    part: HeaderPart,
) -> Result<&'a [u8], VerifyError> {
    optional(headers, name, part)?.ok_or(VerifyError::Missing(part))
}

pub(crate) fn has(headers: &Headers<'_>, name: &str) -> bool {
    headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
}

/// Reads a message's id. It never contains a `.`, which separates the id from what follows in a base string.
pub(crate) fn message_id(text: &[u8]) -> Result<&str, VerifyError> {
    match std::str::from_utf8(text) {
        Ok(id) if is_message_id(text) => Ok(id),
        _ => Err(VerifyError::MalformedId),
    }
}

/// Reads a key's id. It is not signed, so it may contain a `.`.
pub(crate) fn key_id(text: &[u8]) -> Result<&str, VerifyError> {
    let fits = !text.is_empty()
        && text.len() <= MAX_ID_BYTES
        && text.iter().all(|&b| is_id_byte(b) || b == b'.');
    match std::str::from_utf8(text) {
        Ok(id) if fits => Ok(id),
        _ => Err(VerifyError::MalformedKeyId),
    }
}

pub(crate) fn is_message_id(text: &[u8]) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.iter().copied().all(is_id_byte)
}

pub(crate) fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_or_none() {
        let headers: &Headers<'_> = &[("A", b"1"), ("b", b"2"), ("B", b"2"), ("c", b"")];
        assert_eq!(optional(headers, "a", HeaderPart::Id), Ok(Some(&b"1"[..])));
        assert_eq!(
            optional(headers, "b", HeaderPart::Id),
            Err(VerifyError::Duplicated(HeaderPart::Id))
        );
        assert_eq!(optional(headers, "c", HeaderPart::Id), Ok(Some(&b""[..])));
        assert_eq!(optional(headers, "d", HeaderPart::Id), Ok(None));
        assert_eq!(
            required(headers, "d", HeaderPart::KeyId),
            Err(VerifyError::Missing(HeaderPart::KeyId))
        );
    }

    #[test]
    fn ids_are_plain() {
        assert_eq!(message_id(b"msg_27UH-x"), Ok("msg_27UH-x"));
        for id in [&b""[..], b"a.1", b"a b", b"a\n", "ç".as_bytes(), b"\xff", &[b'a'; 129]] {
            assert_eq!(message_id(id), Err(VerifyError::MalformedId), "{id:?}");
        }
        assert_eq!(key_id(b"2024.k1"), Ok("2024.k1"));
        assert_eq!(key_id(b"k1/../k2"), Err(VerifyError::MalformedKeyId));
    }
}
