//! Receiving webhooks from partners: verifies signatures, deduplicates, writes the ledger and dispatches to
//! the core.
//!
//! In reading order: [`receive`] is the flow, with a file for each step; [`inbound`] has the parts that it
//! uses; [`received_request`] is the request ([`limits`] its maximum size), [`request_record`] its stored form, and
//! [`outcome`] the result. [`registry`] looks up sources. [`sources`] creates and changes [`source`]s and
//! their keys, with [`preset`] for their signature schemes and [`partner`] for their names. [`sns`]
//! verifies Amazon SNS. [`dispatch`] is the carrier that sends a receipt to the core or to an
//! [`internal_target`]; [`receipts`] lists, shows and retries receipts, with their [`payload`]. [`keys`]
//! are the gateway's own, which sign responses and the [`checkpoints`] of the ledger; [`rejections`]
//! records rejected requests, [`counters`] counts, and [`activity`] merges both over all nodes;
//! [`simulate`] sends a test event.
//!
//! Only `verify` can construct a [`receive::verify::VerifiedMessage`], and nothing without one reaches the
//! store. This crate never shows a secret, never tells an unverified caller why it was rejected, and knows
//! no web framework.

pub mod activity;
pub mod checkpoints;
pub mod counters;
pub mod dispatch;
pub mod inbound;
pub mod internal_target;
pub mod keys;
pub mod limits;
pub mod outcome;
pub mod partner;
pub mod payload;
pub mod preset;
pub mod receipts;
pub mod receive;
pub mod received_request;
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
pub use received_request::{ReceivedRequest, RequestMethod};
pub use registry::{SourceDefaults, SourceLookup, Sources};
pub use rejections::{Rejection, Rejections};
pub use request_record::RequestRecord;
pub use sns::SnsHosts;
pub use source::{Source, SourceKey};
pub use sources::{KeyDraft, SourceDraft, SourceError, SourceService};
