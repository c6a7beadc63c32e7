//! The keys that secrets are sealed with: which there are, and changing to a new one while the
//! gateway runs. For the operator. (Not to be confused with API keys.)

pub mod list;
pub mod rotate;

pub(crate) const TAG: &str = "Keys";
