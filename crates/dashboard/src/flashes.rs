//! Messages for the next page: that something was done, or why it was not. A browser stores them in a cookie,
//! encrypted with a key of the session, so that any node can show them.

use std::{sync::Arc, time::Duration};

use gancho_domain::Time;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;

use crate::{
    base::Base,
    cookies,
    sealed::{MAX_SEALED, SealKey},
};

const PURPOSE: &str = "gancho dashboard: messages";
const PLACE: &str = "flash";
const MAX_AGE: Duration = Duration::from_secs(60);

/// A message for the next page.
#[derive(Debug, Clone)]
pub struct Flash {
    pub kind: FlashKind,
    /// Escaped HTML.
    pub html: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlashKind {
    Done,
    Warning,
    Error,
}

impl FlashKind {
    const ALL: [Self; 3] = [Self::Done, Self::Warning, Self::Error];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Warning => "warn",
            Self::Error => "error",
        }
    }

    pub const fn is_error(self) -> bool {
        matches!(self, Self::Error)
    }
}

/// The message of a request: the one that it came with, or the one for the next page.
#[derive(Clone, Default)]
pub struct FlashSlot(Arc<Mutex<SlotState>>);

#[derive(Default)]
struct SlotState {
    /// The cookie that the request came with.
    sealed: Option<String>,
    left: Option<Flash>,
    is_shown: bool,
}

impl FlashSlot {
    pub fn of(headers: &HeaderMap) -> Self {
        let sealed = cookies::read(headers, cookies::FLASH).map(ToOwned::to_owned);
        Self(Arc::new(Mutex::new(SlotState { sealed, ..SlotState::default() })))
    }

    /// Leaves a message for this page, or else for the next.
    pub fn leave(&self, flash: Flash) {
        self.0.lock().left = Some(flash);
    }

    /// Returns the message to show on this page. `secret` is the session's.
    pub fn take(&self, secret: &str, now: Time) -> Option<Flash> {
        let mut slot = self.0.lock();
        if let Some(left) = slot.left.take() {
            return Some(left);
        }
        let text = key_of(secret)?.open(PLACE, now, slot.sealed.as_deref()?)?;
        let (kind, html) = text.split_once('\n')?;
        let kind = FlashKind::ALL.into_iter().find(|known| known.name() == kind)?;
        slot.is_shown = true;
        Some(Flash { kind, html: html.to_owned() })
    }

    /// Returns the cookie that stores the message for the next page, or deletes the one that was shown.
    pub fn cookie(
        &self,
        base: Base,
        secret: &str,
        now: Time,
        is_secure: bool,
    ) -> Option<HeaderValue> {
        let mut slot = self.0.lock();
        let sealed = slot.left.take().and_then(|flash| {
            let text = format!("{}\n{}", flash.kind.name(), flash.html);
            let sealed = key_of(secret)?.seal(PLACE, now + MAX_AGE, &text);
            sealed.filter(|sealed| sealed.len() <= MAX_SEALED)
        });
        let value = sealed.or_else(|| slot.is_shown.then(String::new))?;
        cookies::write_for(base, cookies::FLASH, &value, MAX_AGE.as_secs(), is_secure)
    }
}

fn key_of(secret: &str) -> Option<SealKey> {
    SealKey::derive(PURPOSE, secret)
}
