//! Strict framing of HTTP/1: where one request ends and the next begins.
//!
//! Request smuggling exploits what two parsers understand differently: two lengths, a length and chunks, a
//! length that is not plain digits, a line without CR, a folded header, a space before the colon, a chunk
//! extension or a trailer. API clients need none of these, so they are rejected here, below the HTTP library.
//! The bytes from there on are replaced by zeros, which no parser accepts as a request, so that the library
//! answers 400 and closes.

/// The part of a request that the last byte belonged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// An incomplete head.
    Head,
    Body,
    /// No request: the next one may begin, or the connection was rejected.
    Between,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a head.
    Idle,
    RequestLine,
    Headers,
    /// The number of bytes still to come.
    Body(u64),
    /// The size of a chunk, and the number of its digits so far.
    ChunkSize {
        size: u64,
        digits: u8,
    },
    /// Before the LF after the size.
    ChunkSizeEnd(u64),
    ChunkData(u64),
    /// Before CR and LF after the data; `last` is the empty chunk at the end.
    ChunkCr {
        last: bool,
    },
    ChunkLf {
        last: bool,
    },
    Rejected,
}

#[derive(Debug, Default)]
struct Lengths {
    content_length: Option<u64>,
    is_chunked: bool,
}

#[derive(Debug)]
pub struct Framing {
    state: State,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    lengths: Lengths,
}

/// Maximum length of a line of a head.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// Maximum number of digits of a length.
const MAX_DIGITS: usize = 15;
const MAX_HEX_DIGITS: u8 = 8;

struct FramingError;

impl Framing {
    pub fn new() -> Self {
        Self { state: State::Idle, line: Vec::new(), lengths: Lengths::default() }
    }

    /// Whether the framing was ambiguous. Nothing after that is passed through.
    pub fn is_rejected(&self) -> bool {
        self.state == State::Rejected
    }

    /// Whether a body has begun and is incomplete.
    pub fn is_in_body(&self) -> bool {
        !matches!(self.state, State::Idle | State::RequestLine | State::Headers | State::Rejected)
    }

    /// Follows the framing, and zeroes the bytes after an error.
    pub fn read(&mut self, bytes: &mut [u8]) -> RequestPart {
        let mut at = 0;
        while at < bytes.len() {
            let Ok(count) = self.step(&bytes[at..]) else {
                self.state = State::Rejected;
                bytes[at..].fill(0);
                break;
            };
            at += count;
        }
        match self.state {
            State::Idle | State::Rejected => RequestPart::Between,
            State::RequestLine | State::Headers => RequestPart::Head,
            _ => RequestPart::Body,
        }
    }

    /// Returns the number of bytes consumed, at least one.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, FramingError> {
        let Some(first) = bytes.first().copied() else { return Ok(0) };
        match self.state {
            State::Rejected => Err(FramingError),
            State::Idle => {
                // RFC 9112 allows an empty line before a request, and some clients send one.
                if !matches!(first, b'\r' | b'\n') {
                    self.state = State::RequestLine;
                }
                self.take_line(bytes)
            }
            State::RequestLine | State::Headers => self.take_line(bytes),
            State::Body(left) => Ok(self.skip(left, bytes, State::Idle, State::Body)),
            State::ChunkData(left) => {
                Ok(self.skip(left, bytes, State::ChunkCr { last: false }, State::ChunkData))
            }
            State::ChunkSize { size, digits } => {
                self.state = match (first, char::from(first).to_digit(16)) {
                    (_, Some(digit)) if digits < MAX_HEX_DIGITS => {
                        State::ChunkSize { size: size << 4 | u64::from(digit), digits: digits + 1 }
                    }
                    (b'\r', _) if digits > 0 => State::ChunkSizeEnd(size),
                    _ => return Err(FramingError),
                };
                Ok(1)
            }
            State::ChunkSizeEnd(size) => self.expect(
                first,
                b'\n',
                match size {
                    0 => State::ChunkCr { last: true },
                    size => State::ChunkData(size),
                },
            ),
            State::ChunkCr { last } => self.expect(first, b'\r', State::ChunkLf { last }),
            State::ChunkLf { last: true } => self.expect(first, b'\n', State::Idle),
            State::ChunkLf { last: false } => {
                self.expect(first, b'\n', State::ChunkSize { size: 0, digits: 0 })
            }
        }
    }

    fn expect(&mut self, byte: u8, wanted: u8, next: State) -> Result<usize, FramingError> {
        if byte != wanted {
            return Err(FramingError);
        }
        self.state = next;
        Ok(1)
    }

    fn skip(&mut self, left: u64, bytes: &[u8], next: State, more: fn(u64) -> State) -> usize {
        let count = left.min(bytes.len() as u64);
        self.state = if count == left { next } else { more(left - count) };
        count as usize
    }

    fn take_line(&mut self, bytes: &[u8]) -> Result<usize, FramingError> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            if self.line.len() + bytes.len() > MAX_LINE_BYTES {
                return Err(FramingError);
            }
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        if self.line.is_empty() {
            self.check_line(&bytes[..end])?;
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(&bytes[..end]);
            let checked = self.check_line(&line);
            line.clear();
            self.line = line;
            checked?;
        }
        Ok(end + 1)
    }

    /// Checks a whole line, without its LF.
    fn check_line(&mut self, line: &[u8]) -> Result<(), FramingError> {
        let line = line.strip_suffix(b"\r").ok_or(FramingError)?;
        if line.len() > MAX_LINE_BYTES || memchr::memchr2(b'\r', 0, line).is_some() {
            return Err(FramingError);
        }
        match self.state {
            State::Idle if line.is_empty() => Ok(()),
            State::RequestLine => {
                self.lengths = Lengths::default();
                self.state = State::Headers;
                // What follows is not HTTP/1.
                let is_other = line.starts_with(b"CONNECT ") || line == b"PRI * HTTP/2.0";
                if is_other { Err(FramingError) } else { Ok(()) }
            }
            State::Headers if line.is_empty() => {
                self.state = match &self.lengths {
                    Lengths { is_chunked: true, content_length: Some(_) } => {
                        return Err(FramingError);
                    }
                    Lengths { is_chunked: true, .. } => State::ChunkSize { size: 0, digits: 0 },
                    Lengths { content_length: Some(0) | None, .. } => State::Idle,
                    Lengths { content_length: Some(length), .. } => State::Body(*length),
                };
                Ok(())
            }
            _ => self.check_header(line),
        }
    }

    fn check_header(&mut self, line: &[u8]) -> Result<(), FramingError> {
        let colon = memchr::memchr(b':', line).ok_or(FramingError)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || name.iter().any(|byte| matches!(byte, b' ' | b'\t')) {
            return Err(FramingError);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let is_plain =
                (1..=MAX_DIGITS).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
            if !is_plain || self.lengths.content_length.is_some() {
                return Err(FramingError);
            }
            let digits = value.iter().map(|digit| u64::from(digit - b'0'));
            self.lengths.content_length = Some(digits.fold(0, |sum, digit| sum * 10 + digit));
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.lengths.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(FramingError);
            }
            self.lengths.is_chunked = true;
        }
        if self.lengths.is_chunked && self.lengths.content_length.is_some() {
            return Err(FramingError);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
