//! Queues: the backlog of each lane, and pausing lanes. Operator only.

pub mod list;
pub mod pause;

pub(crate) const TAG: &str = "Queues";
