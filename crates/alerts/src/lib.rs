//! Alerts that the gateway raises itself, once for all nodes of a database.
//!
//! In reading order: [`facts`] are the facts that rules use, [`rule`] the rules and their thresholds,
//! [`condition`] decides what holds now (pure), [`book`] which alerts follow from that over time (pure),
//! [`silence`] and `silencing` what is not sent, [`message`] is what is sent, [`outbox`] what a channel has
//! not accepted yet, [`records`] the stored form of all of it, [`lease`] decides which node evaluates, and
//! [`service`] is the loop that does it.
//!
//! This crate knows no HTTP, no SMTP and no API: facts come from a [`FactSource`], and messages go to
//! [`Channel`]s. It must never depend on a write to the store to send a message, because a full store is one
//! of the things that it reports.

pub mod book;
pub mod condition;
pub mod facts;
pub mod lease;
pub mod message;
pub mod outbox;
pub mod records;
pub mod rule;
pub mod service;
pub mod silence;
mod silencing;

pub use book::{Alert, AlertBook, AlertState, Change};
pub use condition::Condition;
pub use facts::{ExpiringApiKey, FactSource, Facts, FailingEndpoint, KeylessSource, NodeReport};
pub use message::{Channel, EVENT_TYPE, Message, MessageId};
pub use outbox::retry_delay;
pub use records::{ChangeKind, HistoryEntry};
pub use rule::{Rule, Severity, Thresholds};
pub use service::{AlertService, AlertSetup, ListedAlert};
pub use silence::{NewSilence, Silence, SilenceId};
