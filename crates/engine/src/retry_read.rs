//! Asking a store that may be away for a moment.

use std::time::Duration;

use gancho_store::Result;

const AGAIN: Duration = Duration::from_millis(500);
const TIMES: u32 = 20;

/// For carriers: a store that does not answer is asked again, rather than an attempt being counted for
/// nothing.
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
