//! Runs checks whose cost grows with their input away from the tasks that must not wait for them.

use std::panic::AssertUnwindSafe;

/// Maximum input that is checked inline; a larger one is checked on a thread of its own.
const MAX_INLINE_BYTES: usize = 16 * 1024;

/// Runs a check of an input of `size` bytes, on a thread of its own if the input is large. Returns `None` if
/// the check panicked: the input is then neither valid nor invalid, and the caller must try again.
pub async fn off_thread<T: Send + 'static>(
    size: usize,
    check: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let outcome = if size < MAX_INLINE_BYTES {
        std::panic::catch_unwind(AssertUnwindSafe(check)).ok()
    } else {
        tokio::task::spawn_blocking(check).await.ok()
    };
    if outcome.is_none() {
        tracing::error!(size, "off-thread check panicked");
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    // faults.md E6: an input that could not be checked neither passes nor counts as an error of the sender.
    #[tokio::test]
    async fn a_check_that_breaks_has_no_outcome() {
        for size in [0, MAX_INLINE_BYTES] {
            assert_eq!(off_thread::<bool>(size, || panic!("in the check")).await, None);
            assert_eq!(off_thread(size, || true).await, Some(true));
        }
    }
}
