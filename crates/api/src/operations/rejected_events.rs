//! Events that were published from SQL and that no node accepts, e.g. because they do not match the schema of their
//! type. They are not lost: they can be read, retried and deleted.

pub mod delete;
pub mod list;
pub mod retry;

pub(crate) const TAG: &str = "Events";
