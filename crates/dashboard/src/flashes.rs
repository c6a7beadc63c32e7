//! Messages for the next page of sessions of the portal. Those sessions are not stored, so their messages are
//! kept apart: in memory, for a short time. Another node does not have them, and shows the page without.

use std::{collections::HashMap, time::Duration};

use gancho_domain::Time;
use parking_lot::Mutex;

use crate::sessions::Flash;

const MAX_AGE: Duration = Duration::from_secs(60);
const MAX_FLASHES: usize = 1_000;

type SessionId = [u8; 16];

#[derive(Default)]
pub struct Flashes(Mutex<HashMap<SessionId, (Flash, Time)>>);

impl Flashes {
    pub fn leave(&self, session: SessionId, flash: Flash, now: Time) {
        let mut all = self.0.lock();
        all.retain(|_, (_, left_at)| now.since(*left_at) < MAX_AGE);
        if all.len() < MAX_FLASHES {
            all.insert(session, (flash, now));
        }
    }

    pub fn take(&self, session: SessionId) -> Option<Flash> {
        self.0.lock().remove(&session).map(|(flash, _)| flash)
    }
}
