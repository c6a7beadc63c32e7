//! The most recent rejected requests, so that the operator can explain them: what was sent, without its body
//! and without anything that could be a secret, and the reason that the sender did not see.
//!
//! Bounded in every direction: a maximum per partner, one list for all unknown partners, and a maximum rate
//! for each list, so that a flood costs no more than a counter and hides no other partner's rejections.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use gancho_domain::{Gcra, Rate, Time, mask::MASK};
use parking_lot::Mutex;

use crate::{
    ReceivedRequest,
    outcome::Reason,
    registry::{PreparedSource, ProofKeys},
};

/// The key for requests without a known partner.
pub const UNKNOWN: &str = "";
/// Maximum number per list, on a node and in the store.
pub(crate) const MAX_KEPT: usize = 50;
/// Maximum rate per list.
const PER_SECOND: Rate = Rate { count: 50, per: Duration::from_secs(1) };
const MAX_VALUE_LENGTH: usize = 200;
const MAX_NAME_LENGTH: usize = 64;
const MAX_HEADERS: usize = 40;
/// Maximum length of all names and values; the rest is omitted.
const MAX_HEADER_BYTES: usize = 2_048;

/// Headers whose values are shown, besides those that the source's signature scheme reads. Other headers
/// might contain anything; a header that carries a token is never shown.
const SHOWN: [&str; 11] = [
    "content-length",
    "content-type",
    "content-encoding",
    "date",
    "host",
    "user-agent",
    "x-github-event",
    "x-key-id",
    "x-request-id",
    "x-shopify-topic",
    "x-timestamp",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub at: Time,
    /// The partner's name as the sender wrote it, truncated.
    pub partner: String,
    pub status: u16,
    pub reason: Reason,
    /// More details, if there are any.
    pub detail: Option<String>,
    /// Names and values; values that might be secret are masked.
    pub headers: Vec<(String, String)>,
    pub size: usize,
}

#[derive(Default)]
pub struct Rejections(Mutex<RejectionLists>);

#[derive(Default)]
struct RejectionLists {
    by_partner: BTreeMap<Box<str>, RejectionList>,
}

#[derive(Default)]
struct RejectionList {
    rejections: VecDeque<Rejection>,
    noted: Gcra,
    /// How many of the newest rejections are not stored yet.
    unsaved: usize,
}

impl Rejections {
    pub(crate) fn note(
        &self,
        source: Option<&PreparedSource>,
        request: &ReceivedRequest,
        status: u16,
        reason: Reason,
        detail: Option<String>,
        now: Time,
    ) {
        let mut lists = self.0.lock();
        let name = source.map_or(UNKNOWN, |ready| ready.source.partner.as_str());
        let list = lists.by_partner.entry(name.into()).or_default();
        if list.noted.free_at(PER_SECOND, now) > now {
            return;
        }
        list.noted.take(PER_SECOND, now);
        if list.rejections.len() == MAX_KEPT {
            list.rejections.pop_front();
        }
        list.unsaved = (list.unsaved + 1).min(MAX_KEPT);
        list.rejections.push_back(Rejection {
            at: now,
            partner: cut(&request.partner, 64),
            status,
            reason,
            detail,
            headers: shown_headers(source, request),
            size: request.body.len(),
        });
    }

    /// Returns the rejections of this node that are not stored yet, oldest first.
    pub(crate) fn unsaved(&self, partner: &str) -> Vec<Rejection> {
        let lists = self.0.lock();
        let Some(list) = lists.by_partner.get(partner) else { return Vec::new() };
        let saved = list.rejections.len().saturating_sub(list.unsaved);
        list.rejections.iter().skip(saved).cloned().collect()
    }

    /// Returns the lists with unstored rejections.
    pub(crate) fn changed(&self) -> Vec<Box<str>> {
        let lists = self.0.lock();
        let changed = lists.by_partner.iter().filter(|(_, list)| list.unsaved > 0);
        changed.map(|(name, _)| name.clone()).collect()
    }

    /// Marks the oldest `count` of them as stored.
    pub(crate) fn saved(&self, partner: &str, count: usize) {
        if let Some(list) = self.0.lock().by_partner.get_mut(partner) {
            list.unsaved = list.unsaved.saturating_sub(count);
        }
    }

    /// Returns the rejections of this node, newest first; [`UNKNOWN`] for requests without a known partner.
    pub fn of(&self, partner: &str) -> Vec<Rejection> {
        let lists = self.0.lock();
        let list = lists.by_partner.get(partner);
        list.into_iter().flat_map(|list| list.rejections.iter().rev()).cloned().collect()
    }
}

fn shown_headers(
    source: Option<&PreparedSource>,
    request: &ReceivedRequest,
) -> Vec<(String, String)> {
    let is_shown = |name: &str| match source.map(|ready| &ready.proving) {
        Some(ProofKeys::Signature { recipe, .. }) => {
            let by_recipe = recipe.header_names().any(|known| known.eq_ignore_ascii_case(name));
            by_recipe || SHOWN.contains(&name)
        }
        Some(ProofKeys::HeaderToken { header, .. }) => {
            !header.eq_ignore_ascii_case(name) && SHOWN.contains(&name)
        }
        _ => SHOWN.contains(&name),
    };
    let each = request.headers.iter().take(MAX_HEADERS).map(|(name, value)| {
        let value = if is_shown(name.as_str()) {
            cut(&String::from_utf8_lossy(value.as_bytes()), MAX_VALUE_LENGTH)
        } else {
            MASK.to_owned()
        };
        (cut(name.as_str(), MAX_NAME_LENGTH), value)
    });
    let mut room = MAX_HEADER_BYTES;
    let fits = |(name, value): &(String, String)| {
        let size = name.len() + value.len();
        room = room.saturating_sub(size);
        room > 0
    };
    each.take_while(fits).collect()
}

pub(crate) fn cut(text: &str, max: usize) -> String {
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & matches!(byte, b' '..=b'~'));
    if is_plain && text.len() <= max {
        return text.to_owned();
    }
    let plain = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    plain.take(max).collect()
}
