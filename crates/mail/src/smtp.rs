//! Handing letters to a mail server (RFC 5321), over connections that are kept for the next ones.
//!
//! `url` says where and how; `tls` and `wire` are the connection; `talk` is what is said on it. TLS is
//! asked for before anything else, and nothing is said to a server without it unless the operator
//! wants it so; a password never crosses a connection that only might have been secured.
//!
//! A connection that was given up in the middle, as when the time ran out, is never used again: an
//! answer that comes late would be taken for the answer to another letter.

mod talk;
mod tls;
mod url;
mod wire;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use self::talk::{Broke, Talk};
pub use self::url::{BadUrl, SmtpServer, TlsUse};
use crate::post::{DEADLINE, Letter, Post, Receipt, Trouble};

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

pub struct SmtpPost {
    settings: SmtpSettings,
    tls: Option<tokio_rustls::TlsConnector>,
    idle: Mutex<Vec<Idle>>,
}

struct Idle {
    talk: Talk,
    since: Instant,
}

impl SmtpPost {
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
    async fn attempt(&self, letter: &Letter) -> Result<Receipt, Trouble> {
        while let Some(talk) = self.kept() {
            match self.hand_over(talk, letter).await {
                Err(broke) if broke.is_stale() => {}
                other => return other.map_err(|broke| broke.trouble),
            }
        }
        let talk = Talk::open(&self.settings, self.tls.as_ref()).await?;
        self.hand_over(talk, letter).await.map_err(|broke| broke.trouble)
    }

    async fn hand_over(&self, mut talk: Talk, letter: &Letter) -> Result<Receipt, Broke> {
        let taken = talk.send(letter).await;
        let can_go_on = taken.as_ref().map_or_else(|broke| broke.can_go_on, |_| true);
        if can_go_on && talk.letters() < self.settings.letters_per_connection {
            self.keep(talk);
        }
        taken
    }

    fn kept(&self) -> Option<Talk> {
        let mut idle = self.idle.lock();
        idle.retain(|kept| kept.since.elapsed() < self.settings.idle_timeout);
        idle.pop().map(|kept| kept.talk)
    }

    fn keep(&self, talk: Talk) {
        let mut idle = self.idle.lock();
        if idle.len() < self.settings.idle {
            idle.push(Idle { talk, since: Instant::now() });
        }
    }
}

#[async_trait]
impl Post for SmtpPost {
    fn name(&self) -> &'static str {
        "smtp"
    }

    async fn send(&self, letter: &Letter) -> Result<Receipt, Trouble> {
        let deadline = self.settings.deadline;
        match tokio::time::timeout(deadline, self.attempt(letter)).await {
            Ok(ended) => ended,
            Err(_) => Err(Trouble::NoAnswer {
                text: format!("the mail server did not finish within {} s", deadline.as_secs()),
            }),
        }
    }

    async fn close(&self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let idle = std::mem::take(&mut *self.idle.lock());
        for mut kept in idle {
            // It is only polite.
            let _ = tokio::time::timeout(PATIENCE, kept.talk.quit()).await;
        }
    }
}
