//! The audit log: administrative acts, done or refused, and logins.

pub mod list;
pub mod view;
