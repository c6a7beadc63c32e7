//! How large and how old a request may be.

use std::time::Duration;

use gancho_wire::DEFAULT_TOLERANCE;

#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest body.
    pub body_bytes: usize,
    /// How far a timestamp may be from now.
    pub tolerance: Duration,
    /// For how long a message is known again.
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
