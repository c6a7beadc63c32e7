//! Prefixed, time-ordered identifiers: a ULID after a prefix for its kind.
//!
//! The text form is `evt_01HQXYZ…`: prefix, underscore, 26 characters of Crockford's base 32. It
//! never contains a dot, because Standard Webhooks signs `id.timestamp.body`.

use std::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    str::FromStr,
    sync::{
        Arc,
        atomic::{self, AtomicU64},
    },
};

use thiserror::Error;

use crate::{Clock, Random, Time};

/// The kind of an [`Id`]. The prefix is part of the public contract.
pub trait IdKind: Send + Sync + 'static {
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $alias:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        pub enum $kind {}
        impl IdKind for $kind {
            const PREFIX: &'static str = $prefix;
        }
        pub type $alias = Id<$kind>;
    )*};
}

kinds! {
    /// The owner of endpoints, events and e-mails.
    TenantIdKind TenantId "ten";
    /// An accepted event. Receipts and e-mails use the same ids in the store.
    EventIdKind EventId "evt";
    /// One parcel for one target.
    DeliveryIdKind DeliveryId "dlv";
    /// A tenant's URL that subscribes to event types.
    EndpointIdKind EndpointId "wh";
    /// An e-mail in the outbox.
    EmailIdKind EmailId "out";
    /// A partner that may post webhooks.
    SourceIdKind SourceId "src";
    /// An inbound webhook that was accepted.
    ReceiptIdKind ReceiptId "rcp";
    /// A job that sends past deliveries or events again.
    ReplayIdKind ReplayId "rpl";
}

/// 128 bits: 48 bits of milliseconds and 80 unique bits. Ordered by creation time.
pub struct Id<K> {
    bits: u128,
    kind: PhantomData<fn() -> K>,
}

impl<K> Id<K> {
    pub const fn from_bits(bits: u128) -> Self {
        Self { bits, kind: PhantomData }
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::from_bits(u128::from_be_bytes(bytes))
    }

    pub const fn bits(self) -> u128 {
        self.bits
    }

    pub const fn bytes(self) -> [u8; 16] {
        self.bits.to_be_bytes()
    }

    /// When the id was created, in milliseconds.
    pub fn time(self) -> Time {
        Time::from_millis((self.bits >> 80) as i64)
    }

    /// Returns the same bits as an id of another kind. For instance, a delivery's target is an endpoint in
    /// one lane and a source in another.
    pub const fn cast<L>(self) -> Id<L> {
        Id::from_bits(self.bits)
    }
}

impl<K: IdKind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = encode(self.bits);
        f.write_str(K::PREFIX)?;
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl<K: IdKind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Written by hand, because a derive would require the same traits of `K`.
impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.bits == other.bits
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bits.cmp(&other.bits)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "not a valid id: expected `{prefix}_` followed by 26 characters of 0-9 and A-Z without I, L, O and U"
)]
pub struct IdParseError {
    prefix: &'static str,
}

impl<K: IdKind> FromStr for Id<K> {
    type Err = IdParseError;

    fn from_str(text: &str) -> Result<Self, IdParseError> {
        text.strip_prefix(K::PREFIX)
            .and_then(|rest| rest.strip_prefix('_'))
            .and_then(|rest| decode(rest.as_bytes()))
            .map(Self::from_bits)
            .ok_or(IdParseError { prefix: K::PREFIX })
    }
}

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Writes what follows the prefix: `_` and 26 characters.
fn encode(bits: u128) -> [u8; 27] {
    let mut text = [b'_'; 27];
    // Twelve characters at a time, because their bits fit into 64-bit numbers.
    let parts = [(1..3, bits >> 120), (3..15, bits >> 60), (15..27, bits)];
    for (places, part) in parts {
        let mut rest = part as u64;
        for place in text[places].iter_mut().rev() {
            *place = ALPHABET[(rest & 31) as usize];
            rest >>= 5;
        }
    }
    text
}

/// Reads exactly the text that [`encode`] writes, so that an id has only one spelling.
fn decode(text: &[u8]) -> Option<u128> {
    // 26 characters carry 130 bits; the two highest must be zero.
    if text.len() != 26 || text[0] > b'7' {
        return None;
    }
    text.iter().try_fold(0_u128, |bits, byte| {
        let value = ALPHABET.iter().position(|letter| letter == byte)?;
        Some(bits << 5 | value as u128)
    })
}

