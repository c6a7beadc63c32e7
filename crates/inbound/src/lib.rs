//! Receiving webhooks from partners: prove them, keep them once, write them in the ledger, hand them
//! to the core.
//!
//! In reading order: [`receive`] is the flow, [`inbound`] the parts that it uses; [`incoming`] is what came ([`limits`] how much of it) and [`outcome`] what became of
//! it. Its steps: [`form`] (is it fit to be looked at), [`registry`] (who is it said to be from),
//! [`verify`] (is it), [`handshake`] (is it only a greeting), [`policy`] (may it pass), [`json`] (is it
//! JSON, strictly), [`identity`] (which message is it), [`accept`] (one transaction: dedupe, ledger,
//! receipt, deliveries), with the [`request_record`] of the request it came in. [`sources`] makes and changes [`source`]s and their keys, with [`preset`] for
//! how each signs and [`partner`] for what they are called. [`dispatch`] is the carrier that brings a
//! receipt to the core, or to what is [`inside`] the gateway;
//! [`receipts`] shows what became of it, with its [`payload`], and sends it again. [`sns`] is how Amazon SNS proves and greets.
//! [`signing_keys`] sign the answer ([`policy_sign`]) and the [`checkpoints`] of the ledger, and
//! [`public_keys`] check them; [`rejections`] remembers what was turned away, [`tally`] counts, and
//! [`activity`] brings both together from all nodes;
//! [`simulate`] sends a test event; [`sealed`] seals everything anew.
//!
//! Only `verify` can make a [`verify::VerifiedMessage`], and nothing without one reaches the store.
//! This crate never shows a secret, never tells an unproven caller why, and knows no web framework.

pub mod accept;
pub mod activity;
pub mod checkpoints;
pub mod dispatch;
pub mod form;
pub mod handshake;
pub mod identity;
pub mod inbound;
pub mod incoming;
pub mod inside;
pub mod json;
pub mod limits;
pub mod outcome;
pub mod partner;
pub mod payload;
pub mod policy;
pub mod policy_sign;
pub mod preset;
pub mod public_keys;
pub mod receipts;
pub mod receive;
pub mod registry;
pub mod rejections;
pub mod request_record;
pub mod sealed;
pub mod signing_keys;
pub mod simulate;
pub mod sns;
pub mod source;
pub mod sources;
pub mod tally;
pub mod verify;

pub use checkpoints::{CheckpointFault, Checkpointer};
pub use dispatch::DispatchCarrier;
pub use inbound::{Inbound, InboundSetup};
pub use incoming::{Incoming, Verb};
pub use inside::{Inside, InsideFault, InsideTarget};
pub use limits::Limits;
pub use outcome::{Denied, Kept, Outcome, Reason, Reply};
pub use partner::Partner;
pub use policy::{Pack, PackFault, PolicyKeeper};
pub use public_keys::PublicKey;
pub use receipts::{Receipt, ReceiptDetail, ReceiptFilter, ReceiptStatus, Receipts};
pub use registry::{Found, SourceDefaults, Sources};
pub use rejections::{Rejection, Rejections};
pub use request_record::RequestRecord;
pub use signing_keys::{KeysFault, SigningKeys};
pub use sns::SnsHosts;
pub use source::{Source, SourceKey};
pub use sources::{KeyDraft, SourceDesk, SourceDraft, SourceError};
