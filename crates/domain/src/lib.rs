//! The domain model of Gancho and its pure decisions.
//!
//! In reading order: [`id`] (with [`IdMap`]), [`time`] and [`clock`] (with [`CorrectedClock`]) are the base;
//! [`lane`], [`tenant`], [`endpoint`], [`event_type`], [`parcel`] (with [`receipt_label`], the type of a
//! receipt) and [`delivery`] are the nouns; [`trace`] is the trace that a parcel belongs to; [`failure`] and
//! [`verdict`] say how an attempt ended; [`plan`] and [`decide`] say what follows from that, and
//! [`end_reason`] why a delivery ends without an attempt; [`health`] says what an attempt means for its
//! endpoint; [`breaker`], [`pace`], [`rate`] and [`fairness`] are the arithmetic of protecting a target and
//! of sharing between tenants; [`figures`] and [`latency_histogram`] are what statistics count; [`span`]
//! reads durations; [`field_error`] says what is wrong with a field that a caller sent, and [`drafts`] are
//! fields that endpoints and sources share; [`mask`] hides secrets and addresses; [`address_block`] is the
//! unit of limits by address; [`nearest`] guesses what a misspelled name was meant to be; [`path_segment`]
//! escapes a value for a URL.
//!
//! This crate never does I/O, never awaits, never reads a clock itself and depends on no other crate of the
//! workspace. Everything in it can be tested without a runtime.

pub mod address_block;
pub mod attempt;
pub mod breaker;
pub mod clock;
mod corrected_clock;
pub mod decide;
pub mod delivery;
pub mod drafts;
pub mod end_reason;
pub mod endpoint;
pub mod event_type;
pub mod failure;
pub mod fairness;
pub mod field_error;
pub mod figures;
pub mod health;
pub mod id;
mod id_map;
pub mod lane;
pub mod latency_histogram;
pub mod mask;
mod nearest;
pub mod pace;
pub mod parcel;
mod path_segment;
pub mod plan;
pub mod rate;
pub mod receipt_label;
pub mod span;
pub mod tenant;
pub mod time;
pub mod trace;
pub mod verdict;

pub use address_block::AddressBlock;
pub use attempt::Attempt;
pub use breaker::Breaker;
pub use clock::{Clock, ManualClock, Random, SeededRandom, SystemClock, SystemRandom};
pub use corrected_clock::CorrectedClock;
pub use decide::{NextStep, RetryContext, decide};
pub use delivery::{State, Status};
pub use drafts::{RateDraft, RetryDraft};
pub use end_reason::EndReason;
pub use endpoint::{DisableReason, Endpoint, Health, OldSecret, Ordering};
pub use event_type::{EventType, Pattern};
pub use failure::{Code, Failure};
pub use field_error::FieldError;
pub use figures::{AttemptFigures, DeliveryEnd, Figures};
pub use id::{
    DeliveryId, EmailId, EndpointId, EventId, Id, IdMaker, ReceiptId, ReplayId, SourceId, TenantId,
};
pub use id_map::IdMap;
pub use lane::Lane;
pub use latency_histogram::LatencyHistogram;
pub use nearest::nearest;
pub use pace::Pace;
pub use parcel::{Parcel, ParcelId, ParcelKind};
pub use path_segment::path_segment;
pub use plan::RetryPlan;
pub use rate::{Gcra, Rate};
pub use receipt_label::ReceiptLabel;
pub use tenant::{Tenant, TenantScope};
pub use time::Time;
pub use trace::TraceContext;
pub use verdict::Verdict;
