//! An SMTP session: EHLO, TLS and authentication once, then one message after the other.

use data_encoding::BASE64;
use gancho_egress::shortage::{is_shortage, lacks_sockets};
use gancho_engine::Preemption;
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::TlsConnector;
use zeroize::Zeroizing;

use super::{
    SmtpSettings, TlsMode, tls,
    wire::{Duplex, Reply, SmtpStream},
};
use crate::transport::{Acceptance, OutgoingMessage, SmtpStage, TransportError};

pub(super) struct SmtpSession {
    wire: SmtpStream<dyn Duplex>,
    offers: Capabilities,
    letters: u32,
    /// The last message was refused halfway, so the transaction must be reset.
    needs_reset: bool,
}

/// The capabilities of the server.
#[derive(Debug, Default, PartialEq, Eq)]
struct Capabilities {
    starttls: bool,
    pipelining: bool,
    /// Authentication methods, in upper case.
    auth: Vec<String>,
    /// The server supports SIZE.
    takes_size: bool,
    /// Maximum message size of the server.
    size: Option<u64>,
}

/// A message was not accepted.
pub(super) struct SmtpError {
    pub cause: TransportError,
    /// Whether the connection can be used for another message.
    pub can_go_on: bool,
    /// Whether the whole message was sent, so that it may have been accepted.
    was_sent: bool,
    /// Whether the connection was reused.
    is_kept: bool,
}

impl SmtpError {
    /// Whether the connection was stale, so that the message cannot have been accepted.
    pub fn is_stale(&self) -> bool {
        let is_gone = matches!(
            self.cause,
            TransportError::NoResponse { .. } | TransportError::Reply { code: 421, .. }
        );
        self.is_kept && is_gone && !self.was_sent
    }
}

impl SmtpSession {
    pub async fn open(
        settings: &SmtpSettings,
        connector: Option<&TlsConnector>,
    ) -> Result<Self, TransportError> {
        let server = &settings.server;
        let stream = connect(settings).await?;
        let mut session = match (server.tls, connector) {
            (TlsMode::Wrapped, Some(connector)) => {
                let stream = tls::secure(connector, &server.host, stream).await?;
                Self::greeted(SmtpStream::secured(stream), &server.hello).await?
            }
            (TlsMode::Required | TlsMode::Opportunistic, Some(connector)) => {
                Self::upgraded(settings, connector, stream).await?
            }
            (_, _) => Self::greeted(SmtpStream::plain(stream).boxed(), &server.hello).await?,
        };
        if let Some(user) = &server.user {
            session.authenticate(user, &server.password).await?;
        }
        Ok(session)
    }

    async fn greeted(
        mut wire: SmtpStream<dyn Duplex>,
        hello: &str,
    ) -> Result<Self, TransportError> {
        due(wire.read_reply().await?, READY, SmtpStage::Hello)?;
        wire.send(format!("EHLO {hello}\r\n").as_bytes()).await?;
        let offers = Capabilities::of(&due(wire.read_reply().await?, DONE, SmtpStage::Hello)?);
        Ok(Self { wire, offers, letters: 0, needs_reset: false })
    }

    async fn upgraded(
        settings: &SmtpSettings,
        connector: &TlsConnector,
        stream: TcpStream,
    ) -> Result<Self, TransportError> {
        let server = &settings.server;
        let hello = format!("EHLO {}\r\n", server.hello);
        let mut wire = SmtpStream::plain(stream);
        due(wire.read_reply().await?, READY, SmtpStage::Hello)?;
        wire.send(hello.as_bytes()).await?;
        let offers = Capabilities::of(&due(wire.read_reply().await?, DONE, SmtpStage::Hello)?);
        if !offers.starttls {
            if server.tls == TlsMode::Required || server.user.is_some() {
                let text = "the mail server does not offer STARTTLS, and TLS is required: enable TLS on the server, or set tls=none in its URL";
                return Err(TransportError::NoResponse { text: text.into() });
            }
            return Ok(Self { wire: wire.boxed(), offers, letters: 0, needs_reset: false });
        }
        wire.send(b"STARTTLS\r\n").await?;
        due(wire.read_reply().await?, READY, SmtpStage::Hello)?;
        let stream = tls::secure(connector, &server.host, wire.into_stream()?).await?;
        let mut wire = SmtpStream::secured(stream);
        // Capabilities sent in the clear are not trusted: EHLO is repeated.
        wire.send(hello.as_bytes()).await?;
        let offers = Capabilities::of(&due(wire.read_reply().await?, DONE, SmtpStage::Hello)?);
        Ok(Self { wire, offers, letters: 0, needs_reset: false })
    }

