//! Retries reads from a store that may be unavailable for a moment.

use std::time::Duration;

use gancho_store::Result;

const RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_TRIES: u32 = 20;

/// Repeats a failed read of a carrier, so that a short outage of the store costs no attempt.
pub async fn retry_read<T, F>(read: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        match read().await {
            Err(_) if tries < MAX_TRIES => tokio::time::sleep(RETRY_DELAY).await,
            result => return result,
        }
    }
}
