//! SIGHUP: reads the settings again and applies those that can change while the gateway runs. An invalid
//! configuration changes nothing.

use std::convert::Infallible;

use crate::{
    gateway::Gateway,
    lifecycle::ReloadSignal,
    logs,
    settings::{self, Flags},
};

/// As they are written: what the gateway made of them for this machine is no change.
type ShownSettings = Vec<(&'static str, String)>;

/// Settings that are applied without a restart, besides the policy pack.
pub const LIVE: [&str; 10] = [
    "allow_cidrs",
    "allow_http",
    "allow_names",
    "allow_ports",
    "deny_cidrs",
    "log_level",
    "operator_allow_cidrs",
    "operator_allow_names",
    "publish_rate",
    "store_max_bytes",
];

pub async fn run(
    mut signal: ReloadSignal,
    gateway: &Gateway,
    flags: &Flags,
    mut current: ShownSettings,
) -> Infallible {
    loop {
        signal.came().await;
        if let Some(receiving) = &gateway.receiving {
            receiving.reload();
        }
        match settings::load(flags) {
            Ok(read) => {
                let shown = read.settings.shown();
                match gateway.apply(&read.settings) {
                    Ok(()) => {
                        logs::set_level(&read.settings.log_level);
                        report(&current, &shown);
                        current = shown;
                    }
                    Err(error) => refuse(&format!("{error:#}")),
                }
            }
            Err(error) => refuse(&error.to_string()),
        }
    }
}

fn refuse(error: &str) {
    tracing::error!(error, "could not reload the settings; the previous ones stay active");
}

/// Secrets are masked in what is shown, so a changed secret is not noticed; it needs a restart.
fn report(before: &[(&'static str, String)], after: &[(&'static str, String)]) {
    let changed = before.iter().zip(after).filter(|(old, new)| old != new).map(|(old, _)| old.0);
    let (applied, pending): (Vec<_>, Vec<_>) = changed.partition(|name| LIVE.contains(name));
    tracing::info!(changed = applied.join(","), "settings reloaded");
    if !pending.is_empty() {
        tracing::warn!(changed = pending.join(","), "some changed settings need a restart");
    }
}