    async fn authenticate(&mut self, user: &str, password: &str) -> Result<(), TransportError> {
        if self.offers.has_auth("PLAIN") {
            let both = Zeroizing::new(format!("\0{user}\0{password}"));
            let line = Zeroizing::new(format!("AUTH PLAIN {}\r\n", BASE64.encode(both.as_bytes())));
            self.ask(&line, KNOWN, SmtpStage::Hello).await?;
        } else if self.offers.has_auth("LOGIN") {
            self.ask("AUTH LOGIN\r\n", GO_ON, SmtpStage::Hello).await?;
            for (word, answer) in [(user, GO_ON), (password, KNOWN)] {
                let line = Zeroizing::new(format!("{}\r\n", BASE64.encode(word.as_bytes())));
                self.ask(&line, answer, SmtpStage::Hello).await?;
            }
        } else {
            let text = "the mail server supports neither AUTH PLAIN nor AUTH LOGIN";
            return Err(TransportError::NoResponse { text: text.into() });
        }
        Ok(())
    }

    pub fn letters(&self) -> u32 {
        self.letters
    }

    pub async fn quit(&mut self) -> Result<(), TransportError> {
        self.wire.send(b"QUIT\r\n").await?;
        self.wire.read_reply().await.map(|_| ())
    }

    pub async fn send(
        &mut self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, SmtpError> {
        let is_kept = self.letters > 0;
        self.letters += 1;
        let error = |cause: TransportError, can_go_on: bool, was_sent: bool| SmtpError {
            can_go_on: can_go_on && !matches!(cause, TransportError::Reply { code: 421, .. }),
            cause,
            was_sent,
            is_kept,
        };
        let raw = &letter.raw;
        if let Some(max) = self.offers.size.filter(|max| (raw.len() as u64) > *max) {
            let text = format!(
                "the e-mail has {} bytes, the mail server accepts at most {max}",
                raw.len()
            );
            return Err(error(TransportError::Unfit { text }, true, false));
        }
        if let Err(cause) = self.introduce(letter).await {
            self.needs_reset = true;
            let can_go_on = matches!(cause, TransportError::Reply { .. });
            return Err(error(cause, can_go_on, false));
        }
        if !preemption.seal() {
            return Err(error(TransportError::CutShort, false, false));
        }
        let said = match self.wire.send(&stuffed(raw)).await {
            Ok(()) => self.wire.read_reply().await,
            Err(cause) => Err(cause),
        };
        let said = said.map_err(|cause| error(cause, false, true))?;
        // A 421 also counts as the reply to this message: it is not sent at once on the next connection.
        let can_go_on = said.is_refusal();
        let reply =
            due(said, DONE, SmtpStage::Content).map_err(|cause| error(cause, can_go_on, true))?;
        Ok(Acceptance {
            message_id: letter.message_id.clone(),
            status: reply.code,
            text: reply.text(),
        })
    }

    /// Sends the envelope and DATA, pipelined if the server supports it, otherwise one by one.
    async fn introduce(&mut self, letter: &OutgoingMessage) -> Result<(), TransportError> {
        if std::mem::take(&mut self.needs_reset) {
            self.ask("RSET\r\n", DONE, SmtpStage::Sender).await?;
        }
        let size = if self.offers.takes_size {
            format!(" SIZE={}", letter.raw.len())
        } else {
            String::new()
        };
        let from = format!("MAIL FROM:<{}>{size}\r\n", letter.from.address());
        let to = format!("RCPT TO:<{}>\r\n", letter.to.address());
        if !self.offers.pipelining {
            self.ask(&from, DONE, SmtpStage::Sender).await?;
            self.ask(&to, DONE, SmtpStage::Recipient).await?;
            return self.ask("DATA\r\n", SEND, SmtpStage::Content).await;
        }
        self.wire.send(format!("{from}{to}DATA\r\n").as_bytes()).await?;
        let from = self.wire.read_reply().await?;
        // After 421 the server closes the connection.
        if from.code == 421 {
            return due(from, DONE, SmtpStage::Sender).map(|_| ());
        }
        let to = self.wire.read_reply().await?;
        if to.code == 421 {
            return due(to, DONE, SmtpStage::Recipient).map(|_| ());
        }
        let data = due(self.wire.read_reply().await?, SEND, SmtpStage::Content);
        if let Err(invalid @ TransportError::NoResponse { .. }) = data {
            return Err(invalid);
        }
        let envelope = due(from, DONE, SmtpStage::Sender).and(due(to, DONE, SmtpStage::Recipient));
        if let (Err(TransportError::Reply { .. }), Ok(_)) = (&envelope, &data) {
            // The server waits for data without a recipient: it gets an empty message, and its reply is
            // ignored.
            self.wire.send(b".\r\n").await?;
            self.wire.read_reply().await?;
        }
        envelope.and(data).map(|_| ())
    }

    async fn ask(
        &mut self,
        line: &str,
        answer: Codes,
        stage: SmtpStage,
    ) -> Result<(), TransportError> {
        self.wire.send(line.as_bytes()).await?;
        due(self.wire.read_reply().await?, answer, stage).map(|_| ())
    }
}

async fn connect(settings: &SmtpSettings) -> Result<TcpStream, TransportError> {
    let server = &settings.server;
    let failed = |why: &dyn std::fmt::Display| TransportError::NoResponse {
        text: format!("cannot connect to the mail server: {why}"),
    };
    let connecting = TcpStream::connect((server.host.as_str(), server.port));
    let stream = match timeout(settings.connect_timeout, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) if is_shortage(&error) || lacks_sockets() => {
            let text = format!("this node could not open a connection: {error}");
            return Err(TransportError::Local { text });
        }
        Ok(Err(error)) => return Err(failed(&error)),
        Err(_) => return Err(failed(&"timed out")),
    };
    // A session is a few short exchanges: disable Nagle's algorithm.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

/// Expected reply codes.
type Codes = &'static [u16];

/// For the greeting and STARTTLS.
const READY: Codes = &[220];
/// For authentication.
const KNOWN: Codes = &[235];
/// For other commands; 251 and 252 mean that the server forwards the message.
const DONE: Codes = &[250, 251, 252];
/// For the steps of AUTH LOGIN.
const GO_ON: Codes = &[334];
/// For DATA. After any other reply, the server could take the lines of a message for commands.
const SEND: Codes = &[354];

/// Checks that a reply is expected. A refusal is about the message or our access; after any other reply the
/// session is out of step and unusable.
fn due(reply: Reply, answer: Codes, stage: SmtpStage) -> Result<Reply, TransportError> {
    if answer.contains(&reply.code) {
        return Ok(reply);
    }
    let (code, text) = (reply.code, reply.text());
    if reply.is_refusal() {
        return Err(TransportError::Reply { stage, code, text });
    }
    let due = answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let text = format!("the mail server replied {code} where {due} is expected");
    Err(TransportError::NoResponse { text })
}

impl Capabilities {
    fn has_auth(&self, way: &str) -> bool {
        self.auth.iter().any(|known| known == way)
    }

