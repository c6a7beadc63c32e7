//! Reads the settings again, on SIGHUP or `POST /v1/_reload`, and applies those that can change while the gateway
//! runs. An invalid configuration changes nothing.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use gancho_api::reload::{ReloadService, ReloadedSettings};
use parking_lot::Mutex;

use crate::{
    gateway::{ReloadableParts, ReloadableSettings, shared_settings},
    lifecycle::ReloadSignal,
    logs,
    settings::{self, Flags},
};

/// The settings as written. Adjustments by the gateway for this machine do not count as changes.
type MaskedSettings = Vec<(&'static str, String)>;

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
    parts: ReloadableParts,
    flags: Flags,
    /// The file that the settings came from at the start.
    file: Option<PathBuf>,
    /// What this process runs with.
    running: Mutex<MaskedSettings>,
}

impl Reloader {
    /// Creates the reloader. `running` are the settings that the gateway was started with.
    pub fn new(
        parts: ReloadableParts,
        flags: Flags,
        file: Option<PathBuf>,
        running: MaskedSettings,
    ) -> Self {
        Self { parts, flags, file, running: Mutex::new(running) }
    }

    /// Reloads the policy pack and the settings whenever the signal comes.
    pub async fn run(self: Arc<Self>, mut signal: ReloadSignal) -> Infallible {
        loop {
            signal.received().await;
            match self.load() {
                Ok(apply) => {
                    self.parts.reload_policy();
                    apply();
                }
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
        // A file that is being replaced must not reset everything to its default.
        if let (Some(file), None) = (&self.file, &read.file) {
            return Err(format!(
                "{} is gone: restore it, or restart the gateway without it",
                file.display()
            ));
        }
        let live = ReloadableSettings::of(&read.settings).map_err(|error| format!("{error:#}"))?;
        let written = shared_settings::written(&read).map_err(|error| format!("{error:#}"))?;
        Ok(Box::new(move || {
            self.parts.apply(live);
            logs::set_level(&read.settings.log_level);
            let mut running = self.running.lock();
            let report = take_over(&mut running, written);
            self.parts.describe(&running);
            report
        }))
    }
}

/// Takes over settings that can change while the process runs; others keep their value from the start.
/// Secrets are masked in the comparison, so a changed secret is not noticed; it needs a restart.
fn take_over(running: &mut MaskedSettings, written: MaskedSettings) -> ReloadedSettings {
    let mut report = ReloadedSettings::default();
    for ((name, value), (_, new)) in running.iter_mut().zip(written) {
        if *value == new {
            continue;
        }
        if LIVE.contains(name) {
            *value = new;
            report.applied.push(name);
        } else {
            report.needs_restart.push(name);
        }
    }
    tracing::info!(changed = report.applied.join(","), "settings reloaded");
    if !report.needs_restart.is_empty() {
        let changed = report.needs_restart.join(",");
        tracing::warn!(changed, "some changed settings need a restart");
    }
    report
}
