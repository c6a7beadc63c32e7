//! The keys that encrypt stored secrets: listing them, and rotating them at run time. Operator only. (Not to
//! be confused with API keys.)

pub mod list;
pub mod rotate;

pub(crate) const TAG: &str = "Keys";
