//! Replays: background jobs that send past deliveries or events again. They count first, keep to a rate and
//! can be canceled.

pub mod cancel;
pub mod create;
pub mod get;
pub mod list;
pub mod view;

pub(crate) const TAG: &str = "Replays";
