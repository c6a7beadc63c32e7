//! A post that brings nothing anywhere: it keeps the last letters in memory, for a developer to look at.

use std::collections::VecDeque;

use async_trait::async_trait;
use gancho_domain::{Clock, EmailId, Time};
use parking_lot::Mutex;
use std::sync::Arc;

use crate::post::{Letter, Post, Receipt, Trouble};

pub struct Sink {
    clock: Arc<dyn Clock>,
    most: usize,
    kept: Mutex<VecDeque<Arc<Caught>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caught {
    pub letter: Letter,
    pub at: Time,
}

impl Sink {
    /// Keeps the last `most`.
    pub fn new(clock: Arc<dyn Clock>, most: usize) -> Self {
        Self { clock, most: most.max(1), kept: Mutex::default() }
    }

    /// Newest first.
    pub fn letters(&self) -> Vec<Arc<Caught>> {
        self.kept.lock().iter().rev().cloned().collect()
    }

    pub fn letter(&self, id: EmailId) -> Option<Arc<Caught>> {
        self.kept.lock().iter().rev().find(|caught| caught.letter.id == id).cloned()
    }
}

#[async_trait]
impl Post for Sink {
    fn name(&self) -> &'static str {
        "sink"
    }

    async fn send(&self, letter: &Letter) -> Result<Receipt, Trouble> {
        let caught = Caught { letter: letter.clone(), at: self.clock.now() };
        let mut kept = self.kept.lock();
        if kept.len() >= self.most {
            kept.pop_front();
        }
        kept.push_back(Arc::new(caught));
        Ok(Receipt {
            message_id: letter.message_id.clone(),
            status: 250,
            text: "kept by the sink; nothing was sent".into(),
        })
    }
}