    fn of(reply: &Reply) -> Self {
        let mut offers = Self::default();
        for line in reply.lines.iter().skip(1) {
            let line = line.to_ascii_uppercase();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("STARTTLS") => offers.starttls = true,
                Some("PIPELINING") => offers.pipelining = true,
                Some("SIZE") => {
                    offers.takes_size = true;
                    let max = words.next().and_then(|max| max.parse().ok());
                    // Zero means no limit.
                    offers.size = max.filter(|max| *max > 0);
                }
                Some("AUTH") => offers.auth.extend(words.map(str::to_owned)),
                _ => {}
            }
        }
        offers
    }
}

/// Returns the message for DATA: dot-stuffed, with the final dot.
fn stuffed(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + 64);
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            out.push(b'.');
        }
        out.extend_from_slice(line);
    }
    if !raw.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_offers() {
        let lines = ["mx at your service", "STARTTLS", "size 1000", "AUTH LOGIN PLAIN", "X"];
        let reply = Reply { code: 250, lines: lines.map(str::to_owned).to_vec() };
        let offers = Capabilities::of(&reply);
        assert!(offers.starttls && !offers.pipelining);
        assert!(offers.has_auth("PLAIN") && offers.has_auth("LOGIN") && !offers.has_auth("X"));
        assert_eq!((offers.size, offers.takes_size), (Some(1_000), true));
        let unlimited = Reply { code: 250, lines: ["a", "SIZE 0"].map(str::to_owned).to_vec() };
        assert_eq!(Capabilities::of(&unlimited).size, None);
    }

    #[test]
    fn only_the_answer_that_is_due_is_good() {
        for answer in [READY, KNOWN, DONE, GO_ON, SEND] {
            for code in 200..600 {
                let reply = Reply { code, lines: vec!["text".into()] };
                match due(reply, answer, SmtpStage::Content) {
                    Ok(_) => assert!(answer.contains(&code)),
                    Err(TransportError::Reply { code: told, .. }) => {
                        assert!(told == code && code >= 400);
                    }
                    Err(_) => assert!(code < 400 && !answer.contains(&code)),
                }
            }
        }
    }

    #[test]
    fn dots_at_the_beginning_of_a_line() {
        for (raw, sent) in [
            ("a\r\n", "a\r\n.\r\n"),
            ("a", "a\r\n.\r\n"),
            (".\r\n..\r\na.\r\n", "..\r\n...\r\na.\r\n.\r\n"),
            ("", "\r\n.\r\n"),
        ] {
            assert_eq!(stuffed(raw.as_bytes()), sent.as_bytes(), "{raw:?}");
        }
    }
}
