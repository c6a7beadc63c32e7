//! Receiving webhooks from partners: prove them, keep them once, write them in the ledger, hand them
//! to the core.
//!
//! In reading order: [`receive`] is the flow, with a file for each step; [`inbound`] are the parts that it uses;
//! [`incoming`] is what came ([`limits`] how much of it), [`request_record`] what is kept of it, and [`outcome`] what
//! became of it. [`registry`] finds sources. [`sources`] makes and changes [`source`]s and their keys, with
//! [`preset`] for how each signs and [`partner`] for what they are called. [`sns`] is how Amazon SNS proves and
//! greets. [`dispatch`] is the carrier that brings a receipt to the core, or to what is [`internal_target`] the gateway;
//! [`receipts`] shows what became of it, with its [`payload`], and sends it again. [`keys`] are the gateway's own,
//! which sign answers and the [`checkpoints`] of the ledger; [`rejections`] remembers what was turned away, [`counters`]
//! counts, and [`activity`] brings both together from all nodes; [`simulate`] sends a test event.
//!
//! Only `verify` can make a [`receive::verify::VerifiedMessage`], and nothing without one reaches the store.
//! This crate never shows a secret, never tells an unproven caller why, and knows no web framework.

pub mod activity;
pub mod checkpoints;
pub mod counters;
pub mod dispatch;
pub mod inbound;
pub mod incoming;
pub mod internal_target;
pub mod keys;
pub mod limits;
pub mod outcome;
pub mod partner;
pub mod payload;
pub mod preset;
pub mod receipts;
pub mod receive;
pub mod registry;
pub mod rejections;
pub mod request_record;
pub mod simulate;
pub mod sns;
pub mod source;
pub mod sources;

pub use checkpoints::{Checkpointer, CheckpointerError};
pub use dispatch::DispatchCarrier;
pub use inbound::{Inbound, InboundSetup};
pub use incoming::{Incoming, Verb};
pub use internal_target::{InternalSink, InternalSinkError, InternalTarget};
pub use keys::{
    public_keys::PublicKey,
    signing_keys::{SigningKeys, SigningKeysError},
};
pub use limits::Limits;
pub use outcome::{Acceptance, Outcome, Reason, ReceiveError, Reply};
pub use partner::Partner;
pub use receipts::{Receipt, ReceiptDetail, ReceiptFilter, ReceiptStatus, Receipts};
pub use receive::policy::{Pack, PolicyError, PolicyService};
pub use registry::{Lookup, SourceDefaults, Sources};
pub use rejections::{Rejection, Rejections};
pub use request_record::RequestRecord;
pub use sns::SnsHosts;
pub use source::{Source, SourceKey};
pub use sources::{KeyDraft, SourceDraft, SourceError, SourceService};
