//! Event types: the built-in catalogs, and the types of a tenant or the operator.

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod new_type;
pub mod replace;
pub mod view;

pub(crate) const TAG: &str = "Event types";
