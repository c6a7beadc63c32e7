//! Event types: the catalog of what can be published, and what a tenant or the operator adds to it.

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod new_type;
pub mod replace;
pub mod view;

pub(crate) const TAG: &str = "Event types";
