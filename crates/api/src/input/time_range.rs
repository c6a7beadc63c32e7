//! The parameters `since` and `until` of a list.

use gancho_domain::Time;

use crate::problem::Problem;

/// Refuses a range that can contain nothing.
pub fn check(since: Option<Time>, until: Option<Time>) -> Result<(), Problem> {
    match (since, until) {
        (Some(since), Some(until)) if since > until => {
            Err(Problem::field("", "`since` must not be later than `until`"))
        }
        _ => Ok(()),
    }
}
