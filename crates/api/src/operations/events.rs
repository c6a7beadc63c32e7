//! Events: publishing them and looking them up. [`new_event`] is the body of an event.

pub mod batch;
pub mod cancel;
pub mod get;
pub mod list;
pub mod new_event;
pub mod publish;
pub mod view;

pub(crate) const TAG: &str = "Events";
