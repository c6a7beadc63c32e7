//! Liveness and readiness.
//!
//! Anyone may read the responses, so they only name the failing part; the log has the error.

use std::{sync::atomic::Ordering, time::Duration};

use http::StatusCode;
use tokio::time::Instant;

use super::{Page, Watch};

const JSON: &str = "application/json";
/// A store that takes longer is considered unavailable.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How long an answer of the store is valid.
const FRESH: Duration = Duration::from_millis(250);

impl Watch {
    /// Liveness: the process answers.
    pub fn healthz(&self) -> Page {
        let body = r#"{"status":"ok"}"#.to_owned();
        Page { status: StatusCode::OK, content_type: JSON, body }
    }

    /// Readiness: the store answers, the engine works, and the gateway is not shutting down.
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

    /// Returns whether the store answers. Anyone may call it, so all calls within a moment share one answer
    /// of the store.
    async fn store_answers(&self) -> bool {
        let mut last = self.store_check.lock().await;
        if let Some((at, answers)) = *last
            && at.elapsed() < FRESH
        {
            return answers;
        }
        let answers = self.ask_store().await;
        *last = Some((Instant::now(), answers));
        answers
    }

    async fn ask_store(&self) -> bool {
        match tokio::time::timeout(TIMEOUT, self.store.last_written()).await {
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
