//! Whether a body is JSON, strictly (RFC 8259), and what stands at one place in it.
//!
//! Stricter than the RFC where readers are known to differ: no byte order mark, no name twice in one
//! object (compared as what it stands for, however it is escaped), no deeper than 64. Nothing is
//! decoded or changed: the bytes are kept as they came, escapes of lone surrogates and of NUL included.

mod text;

use std::collections::HashSet;

use thiserror::Error;

use self::text::decoded;

/// Containers within containers, the outermost included.
pub const DEEPEST: usize = 64;
/// Up to so many names of an object are compared one by one.
const FEW: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the body is not acceptable JSON: {why} (at byte {at})")]
pub struct NotJson {
    /// Counted from 0.
    pub at: usize,
    pub why: &'static str,
}

/// A JSON pointer (RFC 6901), taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<Box<[u8]>>);

impl Pointer {
    /// `""` points at the whole, which is nobody's id: at least one part is needed.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        let part = |part: &str| {
            let mut rest = part.split('~');
            let first = rest.next()?.to_owned();
            rest.try_fold(first, |done, next| {
                let tail = next.strip_prefix('0').map(|tail| ("~", tail));
                let (sign, tail) = tail.or_else(|| Some(("/", next.strip_prefix('1')?)))?;
                Some(done + sign + tail)
            })
        };
        let parts = rest.split('/').map(|text| part(text).map(|text| text.into_bytes().into()));
        parts.collect::<Option<_>>().map(Self)
    }
}

/// Checks all of it, and gives the value at the pointer as it stands there.
pub fn check<'a>(body: &'a [u8], wanted: Option<&Pointer>) -> Result<Option<&'a [u8]>, NotJson> {
    let invalid =
        |fault: std::str::Utf8Error| NotJson { at: fault.valid_up_to(), why: "it is not UTF-8" };
    std::str::from_utf8(body).map_err(invalid)?;
    let mut scanner = Scanner { bytes: body, at: 0, depth: 0, found: None };
    if body.starts_with(b"\xef\xbb\xbf") {
        return Err(scanner.fault("it begins with a byte order mark"));
    }
    scanner.space();
    scanner.value(wanted.map(|pointer| pointer.0.as_slice()))?;
    scanner.space();
    if scanner.at < body.len() {
        return Err(scanner.fault("something stands behind its end"));
    }
    Ok(scanner.found)
}

/// A string or a number as plain text; nothing for anything else, or if it is empty or too long to be
/// an id.
pub fn plain(value: &[u8]) -> Option<String> {
    const LONGEST: usize = 256;
    let text = match value.first()? {
        b'"' => String::from_utf8(decoded(value.get(1..value.len() - 1)?)).ok()?,
        b'-' | b'0'..=b'9' => std::str::from_utf8(value).ok()?.to_owned(),
        _ => return None,
    };
    let fits = !text.is_empty() && text.len() <= LONGEST && !text.chars().any(char::is_control);
    fits.then_some(text)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    found: Option<&'a [u8]>,
}

/// What is left of the way to the wanted place; nothing where this is not on the way.
type Way<'w> = Option<&'w [Box<[u8]>]>;

impl<'a> Scanner<'a> {
    fn fault(&self, why: &'static str) -> NotJson {
        let why = if self.at >= self.bytes.len() { "it breaks off" } else { why };
        NotJson { at: self.at, why }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, why: &'static str) -> Result<(), NotJson> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(why))
        }
    }

    fn value(&mut self, way: Way<'_>) -> Result<(), NotJson> {
        let begin = self.at;
        match self.peek() {
            Some(b'{') => self.within(|scanner| scanner.object(way))?,
            Some(b'[') => self.within(|scanner| scanner.array(way))?,
            Some(b'"') => self.string().map(|_| ())?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        }
        if way.is_some_and(<[_]>::is_empty) {
            self.found = Some(&self.bytes[begin..self.at]);
        }
        Ok(())
    }

    /// Recursion is bounded here, and nowhere else is any.
    fn within(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        if self.depth == DEEPEST {
            return Err(self.fault("it is nested more than 64 deep"));
        }
        self.depth += 1;
        self.at += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self, way: Way<'_>) -> Result<(), NotJson> {
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut names = Names::default();
        loop {
            let begin = self.at;
            let name = self.string()?;
            let name = names
                .add(name)
                .ok_or(NotJson { at: begin, why: "a name stands twice in one object" })?;
            let on = step(way, &name);
            self.space();
            self.expect(b':', "`:` is expected")?;
            self.space();
            self.value(on)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break self.at += 1,
                _ => return Err(self.fault("`,` or `}` is expected")),
            }
            self.space();
        }
        Ok(())
    }

    fn array(&mut self, way: Way<'_>) -> Result<(), NotJson> {
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        let mut place = 0_usize;
        loop {
            let on = way.and_then(|way| step(Some(way), place.to_string().as_bytes()));
            self.value(on)?;
            place += 1;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break self.at += 1,
                _ => return Err(self.fault("`,` or `]` is expected")),
            }
            self.space();
        }
        Ok(())
    }

    /// What stands between the quotes, as it stands.
    fn string(&mut self) -> Result<&'a [u8], NotJson> {
        self.expect(b'"', "a name or a value is expected")?;
        let begin = self.at;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(0..=0x1f) => return Err(self.fault("a control character is in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.fault("")),
            }
        }
        self.at += 1;
        Ok(&self.bytes[begin..self.at - 1])
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.fault("four hexadecimal digits are expected"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.fault("there is no such escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
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

    fn digits(&mut self) -> Result<(), NotJson> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.fault("a digit is expected"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn word(&mut self) -> Result<(), NotJson> {
        for word in ["true", "false", "null"] {
            if self.bytes[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(());
            }
        }
        Err(self.fault("a value is expected"))
    }
}

fn step<'w>(way: Way<'w>, name: &[u8]) -> Way<'w> {
    match way?.split_first() {
        Some((next, rest)) if **next == *name => Some(rest),
        _ => None,
    }
}

/// The names of one object, as what they stand for.
#[derive(Default)]
struct Names<'a> {
    few: Vec<std::borrow::Cow<'a, [u8]>>,
    many: HashSet<std::borrow::Cow<'a, [u8]>>,
}

impl<'a> Names<'a> {
    /// The name, or nothing if it is there already.
    fn add(&mut self, written: &'a [u8]) -> Option<std::borrow::Cow<'a, [u8]>> {
        let name: std::borrow::Cow<'a, [u8]> =
            if written.contains(&b'\\') { decoded(written).into() } else { written.into() };
        if self.few.len() < FEW {
            if self.few.contains(&name) {
                return None;
            }
            self.few.push(name.clone());
        } else {
            if self.many.is_empty() {
                self.many.extend(self.few.iter().cloned());
            }
            if !self.many.insert(name.clone()) {
                return None;
            }
        }
        Some(name)
    }
}
