//! Events: publishing them, and finding them again. [`new_event`] is what may be given for one.

pub mod batch;
pub mod get;
pub mod list;
pub mod new_event;
pub mod publish;
pub mod view;

pub(crate) const TAG: &str = "Events";
