//! A connection to an SMTP server: lines out, replies in, all bounded.

use std::{io, pin::Pin};

use bytes::{Buf, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::transport::TransportError;

const MAX_LINE_LENGTH: usize = 4 * 1024;
const MAX_LINES: usize = 128;

pub(super) trait Duplex: AsyncRead + AsyncWrite + Send {}
impl Duplex for TcpStream {}
impl Duplex for TlsStream<TcpStream> {}

pub(super) struct SmtpStream<S: ?Sized> {
    unread: BytesMut,
    stream: Pin<Box<S>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub code: u16,
    /// The lines without the code.
    pub lines: Vec<String>,
}

impl Reply {
    /// Whether the reply is a refusal (4xx or 5xx).
    pub fn is_refusal(&self) -> bool {
        (400..600).contains(&self.code)
    }

    /// Returns all lines joined. If every line starts with the enhanced status code, it occurs once.
    pub fn text(&self) -> String {
        let code = self.lines.first().and_then(|line| line.split(' ').next()).unwrap_or_default();
        let is_enhanced = code.contains('.');
        let each =
            self.lines.iter().enumerate().map(|(place, line)| match line.strip_prefix(code) {
                Some(rest) if is_enhanced && place > 0 => rest.trim(),
                _ => line.trim(),
            });
        each.collect::<Vec<_>>().join(" ").trim().to_owned()
    }
}

impl SmtpStream<TcpStream> {
    pub fn plain(stream: TcpStream) -> Self {
        Self { unread: BytesMut::new(), stream: Box::pin(stream) }
    }

    /// Returns the raw stream, to start TLS on it. `None` if there is unread data: it was sent in the clear,
    /// possibly by an attacker, and would be read as if it were encrypted.
    pub fn into_stream(self) -> Result<TcpStream, TransportError> {
        if !self.unread.is_empty() {
            let text = "the mail server sent data before the TLS handshake: refused";
            return Err(TransportError::NoResponse { text: text.into() });
        }
        Ok(*Pin::into_inner(self.stream))
    }

    pub fn boxed(self) -> SmtpStream<dyn Duplex> {
        SmtpStream { unread: self.unread, stream: self.stream }
    }
}

impl SmtpStream<dyn Duplex> {
    pub fn secured(stream: TlsStream<TcpStream>) -> Self {
        Self { unread: BytesMut::new(), stream: Box::pin(stream) }
    }
}

impl<S: AsyncRead + AsyncWrite + Send + ?Sized> SmtpStream<S> {
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        self.stream.write_all(bytes).await.map_err(|error| lost(&error))?;
        self.stream.flush().await.map_err(|error| lost(&error))
    }

    /// Reads a reply, which may have several lines.
    pub async fn read_reply(&mut self) -> Result<Reply, TransportError> {
        let mut reply = Reply { code: 0, lines: Vec::new() };
        loop {
            let line = self.line().await?;
            let (code, is_last, text) = parse(&line).ok_or_else(nonsense)?;
            if reply.lines.len() >= MAX_LINES || !reply.lines.is_empty() && code != reply.code {
                return Err(nonsense());
            }
            reply.code = code;
            reply.lines.push(text);
            if is_last {
                return Ok(reply);
            }
        }
    }

    async fn line(&mut self) -> Result<Vec<u8>, TransportError> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.unread[looked..].iter().position(|byte| *byte == b'\n') {
                let mut line = self.unread.split_to(looked + end + 1).to_vec();
                line.truncate(line.len() - 1);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            looked = self.unread.len();
            if looked > MAX_LINE_LENGTH {
                self.unread.advance(looked);
                return Err(nonsense());
            }
            if self.stream.read_buf(&mut self.unread).await.map_err(|error| lost(&error))? == 0 {
                return Err(lost(&io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }
}

/// Parses `250-text` or `250 text`; the text and the space are optional.
fn parse(line: &[u8]) -> Option<(u16, bool, String)> {
    let (digits, rest) = line.split_at_checked(3)?;
    let code = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let (is_last, text) = match rest.split_first() {
        None => (true, rest),
        Some((b' ', text)) => (true, text),
        Some((b'-', text)) => (false, text),
        Some(_) => return None,
    };
    (200..600).contains(&code).then(|| (code, is_last, sanitized(text)))
}

/// Returns the server's text without control characters.
fn sanitized(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().filter(|letter| !letter.is_control()).collect()
}

fn lost(error: &io::Error) -> TransportError {
    TransportError::NoResponse {
        text: format!("the connection to the mail server was lost: {error}"),
    }
}

fn nonsense() -> TransportError {
    TransportError::NoResponse { text: "the response of the mail server is not SMTP".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_replies() {
        assert_eq!(parse(b"250 ok"), Some((250, true, "ok".into())));
        assert_eq!(parse(b"250-ok"), Some((250, false, "ok".into())));
        assert_eq!(parse(b"250"), Some((250, true, String::new())));
        assert_eq!(parse(b"550 \x1b[2Jbad\xff"), Some((550, true, "[2Jbad\u{fffd}".into())));
        for invalid in [&b""[..], b"25", b"abc ok", b"250+ok", b"100 ok", b"600 ok", b"+25 ok"] {
            assert_eq!(parse(invalid), None, "{invalid:?}");
        }
    }

    #[test]
    fn a_reply_in_one_line() {
        let lines = ["5.1.1 no", "5.1.1 such", "5.1.1 user"].map(str::to_owned).to_vec();
        assert_eq!(Reply { code: 550, lines }.text(), "5.1.1 no such user");
        let lines = ["no", "no no"].map(str::to_owned).to_vec();
        assert_eq!(Reply { code: 550, lines }.text(), "no no no");
        assert_eq!(Reply { code: 550, lines: vec![String::new()] }.text(), "");
    }
}
