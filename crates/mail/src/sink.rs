//! A post that brings nothing anywhere: it keeps the last letters in memory, for a developer to look at.

use std::collections::VecDeque;

use async_trait::async_trait;
use gancho_domain::{Clock, EmailId, Time};
use parking_lot::Mutex;
use std::sync::Arc;

use crate::transport::{Acceptance, OutgoingMessage, Transport, TransportError};

pub struct Sink {
    clock: Arc<dyn Clock>,
    most: usize,
    most_bytes: usize,
    kept: Mutex<Captured>,
}

#[derive(Default)]
struct Captured {
    letters: VecDeque<Arc<CapturedEmail>>,
    bytes: usize,
}

/// Letters may have large files.
pub const MOST_BYTES: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedEmail {
    pub letter: OutgoingMessage,
    pub at: Time,
}

impl Sink {
    /// Keeps the last `most`, and fewer where they are large.
    pub fn new(clock: Arc<dyn Clock>, most: usize) -> Self {
        Self { clock, most: most.max(1), most_bytes: MOST_BYTES, kept: Mutex::default() }
    }

    /// Keeps this many bytes instead of [`MOST_BYTES`], or the last e-mail if it alone has more.
    #[must_use]
    pub fn within(self, most_bytes: usize) -> Self {
        Self { most_bytes, ..self }
    }

    /// Newest first.
    pub fn letters(&self) -> Vec<Arc<CapturedEmail>> {
        self.kept.lock().letters.iter().rev().cloned().collect()
    }

    pub fn letter(&self, id: EmailId) -> Option<Arc<CapturedEmail>> {
        self.kept.lock().letters.iter().rev().find(|caught| caught.letter.id == id).cloned()
    }
}

#[async_trait]
impl Transport for Sink {
    fn name(&self) -> &'static str {
        "sink"
    }

    async fn send(&self, letter: &OutgoingMessage) -> Result<Acceptance, TransportError> {
        let caught = CapturedEmail { letter: letter.clone(), at: self.clock.now() };
        let mut kept = self.kept.lock();
        kept.bytes += weight(letter);
        kept.letters.push_back(Arc::new(caught));
        while kept.letters.len() > self.most
            || kept.bytes > self.most_bytes && kept.letters.len() > 1
        {
            let Some(oldest) = kept.letters.pop_front() else { break };
            kept.bytes -= weight(&oldest.letter);
        }
        Ok(Acceptance {
            message_id: letter.message_id.clone(),
            status: 250,
            text: "captured by the sink; nothing was sent".into(),
        })
    }
}

fn weight(letter: &OutgoingMessage) -> usize {
    size_of::<CapturedEmail>() + letter.raw.len() + letter.subject.len()
}
