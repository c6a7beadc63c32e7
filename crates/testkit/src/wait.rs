//! Waits for something to happen: the only sleep that a test needs.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Longer than a lease, so that work of a killed node is taken over within it.
const TIMEOUT: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Checks again and again until there is a value. Fails the test after the timeout.
pub async fn wait_for<T, F: Future<Output = Option<T>>>(what: &str, look: impl Fn() -> F) -> T {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "it did not happen: {what}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// The same for tests without a runtime.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not happen: {what}");
        thread::sleep(POLL_INTERVAL);
    }
}
