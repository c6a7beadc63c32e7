//! Claim, carry, settle.
pub mod scheduler;
