//! Queues: what waits in each lane, and holding it back. For the operator.

pub mod list;
pub mod pause;

pub(crate) const TAG: &str = "Queues";
