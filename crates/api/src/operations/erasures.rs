//! Erasing the content of events, e-mails and receipts.

pub mod create;

pub(crate) use super::events::TAG;
