//! Messages for the next page: that something was done, or why it was not. A browser keeps them in a cookie, sealed
//! with a key of the session, so that any node can show them.

use std::{sync::Arc, time::Duration};

use axum::response::Response;
use http::{HeaderMap, header};
use parking_lot::Mutex;

use crate::{
    cookies,
    sealed::{MAX_SEALED, SealKey},
    sentence::Html,
    visit::Visit,
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

/// The message of a request: the one that it came with, or that it leaves.
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
}

impl Visit {
    /// Leaves a message: for this page, or else for the next.
    pub fn leave(&self, kind: FlashKind, message: impl Into<Html>) {
        self.flash.0.lock().left = Some(Flash { kind, html: message.into().into_string() });
    }

    /// The message to show on this page.
    pub fn take_flash(&self) -> Option<Flash> {
        let mut slot = self.flash.0.lock();
        if let Some(left) = slot.left.take() {
            return Some(left);
        }
        let text = self.flash_key()?.open(PLACE, self.t.now, slot.sealed.as_deref()?)?;
        let (kind, html) = text.split_once('\n')?;
        let kind = FlashKind::ALL.into_iter().find(|known| known.name() == kind)?;
        slot.is_shown = true;
        Some(Flash { kind, html: html.to_owned() })
    }

    /// Has the browser keep the message for the next page, or forget the one that was shown.
    pub fn with_flash(&self, mut response: Response) -> Response {
        let (left, is_shown) = {
            let mut slot = self.flash.0.lock();
            (slot.left.take(), slot.is_shown)
        };
        let sealed = left.and_then(|flash| {
            let text = format!("{}\n{}", flash.kind.name(), flash.html);
            let sealed = self.flash_key()?.seal(PLACE, self.t.now + MAX_AGE, &text);
            sealed.filter(|sealed| sealed.len() <= MAX_SEALED)
        });
        if sealed.is_some() || is_shown {
            let (value, is_secure) = (sealed.unwrap_or_default(), self.dashboard.is_secure());
            let max_age = MAX_AGE.as_secs();
            let cookie = cookies::write_for(self.base, cookies::FLASH, &value, max_age, is_secure);
            response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
        }
        response
    }

    fn flash_key(&self) -> Option<SealKey> {
        SealKey::derive(PURPOSE, self.visitor.csrf())
    }
}
