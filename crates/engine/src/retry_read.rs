//! Retries reads from a store that may be unavailable for a moment.

use std::time::Duration;

use gancho_store::Result;

const AGAIN: Duration = Duration::from_millis(500);
const TIMES: u32 = 20;

/// For carriers: repeats a read that fails, so that a short outage of the store costs no attempt.
pub async fn retry_read<T, F>(question: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut asked = 0;
    loop {
        asked += 1;
        match question().await {
            Err(_) if asked < TIMES => tokio::time::sleep(AGAIN).await,
            answer => return answer,
        }
    }
}
