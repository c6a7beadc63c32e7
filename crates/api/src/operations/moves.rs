//! Moves of tenants between the databases of a gateway that has several. Operator only.

pub mod begin;
pub mod get;
pub mod take_back;
pub mod view;