/// Generates ids. Within one generator every id is greater than the one before, even if the clock goes
/// back, and **no two share their first 63 bits**: the embedded store uses those as its row number.
pub struct IdMaker {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// The first 63 bits of the last id made.
    last: AtomicU64,
}

/// The first 63 bits: 48 of time and 15 that count within the millisecond.
const LEAD_SHIFT: u32 = 65;
const COUNT_BITS: u32 = 15;

/// Returns the part of an id that is unique within one maker. It is positive, and ordered by time.
pub fn lead<K>(id: Id<K>) -> i64 {
    (id.bits >> LEAD_SHIFT) as i64
}

/// Returns the lowest id that has this lead.
pub const fn first_of_lead<K>(lead: i64) -> Id<K> {
    Id::from_bits((lead as u128) << LEAD_SHIFT)
}

impl IdMaker {
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self { clock, random, last: AtomicU64::new(0) }
    }

    /// Never generates an id at or below this lead again, because the store already has one.
    pub fn rise_above(&self, lead: i64) {
        self.last.fetch_max(lead.max(0) as u64, atomic::Ordering::Relaxed);
    }

    pub fn make<K>(&self) -> Id<K> {
        let millis = self.clock.now().millis().max(0) as u64;
        // Starts at zero in each millisecond, to leave the whole range of the counter to a burst.
        let floor = millis << COUNT_BITS;
        let mut lead = floor;
        let _ =
            self.last.fetch_update(atomic::Ordering::Relaxed, atomic::Ordering::Relaxed, |last| {
                lead = floor.max(last + 1);
                Some(lead)
            });
        let tail = u128::from(self.random.next()) | u128::from(self.random.next() & 1) << 64;
        Id::from_bits(u128::from(lead) << LEAD_SHIFT | tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManualClock, SeededRandom};

    fn maker(clock: &Arc<ManualClock>) -> IdMaker {
        IdMaker::new(clock.clone(), Arc::new(SeededRandom::new(7)))
    }

    #[test]
    fn text_and_back() {
        let id: EventId = maker(&Arc::new(ManualClock::at_secs(1_706_012_345))).make();
        let text = id.to_string();
        assert_eq!(text.len(), 30);
        assert_eq!(text.parse::<EventId>(), Ok(id));
        assert!(text.parse::<DeliveryId>().is_err(), "the prefix is checked");
        assert!(text.to_lowercase().parse::<EventId>().is_err(), "one id has one spelling");
        assert!(
            "evt_8ZZZZZZZZZZZZZZZZZZZZZZZZZ".parse::<EventId>().is_err(),
            "130 bits do not fit"
        );
    }

    #[test]
    fn ids_rise_when_the_clock_falls() {
        let clock = Arc::new(ManualClock::at_secs(1_706_012_345));
        let maker = maker(&clock);
        let mut last = maker.make::<EventIdKind>();
        for step in 0..100_000_i64 {
            if step % 1_000 == 0 {
                clock.set(clock.now() - std::time::Duration::from_secs(1));
            }
            let next = maker.make::<EventIdKind>();
            assert!(lead(next) > lead(last));
            last = next;
        }
    }

    #[test]
    fn ids_rise_above_what_a_store_holds() {
        let clock = Arc::new(ManualClock::at_secs(1_000));
        let later: EventId = maker(&Arc::new(ManualClock::at_secs(2_000))).make();
        let maker = maker(&clock);
        maker.rise_above(lead(later));
        assert!(lead(maker.make::<EventIdKind>()) > lead(later));
    }

    #[test]
    fn the_first_id_of_a_lead_is_no_later_than_any_other() {
        let id: EventId = maker(&Arc::new(ManualClock::at_secs(1_000))).make();
        let first: EventId = first_of_lead(lead(id));
        assert!(first <= id && lead(first) == lead(id));
        assert!(lead(EventId::from_bits(first.bits() - 1)) < lead(id));
    }

    #[test]
    fn an_id_knows_its_time() {
        let id: EventId = maker(&Arc::new(ManualClock::at_secs(1_706_012_345))).make();
        assert_eq!(id.time(), Time::from_secs(1_706_012_345));
    }
}
