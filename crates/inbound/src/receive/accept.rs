//! The last step stores the deduplication key, the ledger line, the receipt and the deliveries in one
//! transaction.
//!
//! A body that reuses an event id of another body is stored as well, as a receipt whose deliveries are dead
//! letters: nothing verified is lost, and the operator can replay it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use gancho_domain::{Clock, Code, Failure, IdMaker, Lane, Parcel, ParcelKind, ReceiptId};
use gancho_engine::Engine;
use gancho_store::{
    AcceptOutcome, IdempotencyKey, LedgerReceipt, NewDelivery, NewParcel, Result, StoreError,
};
use serde::Serialize;

use crate::{receive::identity::Identity, registry::PreparedSource};

#[derive(Clone)]
pub struct Acceptor {
    pub engine: Arc<Engine>,
    pub ids: Arc<IdMaker>,
    pub clock: Arc<dyn Clock>,
    /// How long a message is remembered for deduplication.
    pub remembered: Duration,
}

/// A verified and checked webhook to store.
pub struct Parts {
    pub source: Arc<PreparedSource>,
    pub identity: Identity,
    pub key_id: Box<str>,
    pub label: Box<str>,
    pub body: Bytes,
    /// Why it is stored but not dispatched.
    pub request: Bytes,
    pub is_test: bool,
    /// Marks the webhook as stored but not dispatched.
    pub withheld: Option<Failure>,
}

impl Parts {
    /// To be stored and not dispatched.
    pub fn withhold(self, failure: Failure) -> Self {
        Self { identity: self.identity.of_misfit(), withheld: Some(failure), ..self }
    }
}

/// The failure code of a receipt whose event id was already used with a different body.
pub const ID_CLASH: &str = "ID_CLASH";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedReceipt {
    pub receipt: ReceiptId,
    /// Whether it is a duplicate.
    pub is_repeat: bool,
    /// The receipt that used its event id first, with a different body.
    pub clashes_with: Option<ReceiptId>,
}

/// A line of the ledger. The order of its fields is part of the format.
#[derive(Serialize)]
struct Entry<'a> {
    receipt: String,
    partner: &'a str,
    key_id: &'a str,
    at: String,
    event_id: Option<&'a str>,
    body_sha256: String,
    size: usize,
    /// Created by the simulator. Omitted in lines of real webhooks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    test: bool,
}

impl Acceptor {
    /// Stores a webhook. A caller that disconnects does not interrupt it. `meanwhile` runs during the write,
    /// for the receipt that the webhook becomes if it is new.
    pub async fn accept<T>(
        &self,
        parts: Parts,
        meanwhile: impl FnOnce(ReceiptId) -> T,
    ) -> Result<(AcceptedReceipt, T)> {
        let new = self.stamp(parts)?;
        let receipt = new.parcel.id.cast();
        let meanwhile = async { meanwhile(receipt) };
        let (accepted, done) = tokio::join!(biased; self.accept_parcel(new), meanwhile);
        Ok((accepted?, done))
    }

    async fn accept_parcel(&self, new: NewParcel) -> Result<AcceptedReceipt> {
        match self.engine.accept_one(new.clone()).await? {
            AcceptOutcome::Clash { first } => self.accept_clash(new, first.cast()).await,
            other => Ok(accepted_receipt(&new, &other, None)),
        }
    }

    /// Stores a body that reuses an event id, with its own idempotency key, so that its duplicates are
    /// detected too. It keeps its id, because nothing of it was stored yet.
    async fn accept_clash(&self, mut new: NewParcel, first: ReceiptId) -> Result<AcceptedReceipt> {
        if let Some(once) = &mut new.once {
            once.key = Identity::clash_key(&once.key, &once.content);
        }
        if let Some(received) = &mut new.ledger {
            let reason = format!(
                "the event id was already used with a different body, in {first}: replay this dead letter to dispatch it as well"
            );
            received.withheld = Some(Failure::new(Code::from_text(ID_CLASH), reason));
        }
        new.deliveries.iter_mut().for_each(|delivery| delivery.hold = false);
        let accepted = self.engine.accept_one(new.clone()).await?;
        Ok(accepted_receipt(&new, &accepted, Some(first)))
    }

    /// Assigns an id and a time, and selects the targets.
    fn stamp(&self, parts: Parts) -> Result<NewParcel> {
        let Parts { source, identity, key_id, label, body, request, is_test, withheld } = parts;
        let now = self.clock.now();
        let id = self.ids.make();
        let receipt: ReceiptId = id;
        let entry = Entry {
            receipt: receipt.to_string(),
            partner: source.source.partner.as_str(),
            key_id: &key_id,
            at: now.to_string(),
            event_id: identity.event_id.as_deref(),
            body_sha256: HEXLOWER.encode(&identity.body_sha256),
            size: body.len(),
            test: is_test,
        };
        let entry = serde_json::to_vec(&entry)
            .map_err(|error| StoreError::Corrupt(format!("a line of the ledger: {error}")))?;
        let tenant = source.source.tenant();
        let parcel = Parcel {
            id: id.cast(),
            tenant,
            kind: ParcelKind::Receipt,
            event_type: label,
            subject: None,
            external_id: identity.event_id.map(String::into_boxed_str),
            is_test,
            body,
            created_at: now,
            trace: None,
            erased_at: None,
        };
        let delivery = |target: &crate::registry::Target| NewDelivery {
            id: self.ids.make(),
            lane: Lane::Dispatch,
            target: target.id,
            due_at: now,
            in_order: false,
            hold: withheld.is_none(),
        };
        Ok(NewParcel {
            once: Some(IdempotencyKey {
                key: identity.key,
                content: identity.body_sha256,
                until: now + self.remembered,
            }),
            deliveries: source.targets.iter().map(delivery).collect(),
            ledger: Some(LedgerReceipt { entry: entry.into(), request, withheld }),
            parcel: Arc::new(parcel),
        })
    }
}

fn accepted_receipt(
    new: &NewParcel,
    accepted: &AcceptOutcome,
    clashes_with: Option<ReceiptId>,
) -> AcceptedReceipt {
    let (receipt, is_repeat) = match accepted {
        AcceptOutcome::New { .. } => (new.parcel.id, false),
        AcceptOutcome::Again { first } | AcceptOutcome::Clash { first } => (*first, true),
    };
    AcceptedReceipt { receipt: receipt.cast(), is_repeat, clashes_with }
}
