//! When to stop: SIGTERM or Ctrl-C.

use tokio::signal::unix::{SignalKind, signal};

/// Comes back when the process is asked to stop.
pub async fn stop_asked() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        // Without signals the process can only be killed, and that is safe too.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
