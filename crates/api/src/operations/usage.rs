//! Usage: what a tenant uses of its plan.

pub mod get;
