//! Nodes: the processes of this gateway. Operator only.

pub mod list;

pub(crate) const TAG: &str = "Nodes";
