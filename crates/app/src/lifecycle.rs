//! Signals: SIGTERM or Ctrl-C stops, a second one stops immediately, and SIGHUP reloads.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from its creation on, so that no signal is missed before anyone waits for it.
pub struct Stop {
    signals: Option<(Signal, Signal)>,
}

impl Stop {
    pub fn listen() -> Self {
        let terminate = signal(SignalKind::terminate());
        let interrupt = signal(SignalKind::interrupt());
        // Without signals the process can only be killed, which is safe too.
        Self { signals: terminate.ok().zip(interrupt.ok()) }
    }

    /// Returns each time the process is asked to stop.
    pub async fn requested(&mut self) {
        match &mut self.signals {
            Some((terminate, interrupt)) => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            None => std::future::pending().await,
        }
    }
}

/// SIGHUP: reload what can be reloaded.
pub struct ReloadSignal(Option<Signal>);

impl ReloadSignal {
    pub fn listen() -> Self {
        Self(signal(SignalKind::hangup()).ok())
    }

    pub async fn received(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}
