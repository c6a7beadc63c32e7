//! Stores accepted parcels: a parcel and its deliveries, in one transaction.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{DeliveryId, Failure, Lane, Parcel, ParcelId, Time};

use crate::{IdempotencyKey, NodeId, Result, TargetId};

#[derive(Debug, Clone)]
pub struct NewParcel {
    pub parcel: Arc<Parcel>,
    /// The idempotency key. The same key within its time is the same parcel.
    pub once: Option<IdempotencyKey>,
    /// For a receipt: its line of the ledger and what belongs to it, written in the same transaction.
    pub ledger: Option<LedgerReceipt>,
    pub deliveries: Vec<NewDelivery>,
}

impl NewParcel {
    /// Returns how many of its deliveries are placed when it is accepted; the others follow in parts of this
    /// length.
    pub fn placed_at_once(&self, max: usize) -> usize {
        self.deliveries.len().min(max)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerReceipt {
    /// The line of the ledger.
    pub entry: Bytes,
    /// The recorded request, in a form that only its reader understands. It is removed with the parcel.
    pub request: Bytes,
    /// Why it is not sent. Its deliveries are dead letters from the start, without an attempt, and are sent
    /// when they are replayed.
    pub withheld: Option<Failure>,
}

/// Some of the deliveries of a parcel, which are stored with it but not placed yet.
#[derive(Debug, Clone)]
pub struct ParcelPart {
    pub parcel: Arc<Parcel>,
    /// The number that the parcel was accepted with.
    pub number: Option<u64>,
    /// The index of the first of them among the parcel's deliveries.
    pub first: usize,
    pub deliveries: Vec<NewDelivery>,
}

#[derive(Debug, Clone)]
pub struct NewDelivery {
    pub id: DeliveryId,
    pub lane: Lane,
    pub target: TargetId,
    pub due_at: Time,
    /// Whether it waits for earlier deliveries of the same subject to the same target.
    pub in_order: bool,
    /// Whether to lease it to the accepting node at once, without a claim, because that node has room for it.
    pub hold: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptOutcome {
    New {
        /// The parcel's number within its subject: from 1, without a gap, as long as anything of the subject
        /// is in the store.
        number: Option<u64>,
        /// One placement for each delivery, in order. Fewer if the parcel has very many and the store leaves
        /// the others to [`Accept::place_part`].
        placed: Vec<Placement>,
    },
    /// The key was used before, for the same content. Nothing was written.
    Again { first: ParcelId },
    /// The key was used before, for different content. Nothing was written.
    Clash { first: ParcelId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Leased to the accepting node.
    Leased,
    /// In the store, to be claimed when due.
    Pending,
    /// Waits for an earlier delivery of its subject.
    Waiting,
    /// A dead letter already: see [`LedgerReceipt::withheld`].
    Dead,
}

#[async_trait]
pub trait Accept: Send + Sync + 'static {
    /// Returns how many deliveries of a parcel are placed when it is accepted, see
    /// [`NewParcel::placed_at_once`].
    fn max_placed(&self) -> usize {
        usize::MAX
    }

    /// Returns one outcome for each parcel, in order. `holder` is the node to which deliveries marked
    /// `hold` are leased.
    async fn accept(&self, parcels: Vec<NewParcel>, holder: NodeId) -> Result<Vec<AcceptOutcome>>;

    /// Places the next part of a parcel that [`Accept::accept`] has stored without placing all of its
    /// deliveries. Every part but the last is as long as the first, which `accept` has placed. Returns one
    /// placement for each delivery, or none if the part has been placed before.
    async fn place_part(&self, part: ParcelPart, holder: NodeId) -> Result<Vec<Placement>> {
        let _ = (part, holder);
        Ok(Vec::new())
    }

    /// Places parts of parcels created before this time that no caller has placed: at least one and about
    /// `max` deliveries, if there are any. Returns how many.
    async fn place_left_parts(&self, before: Time, max: usize) -> Result<usize> {
        let _ = (before, max);
        Ok(0)
    }
}
