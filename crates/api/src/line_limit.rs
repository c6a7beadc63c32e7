//! Limits how often a line is logged.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A line that is logged at most once per interval, with the number of times that it was suppressed.
pub(crate) struct LineLimit {
    per: Duration,
    state: Mutex<State>,
}

struct State {
    logged_at: Option<Instant>,
    suppressed: u64,
}

impl LineLimit {
    pub const fn per(per: Duration) -> Self {
        Self { per, state: Mutex::new(State { logged_at: None, suppressed: 0 }) }
    }

    /// Returns whether to log it now, with the number of lines that were suppressed before.
    pub fn allow(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.logged_at.is_some_and(|at| at.elapsed() < self.per) {
            state.suppressed += 1;
            return None;
        }
        state.logged_at = Some(Instant::now());
        Some(std::mem::take(&mut state.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_left_out_is_counted() {
        let limit = LineLimit::per(Duration::from_secs(5));
        assert_eq!([limit.allow(), limit.allow(), limit.allow()], [Some(0), None, None]);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!([limit.allow(), limit.allow()], [Some(2), None]);
    }
}
