//! The SMTP transport (RFC 5321), with reusable connections.
//!
//! `url` is the server's address and options; `tls` and `wire` are the connection; `session` is the protocol.
//! TLS comes first, and without TLS nothing is sent unless the operator allows it. A password is never sent
//! over a connection that is only opportunistically encrypted.
//!
//! A connection that was abandoned in the middle, as after a timeout, is never used again: a late reply would
//! be taken for the reply to another e-mail.

mod session;
mod tls;
mod url;
mod wire;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use gancho_engine::Preemption;
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use self::session::{SmtpError, SmtpSession};
pub use self::url::{SmtpServer, SmtpUrlError, TlsMode};
use crate::transport::{Acceptance, DEADLINE, OutgoingMessage, Transport, TransportError};

#[derive(Debug, Clone)]
pub struct SmtpSettings {
    pub server: SmtpServer,
    /// CA certificates that are trusted in addition to the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub connect_timeout: Duration,
    /// Maximum duration of an attempt.
    pub deadline: Duration,
    /// Maximum number of idle connections.
    pub idle: usize,
    /// Maximum idle time of a connection.
    pub idle_timeout: Duration,
    /// Maximum number of e-mails per connection, because servers limit them as well.
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

    /// Also trusts servers whose certificates are signed by one of these (PEM).
    pub fn trusting(mut self, pem: &[u8]) -> Result<Self, String> {
        let before = self.extra_roots.len();
        for one in CertificateDer::pem_slice_iter(pem) {
            self.extra_roots.push(one.map_err(|error| error.to_string())?);
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
    idle: Mutex<Vec<IdleSession>>,
}

struct IdleSession {
    session: SmtpSession,
    since: Instant,
}

impl SmtpTransport {
    pub fn new(settings: SmtpSettings) -> Result<Self, rustls::Error> {
        let tls = match settings.server.tls {
            TlsMode::None => None,
            TlsMode::Wrapped | TlsMode::Required | TlsMode::Opportunistic => {
                Some(tls::connector(&settings.extra_roots)?)
            }
        };
        Ok(Self { settings, tls, idle: Mutex::default() })
    }

    /// Makes an attempt. If an idle connection was closed meanwhile and the server cannot have accepted the
    /// e-mail, it uses another connection.
    async fn attempt(
        &self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        while let Some(session) = self.take_idle() {
            match self.hand_over(session, letter, preemption).await {
                Err(error) if error.is_stale() => {}
                other => return other.map_err(|error| error.cause),
            }
        }
        let session = SmtpSession::open(&self.settings, self.tls.as_ref()).await?;
        self.hand_over(session, letter, preemption).await.map_err(|error| error.cause)
    }

    async fn hand_over(
        &self,
        mut session: SmtpSession,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, SmtpError> {
        let taken = session.send(letter, preemption).await;
        let can_go_on = taken.as_ref().map_or_else(|error| error.can_go_on, |_| true);
        if can_go_on && session.letters() < self.settings.letters_per_connection {
            self.keep(session);
        }
        taken
    }

    fn take_idle(&self) -> Option<SmtpSession> {
        let mut idle = self.idle.lock();
        idle.retain(|idle| idle.since.elapsed() < self.settings.idle_timeout);
        idle.pop().map(|idle| idle.session)
    }

    fn keep(&self, session: SmtpSession) {
        let mut idle = self.idle.lock();
        if idle.len() < self.settings.idle {
            idle.push(IdleSession { session, since: Instant::now() });
        }
    }
}

#[async_trait]
impl Transport for SmtpTransport {
    fn name(&self) -> &'static str {
        "smtp"
    }

    async fn send(
        &self,
        letter: &OutgoingMessage,
        preemption: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        let deadline = self.settings.deadline;
        match tokio::time::timeout(deadline, self.attempt(letter, preemption)).await {
            Ok(ended) => ended,
            Err(_) => Err(TransportError::NoResponse {
                text: format!("the mail server did not finish within {deadline:?}"),
            }),
        }
    }

    async fn close(&self) {
        const TIMEOUT: Duration = Duration::from_secs(1);
        let idle = std::mem::take(&mut *self.idle.lock());
        for mut kept in idle {
            // QUIT is optional, so failures do not matter.
            let _ = tokio::time::timeout(TIMEOUT, kept.session.quit()).await;
        }
    }
}
