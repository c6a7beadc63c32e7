//! Scans JSON text without decoding. It recurses only in [`Scanner::nested`], which bounds the depth.

use std::{borrow::Cow, collections::HashSet};

use super::{JsonError, MAX_DEPTH};

/// Up to this number, the keys of an object are compared one by one.
const FEW_KEYS: usize = 16;

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// A key as written.
pub(super) struct Key<'a> {
    pub quoted: &'a str,
    pub at: usize,
}

impl<'a> Key<'a> {
    pub fn inner(&self) -> &'a str {
        &self.quoted[1..self.quoted.len() - 1]
    }
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn since(&self, begin: usize) -> &'a str {
        &self.text[begin..self.at]
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub fn end(&mut self) -> Result<(), JsonError> {
        self.space();
        if self.at < self.text.len() { Err(self.error("text follows its end")) } else { Ok(()) }
    }

    /// Reads one value with everything in it, and returns it as written.
    pub fn skip(&mut self) -> Result<&'a str, JsonError> {
        let begin = self.at;
        match self.peek() {
            Some(b'{') => self.object(|scanner, _| scanner.skip().map(drop))?,
            Some(b'[') => self.array(|scanner| scanner.skip().map(drop))?,
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        }
        Ok(self.since(begin))
    }

    /// Reads an object. `member` is called after each key and reads the value.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Key<'a>) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.expect(b'{', super::NOT_AN_OBJECT)?;
        self.nested(b'}', "expected `,` or `}`", |scanner| {
            let at = scanner.at;
            if scanner.peek() != Some(b'"') {
                return Err(scanner.error("expected a key in double quotes"));
            }
            scanner.string()?;
            let quoted = scanner.since(at);
            scanner.space();
            scanner.expect(b':', "expected `:`")?;
            scanner.space();
            member(scanner, Key { quoted, at })
        })
    }

    /// Reads an array. `item` is called for each item and reads it.
    pub fn array(
        &mut self,
        item: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        self.expect(b'[', "expected an array: `[…]`")?;
        self.nested(b']', "expected `,` or `]`", item)
    }

    /// Reads what is between two brackets, including the second one.
    fn nested(
        &mut self,
        close: u8,
        expected: &'static str,
        mut each: impl FnMut(&mut Self) -> Result<(), JsonError>,
    ) -> Result<(), JsonError> {
        if self.depth == MAX_DEPTH {
            return Err(JsonError { at: self.at - 1, why: "it is nested more than 64 deep" });
        }
        self.depth += 1;
        self.space();
        if self.peek() != Some(close) {
            loop {
                each(self)?;
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
                self.space();
            }
        }
        self.expect(close, expected)?;
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = &rest[..memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())];
            self.at += first_control(plain).unwrap_or(plain.len());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(self.error("control characters must be escaped")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.error("expected four hexadecimal digits after `\\u`"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.error("invalid escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == begin { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn word(&mut self) -> Result<(), JsonError> {
        for word in ["true", "false", "null"] {
            if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.error("expected a value"))
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.error(why));
        }
        self.at += 1;
        Ok(())
    }

    fn error(&self, why: &'static str) -> JsonError {
        let why = if self.at >= self.text.len() { "unexpected end" } else { why };
        JsonError { at: self.at, why }
    }
}

fn first_control(text: &[u8]) -> Option<usize> {
    // Scans all of the text before it searches for the position, which the compiler vectorizes.
    let min = text.iter().fold(u8::MAX, |min, byte| min.min(*byte));
    if min < b' ' { text.iter().position(|byte| *byte < b' ') } else { None }
}

/// The unescaped keys of one object.
#[derive(Default)]
pub(super) struct Keys<'a> {
    few: Vec<Cow<'a, [u8]>>,
    many: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Keys<'a> {
    /// Adds a key. Returns whether it is new.
    pub fn insert(&mut self, key: Cow<'a, [u8]>) -> bool {
        if self.few.len() < FEW_KEYS {
            let is_new = !self.few.contains(&key);
            self.few.push(key);
            return is_new;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().cloned());
        }
        self.many.insert(key)
    }
}
