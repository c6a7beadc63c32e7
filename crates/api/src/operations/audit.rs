//! The audit log: administrative actions, done or refused, and logins.

pub mod list;
pub mod view;
