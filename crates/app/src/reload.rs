//! Reads the settings again, on SIGHUP or `POST /v1/_reload`, and applies those that can change while the gateway
//! runs. An invalid configuration changes nothing.

use std::{convert::Infallible, sync::Arc};

use gancho_api::reload::{ReloadService, ReloadedSettings};
use parking_lot::Mutex;

use crate::{
    gateway::LiveParts,
    lifecycle::ReloadSignal,
    logs,
    settings::{self, Flags},
};

/// As they are written: what the gateway made of them for this machine is no change.
type ShownSettings = Vec<(&'static str, String)>;

/// Settings that are applied without a restart, besides the policy pack.
pub const LIVE: [&str; 23] = [
    "allow_cidrs",
    "allow_http",
    "allow_names",
    "allow_ports",
    "concurrency",
    "delivery_expiry",
    "delivery_rate",
    "deny_cidrs",
    "dispatch_concurrency",
    "dispatch_expiry",
    "dispatch_rate",
    "email_concurrency",
    "email_expiry",
    "email_rate",
    "email_tenant_concurrency",
    "email_tenant_rate",
    "log_level",
    "operator_allow_cidrs",
    "operator_allow_names",
    "publish_rate",
    "replay_rate",
    "store_max_bytes",
    "tenant_batch",
];

pub struct Reloader {
    parts: LiveParts,
    flags: Flags,
    current: Mutex<ShownSettings>,
}

impl Reloader {
    /// `current` are the settings that the gateway was started with.
    pub fn new(parts: LiveParts, flags: Flags, current: ShownSettings) -> Self {
        Self { parts, flags, current: Mutex::new(current) }
    }

    /// Reloads the policy pack and the settings whenever the signal comes.
    pub async fn run(self: Arc<Self>, mut signal: ReloadSignal) -> Infallible {
        loop {
            signal.came().await;
            self.parts.reload_policy();
            match self.load() {
                Ok(apply) => _ = apply(),
                Err(error) => {
                    tracing::error!(
                        error,
                        "could not reload the settings; the previous ones stay active"
                    );
                }
            }
        }
    }
}

impl ReloadService for Reloader {
    fn load(&self) -> Result<Box<dyn FnOnce() -> ReloadedSettings + Send + '_>, String> {
        let read = settings::load(&self.flags).map_err(|error| error.to_string())?;
        let live = self.parts.prepare(&read).map_err(|error| format!("{error:#}"))?;
        Ok(Box::new(move || {
            self.parts.apply(live);
            logs::set_level(&read.settings.log_level);
            let shown = read.settings.shown();
            let before = std::mem::replace(&mut *self.current.lock(), shown.clone());
            report(&before, &shown)
        }))
    }
}

/// Secrets are masked in what is shown, so a changed secret is not noticed; it needs a restart.
fn report(before: &ShownSettings, after: &ShownSettings) -> ReloadedSettings {
    let changed = before.iter().zip(after).filter(|(old, new)| old != new).map(|(old, _)| old.0);
    let (applied, needs_restart): (Vec<_>, Vec<_>) = changed.partition(|name| LIVE.contains(name));
    tracing::info!(changed = applied.join(","), "settings reloaded");
    if !needs_restart.is_empty() {
        tracing::warn!(changed = needs_restart.join(","), "some changed settings need a restart");
    }
    ReloadedSettings { applied, needs_restart }
}
