//! Whether bytes are JSON, strictly by RFC 8259, and where the members of an object stand.
//!
//! Written out rather than left to a library for three reasons: nothing is decoded that will be kept
//! as it is, nesting is bounded without recursion, and a key that stands twice is seen.

use std::borrow::Cow;

/// Containers within containers, the outermost included.
pub const DEEPEST: u32 = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJson {
    /// Counted from 0.
    pub at: usize,
    pub why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    pub key: Cow<'a, str>,
    /// As it was written, without the white space around it.
    pub value: &'a str,
}

/// The members of the object that the text is. What is not one object and nothing else is refused.
pub fn members(text: &str) -> Result<Vec<Member<'_>>, NotJson> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0 };
    let mut members = Vec::with_capacity(8);
    scanner.space();
    match scanner.peek() {
        Some(b'{') => scanner.at += 1,
        Some(_) => {
            // Better to say that it is no JSON than that it is no object, where both are so.
            scanner.value(0)?;
            scanner.end()?;
            return Err(NotJson { at: 0, why: "an object is expected: `{…}`" });
        }
        None => return Err(scanner.fault("it is empty")),
    }
    scanner.space();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
        scanner.end()?;
        return Ok(members);
    }
    loop {
        let key = scanner.key()?;
        scanner.space();
        let begin = scanner.at;
        scanner.value(1)?;
        members.push(Member { key, value: &text[begin..scanner.at] });
        scanner.space();
        match scanner.peek() {
            Some(b',') => {
                scanner.at += 1;
                scanner.space();
            }
            Some(b'}') => {
                scanner.at += 1;
                break;
            }
            _ => return Err(scanner.fault("`,` or `}` is expected")),
        }
    }
    scanner.end()?;
    Ok(members)
}

/// The items of the array that the text is, which was found to be JSON before.
pub fn items(text: &str) -> Result<Vec<&str>, NotJson> {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0 };
    let mut items = Vec::new();
    scanner.space();
    if scanner.peek() != Some(b'[') {
        return Err(scanner.fault("a list is expected: `[…]`"));
    }
    scanner.at += 1;
    scanner.space();
    if scanner.peek() == Some(b']') {
        return Ok(items);
    }
    loop {
        scanner.space();
        let begin = scanner.at;
        scanner.value(1)?;
        items.push(&text[begin..scanner.at]);
        scanner.space();
        match scanner.peek() {
            Some(b',') => scanner.at += 1,
            Some(b']') => return Ok(items),
            _ => return Err(scanner.fault("`,` or `]` is expected")),
        }
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fault(&self, why: &'static str) -> NotJson {
        NotJson {
            at: self.at,
            why: if self.at >= self.bytes.len() { "it breaks off" } else { why },
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), NotJson> {
        self.space();
        if self.at == self.bytes.len() {
            return Ok(());
        }
        Err(self.fault("something follows where it should have ended"))
    }

    /// One value, `outer` containers deep. A bit for each open container says whether it is an
    /// object, so nothing recurses and nothing is allocated, however deep a sender goes.
    fn value(&mut self, outer: u32) -> Result<(), NotJson> {
        let mut objects: u64 = 0;
        let mut depth = 0_u32;
        loop {
            self.space();
            match self.peek() {
                Some(open @ (b'{' | b'[')) => {
                    if outer + depth >= DEEPEST {
                        return Err(self.fault("it is nested more than 64 deep"));
                    }
                    let is_object = open == b'{';
                    objects = objects << 1 | u64::from(is_object);
                    depth += 1;
                    self.at += 1;
                    self.space();
                    let close = if is_object { b'}' } else { b']' };
                    if self.peek() == Some(close) {
                        self.at += 1;
                        objects >>= 1;
                        depth -= 1;
                    } else {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                _ => return Err(self.fault("a value is expected")),
            }
            // A value has ended; so may what it stands in.
            loop {
                if depth == 0 {
                    return Ok(());
                }
                let is_object = objects & 1 == 1;
                self.space();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if is_object {
                            self.space();
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ if is_object => return Err(self.fault("`,` or `}` is expected")),
                    _ => return Err(self.fault("`,` or `]` is expected")),
                }
                self.at += 1;
                objects >>= 1;
                depth -= 1;
            }
        }
    }

    /// A key and the colon after it.
    fn key(&mut self) -> Result<Cow<'a, str>, NotJson> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key in double quotes is expected"));
        }
        let begin = self.at;
        self.string()?;
        let quoted = &self.text[begin..self.at];
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.fault("`:` is expected"));
        }
        self.at += 1;
        let inner = &quoted[1..quoted.len() - 1];
        if !inner.contains('\\') {
            return Ok(Cow::Borrowed(inner));
        }
        // A key that stands for no text, such as a lone surrogate, is no name of ours: as it is
        // written, it is unknown all the same.
        Ok(serde_json::from_str(quoted).map_or(Cow::Borrowed(inner), Cow::Owned))
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let Some(plain) = plain else {
                self.at = self.bytes.len();
                return Err(self.fault("it breaks off"));
            };
            self.at += plain;
            match self.bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                _ => return Err(self.fault("a control character must be written as an escape")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.fault("four hexadecimal digits are expected after `\\u`"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.fault("no escape is written like this")),
        }
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.fault("a value is expected: text stands in double quotes"))
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.fault("a number needs a digit here")),
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

    fn digits(&mut self) -> Result<(), NotJson> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == begin {
            return Err(self.fault("a number needs a digit here"));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
