//! Strict JSON (RFC 8259): checks that bytes are JSON and finds values in them, without decoding them.
//!
//! Written by hand because no library does all three: values stay as they were written, including escapes of
//! lone surrogates and of NUL; nesting is bounded before the stack is; and duplicate keys are detected.
//! Stricter than the RFC where parsers are known to disagree: no byte order mark, and in [`check`] no key
//! twice in one object, however it is escaped.

mod pointer;
mod scanner;
mod unescape;

use std::borrow::Cow;

use thiserror::Error;

pub use self::pointer::Pointer;
use self::{
    scanner::{Keys, Scanner},
    unescape::unescape,
};

/// Maximum nesting of objects and arrays, including the outermost.
pub const MAX_DEPTH: usize = 64;

/// The error of [`members`] for JSON of another kind.
pub const NOT_AN_OBJECT: &str = "expected an object: `{…}`";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the body is not valid JSON: {why} (at byte {at})")]
pub struct JsonError {
    /// The position of the error, counted from 0.
    pub at: usize,
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    pub key: Cow<'a, str>,
    /// The value as written, without surrounding white space.
    pub value: &'a str,
}

/// Returns the members of an object in their order, including duplicates. Does not check for duplicates
/// inside of values.
pub fn members(text: &str) -> Result<Vec<Member<'_>>, JsonError> {
    let mut scanner = Scanner::new(text);
    let mut members = Vec::with_capacity(8);
    scanner.space();
    if !matches!(scanner.peek(), Some(b'{') | None) {
        // If both are true, "not JSON" says more than "not an object".
        scanner.skip()?;
        scanner.end()?;
        return Err(JsonError { at: 0, why: NOT_AN_OBJECT });
    }
    scanner.object(|scanner, key| {
        // A key with a lone surrogate has no text; as it is written, it is unknown in any case.
        let key = string(key.quoted).unwrap_or(Cow::Borrowed(key.inner()));
        members.push(Member { key, value: scanner.skip()? });
        Ok(())
    })?;
    scanner.end()?;
    Ok(members)
}

/// Returns the items of an array as written.
pub fn items(text: &str) -> Result<Vec<&str>, JsonError> {
    let mut scanner = Scanner::new(text);
    let mut items = Vec::new();
    scanner.space();
    scanner.array(|scanner| {
        items.push(scanner.skip()?);
        Ok(())
    })?;
    scanner.end()?;
    Ok(items)
}

/// Checks the whole body and returns the value at the pointer as written.
pub fn check<'a>(body: &'a [u8], pointer: Option<&Pointer>) -> Result<Option<&'a str>, JsonError> {
    let text = std::str::from_utf8(body)
        .map_err(|error| JsonError { at: error.valid_up_to(), why: "it is not UTF-8" })?;
    if text.starts_with('\u{feff}') {
        return Err(JsonError { at: 0, why: "it begins with a byte order mark" });
    }
    let mut scanner = Scanner::new(text);
    scanner.space();
    let found = find(&mut scanner, pointer.map(Pointer::parts))?;
    scanner.end()?;
    Ok(found)
}

/// Returns the text of a JSON string. `None` for other values, and for lone surrogates, which UTF-8 cannot
/// represent.
pub fn string(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    match unescape(inner) {
        Cow::Borrowed(_) => Some(Cow::Borrowed(inner)),
        Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
    }
}

/// Reads one value with everything in it, and refuses duplicate keys. `path` is the rest of the path to the
/// searched value, `None` if that cannot be in it.
fn find<'a>(
    scanner: &mut Scanner<'a>,
    path: Option<&[Box<[u8]>]>,
) -> Result<Option<&'a str>, JsonError> {
    let begin = scanner.at();
    let mut found = None;
    let step = |name: &[u8]| path?.split_first().filter(|(next, _)| ***next == *name);
    match scanner.peek() {
        Some(b'{') => {
            let mut keys = Keys::default();
            scanner.object(|scanner, key| {
                let name = unescape(key.inner());
                let rest = step(&name).map(|(_, rest)| rest);
                if !keys.insert(name) {
                    return Err(JsonError { at: key.at, why: "duplicate key in an object" });
                }
                found = find(scanner, rest)?.or(found);
                Ok(())
            })?;
        }
        Some(b'[') => {
            let mut index = 0_usize;
            scanner.array(|scanner| {
                let rest = path.and_then(|_| step(index.to_string().as_bytes()));
                index += 1;
                found = find(scanner, rest.map(|(_, rest)| rest))?.or(found);
                Ok(())
            })?;
        }
        _ => {
            scanner.skip()?;
        }
    }
    Ok(if path.is_some_and(<[_]>::is_empty) { Some(scanner.since(begin)) } else { found })
}

#[cfg(test)]
mod tests;
