//! The addresses that deliveries come from.

pub mod list;
