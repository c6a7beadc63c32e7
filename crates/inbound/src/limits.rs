//! Limits on the size and age of a request.

use std::time::Duration;

use gancho_wire::DEFAULT_TOLERANCE;

#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum size of a body.
    pub body_bytes: usize,
    /// Maximum difference of a timestamp from now.
    pub tolerance: Duration,
    /// How long a message is remembered for deduplication.
    pub remembered: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 256 * 1024,
            tolerance: DEFAULT_TOLERANCE,
            remembered: Duration::from_hours(24),
        }
    }
}
