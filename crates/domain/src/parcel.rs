//! What was accepted and must be delivered: an event, a receipt or an e-mail. Immutable.
//!
//! The three share one struct, so that there is one engine, one queue and one table for them. Data that
//! only one kind has is stored elsewhere.

use bytes::Bytes;

use crate::{Id, Lane, TenantId, Time, TraceContext, id};

/// The id of an event, a receipt or an e-mail, where the kind does not matter.
pub type ParcelId = Id<id::EventIdKind>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ParcelKind {
    #[default]
    Event,
    Receipt,
    Email,
}

impl ParcelKind {
    /// Returns the number of the kind in the stores. Never reuse or change one.
    pub const fn number(self) -> i16 {
        match self {
            Self::Event => 2,
            Self::Receipt => 3,
            Self::Email => 4,
        }
    }

    /// Returns the lane in which parcels of this kind are delivered.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Event => Lane::Webhook,
            Self::Receipt => Lane::Dispatch,
            Self::Email => Lane::Email,
        }
    }

    /// Returns the kind of parcels that a lane delivers.
    pub const fn of_lane(lane: Lane) -> Self {
        match lane {
            Lane::Webhook => Self::Event,
            Lane::Dispatch => Self::Receipt,
            Lane::Email => Self::Email,
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
    pub kind: ParcelKind,
    /// The event's type; for a receipt its label.
    pub event_type: Box<str>,
    /// The subject, such as an outboxId. Parcels of a subject are numbered, and delivered in order if
    /// requested.
    pub subject: Option<Box<str>>,
    /// The publisher's own id, by which parcels can be searched.
    pub external_id: Option<Box<str>>,
    /// Whether a test call sent it. The log marks such parcels.
    pub is_test: bool,
    /// The body, byte for byte as it was accepted.
    pub body: Bytes,
    pub created_at: Time,
    /// The publisher's position in its trace, if it sent one. See [`crate::trace`].
    pub trace: Option<TraceContext>,
    /// When its content was erased. After that it is no longer delivered.
    pub erased_at: Option<Time>,
}
