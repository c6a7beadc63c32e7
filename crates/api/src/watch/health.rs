//! Whether the process lives, and whether it is worth sending requests to.
//!
//! What is wrong goes to the log; the answers name only the part, as anyone may read them.

use std::{sync::atomic::Ordering, time::Duration};

use http::StatusCode;

use super::{Page, Watch};

const JSON: &str = "application/json";
/// A store that takes longer than this to say anything is as good as gone.
const TIMEOUT: Duration = Duration::from_secs(2);

impl Watch {
    /// The process answers: that is all that is asked.
    pub fn healthz(&self) -> Page {
        let body = r#"{"status":"ok"}"#.to_owned();
        Page { status: StatusCode::OK, content_type: JSON, body }
    }

    /// The store answers, the engine works, and nobody has asked for a stop.
    pub async fn readyz(&self) -> Page {
        let store = self.store_answers().await;
        let engine = self.engine.is_alive();
        let is_stopping = self.is_stopping.load(Ordering::Relaxed);
        let status = match (is_stopping, store && engine) {
            (true, _) => "stopping",
            (false, true) => "ready",
            (false, false) => "not ready",
        };
        let word = |fine: bool| if fine { "ok" } else { "failed" };
        let mut body = serde_json::json!({
            "status": status,
            "checks": { "store": word(store), "engine": word(engine) },
        });
        if let Some(inbound) = &self.inbound {
            body["policy"] = inbound.policy.pack().hash().into();
        }
        let code = if status == "ready" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        Page { status: code, content_type: JSON, body: body.to_string() }
    }

    async fn store_answers(&self) -> bool {
        match tokio::time::timeout(TIMEOUT, self.store.pauses()).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready: store error");
                false
            }
            Err(_) => {
                tracing::warn!("not ready: store timed out");
                false
            }
        }
    }
}
