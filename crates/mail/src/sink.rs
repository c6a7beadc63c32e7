//! A transport that sends nothing: it captures the most recent e-mails in memory, for development.

use std::collections::VecDeque;

use async_trait::async_trait;
use gancho_domain::{Clock, EmailId, Time};
use gancho_engine::Preemption;
use parking_lot::Mutex;
use std::sync::Arc;

use crate::transport::{Acceptance, OutgoingMessage, Transport, TransportError};

pub struct Sink {
    clock: Arc<dyn Clock>,
    max: usize,
    max_bytes: usize,
    kept: Mutex<CaptureBuffer>,
}

#[derive(Default)]
struct CaptureBuffer {
    emails: VecDeque<Arc<CapturedEmail>>,
    bytes: usize,
}

/// Maximum size of all captured e-mails.
pub const MAX_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedEmail {
    pub email: OutgoingMessage,
    pub at: Time,
}

impl Sink {
    /// Stores the last `max` e-mails, or fewer if they are large.
    pub fn new(clock: Arc<dyn Clock>, max: usize) -> Self {
        Self { clock, max: max.max(1), max_bytes: MAX_BYTES, kept: Mutex::default() }
    }

    /// Stores this many bytes instead of [`MAX_BYTES`], or the last e-mail if it alone has more.
    #[must_use]
    pub fn within(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns the captured e-mails, newest first.
    pub fn emails(&self) -> Vec<Arc<CapturedEmail>> {
        self.kept.lock().emails.iter().rev().cloned().collect()
    }

    /// Removes the e-mails for which `is_erased` returns true.
    pub fn erase(&self, is_erased: impl Fn(&OutgoingMessage) -> bool) {
        let mut kept = self.kept.lock();
        kept.emails.retain(|captured| !is_erased(&captured.email));
        kept.bytes = kept.emails.iter().map(|captured| weight(&captured.email)).sum();
    }

    pub fn email(&self, id: EmailId) -> Option<Arc<CapturedEmail>> {
        self.kept.lock().emails.iter().rev().find(|captured| captured.email.id == id).cloned()
    }
}

#[async_trait]
impl Transport for Sink {
    fn name(&self) -> &'static str {
        "sink"
    }

    async fn send(
        &self,
        email: &OutgoingMessage,
        _: &Preemption,
    ) -> Result<Acceptance, TransportError> {
        let captured = CapturedEmail { email: email.clone(), at: self.clock.now() };
        let mut kept = self.kept.lock();
        kept.bytes += weight(email);
        kept.emails.push_back(Arc::new(captured));
        while kept.emails.len() > self.max || kept.bytes > self.max_bytes && kept.emails.len() > 1 {
            let Some(oldest) = kept.emails.pop_front() else { break };
            kept.bytes -= weight(&oldest.email);
        }
        Ok(Acceptance {
            message_id: email.message_id.clone(),
            status: 250,
            text: "captured by the sink; nothing was sent".into(),
        })
    }
}

fn weight(email: &OutgoingMessage) -> usize {
    size_of::<CapturedEmail>() + email.raw.len() + email.subject.len()
}
