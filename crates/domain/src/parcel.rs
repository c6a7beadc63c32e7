//! What was accepted and must be brought somewhere: an event, a receipt or an e-mail. Immutable.
//!
//! The three share one shape, so that there is one engine, one queue and one table for them. What
//! is special to one of them lives beside it, not in it.

use bytes::Bytes;

use crate::{Id, Lane, TenantId, Time, id};

/// An event's, a receipt's or an e-mail's id, where it does not matter which.
pub type ParcelId = Id<id::OfEvent>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Kind {
    #[default]
    Event,
    Receipt,
    Email,
}

impl Kind {
    /// The number that stands for the kind in the stores. Never reused, never changed.
    pub const fn number(self) -> i16 {
        match self {
            Self::Event => 2,
            Self::Receipt => 3,
            Self::Email => 4,
        }
    }

    /// The lane in which parcels of this kind are delivered.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Event => Lane::Webhook,
            Self::Receipt => Lane::Dispatch,
            Self::Email => Lane::Email,
        }
    }

    pub fn from_number(number: i16) -> Option<Self> {
        [Self::Event, Self::Receipt, Self::Email].into_iter().find(|kind| kind.number() == number)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    pub id: ParcelId,
    pub tenant: TenantId,
    pub kind: Kind,
    /// The event's type; for a receipt the partner's name.
    pub event_type: Box<str>,
    /// What it is about, such as an outboxId: numbered, and kept in order where asked.
    pub subject: Option<Box<str>>,
    /// The publisher's own name for it, to be found by.
    pub external_id: Option<Box<str>>,
    /// Sent by a test call, and marked so in the log.
    pub is_test: bool,
    /// Byte for byte as it was given.
    pub body: Bytes,
    pub created_at: Time,
}
