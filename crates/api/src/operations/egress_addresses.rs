//! The addresses from which deliveries leave.

pub mod list;
