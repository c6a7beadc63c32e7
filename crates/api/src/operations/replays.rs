//! Replays: sending the past again, as jobs that count first, keep to a rate and can be cancelled.

pub mod cancel;
pub mod create;
pub mod get;
pub mod list;
pub mod view;

pub(crate) const TAG: &str = "Replays";
