//! Handing letters to a mail server (RFC 5321), over connections that are kept for the next ones.
//!
//! `url` says where and how; `tls` and `wire` are the connection; `session` is what is said on it. TLS is
//! asked for before anything else, and nothing is said to a server without it unless the operator
//! wants it so; a password never crosses a connection that only might have been secured.
//!
//! A connection that was given up in the middle, as when the time ran out, is never used again: an
//! answer that comes late would be taken for the answer to another letter.

mod session;
mod tls;
mod url;
mod wire;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use self::session::{SmtpError, SmtpSession};
pub use self::url::{SmtpServer, SmtpUrlError, TlsUse};
use crate::transport::{Acceptance, DEADLINE, OutgoingMessage, Transport, TransportError};

#[derive(Debug, Clone)]
pub struct SmtpSettings {
    pub server: SmtpServer,
    /// Trusted besides the machine's own roots.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub connect_timeout: Duration,
    /// All of one attempt.
    pub deadline: Duration,
    /// At most so many connections wait for a letter.
    pub idle: usize,
    /// For no longer than this.
    pub idle_timeout: Duration,
    /// Servers grow tired of one who never leaves.
    pub letters_per_connection: u32,
}

impl SmtpSettings {
    pub fn new(server: SmtpServer) -> Self {
        Self {
            server,
            extra_roots: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            deadline: DEADLINE,
            idle: 64,
            idle_timeout: Duration::from_secs(30),
            letters_per_connection: 100,
        }
    }

    /// Servers whose certificates are signed by one of these, in PEM form, are trusted as well.
    pub fn trusting(mut self, pem: &[u8]) -> Result<Self, String> {
        let before = self.extra_roots.len();
        for one in CertificateDer::pem_slice_iter(pem) {
            self.extra_roots.push(one.map_err(|fault| fault.to_string())?);
        }
        if self.extra_roots.len() == before {
            return Err("it contains no PEM certificate".to_owned());
        }
        Ok(self)
    }
}

pub struct SmtpTransport {
    settings: SmtpSettings,
    tls: Option<tokio_rustls::TlsConnector>,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    session: SmtpSession,
    since: Instant,
}

impl SmtpTransport {
    pub fn new(settings: SmtpSettings) -> Result<Self, rustls::Error> {
        let tls = match settings.server.tls {
            TlsUse::None => None,
            TlsUse::Wrapped | TlsUse::Required | TlsUse::Opportunistic => {
                Some(tls::connector(&settings.extra_roots)?)
            }
        };
        Ok(Self { settings, tls, idle: Mutex::default() })
    }

    /// A kept connection that has died meanwhile costs nothing: as long as nothing of the letter
    /// can have been taken, it is handed to another.
    async fn attempt(&self, letter: &OutgoingMessage) -> Result<Acceptance, TransportError> {
        while let Some(session) = self.kept() {
            match self.hand_over(session, letter).await {
                Err(error) if error.is_stale() => {}
                other => return other.map_err(|error| error.cause),
            }
        }
        let session = SmtpSession::open(&self.settings, self.tls.as_ref()).await?;
        self.hand_over(session, letter).await.map_err(|error| error.cause)
    }

    async fn hand_over(
        &self,
        mut session: SmtpSession,
        letter: &OutgoingMessage,
    ) -> Result<Acceptance, SmtpError> {
        let taken = session.send(letter).await;
        let can_go_on = taken.as_ref().map_or_else(|error| error.can_go_on, |_| true);
        if can_go_on && session.letters() < self.settings.letters_per_connection {
            self.keep(session);
        }
        taken
    }

    fn kept(&self) -> Option<SmtpSession> {
        let mut idle = self.idle.lock();
        idle.retain(|kept| kept.since.elapsed() < self.settings.idle_timeout);
        idle.pop().map(|kept| kept.session)
    }

    fn keep(&self, session: SmtpSession) {
        let mut idle = self.idle.lock();
        if idle.len() < self.settings.idle {
            idle.push(Idle { session, since: Instant::now() });
        }
    }
}

#[async_trait]
impl Transport for SmtpTransport {
    fn name(&self) -> &'static str {
        "smtp"
    }

    async fn send(&self, letter: &OutgoingMessage) -> Result<Acceptance, TransportError> {
        let deadline = self.settings.deadline;
        match tokio::time::timeout(deadline, self.attempt(letter)).await {
            Ok(ended) => ended,
            Err(_) => Err(TransportError::NoResponse {
                text: format!("the mail server did not finish within {} s", deadline.as_secs()),
            }),
        }
    }

    async fn close(&self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let idle = std::mem::take(&mut *self.idle.lock());
        for mut kept in idle {
            // It is only polite.
            let _ = tokio::time::timeout(PATIENCE, kept.session.quit()).await;
        }
    }
}
