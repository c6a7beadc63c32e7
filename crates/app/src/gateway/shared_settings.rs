//! The settings that must be the same on all nodes of one database. Each node stores fingerprints of its own,
//! so that differences are found when a node joins; the values themselves are not stored.

use std::fmt::Write;

use gancho_store::{NodeRecord, SharedSettings};
use gancho_vault::KeyRing;

use crate::{operator_token, settings::LoadedSettings};

/// Shared values that are compared in another form than the settings table shows.
const ALSO: [&str; 3] = ["admin_token", "plans", "profiles"];

/// If nodes differ in one of these, the treatment of an event depends on the node that has it.
pub const SHARED: [&str; 36] = [
    "alert_after",
    "alert_dead_letter_percent",
    "alert_dead_letters",
    "alert_queue_age",
    "alert_tenant_dead_letters",
    "allow_cidrs",
    "allow_http",
    "allow_names",
    "allow_ports",
    "archive_url",
    "audit_retention",
    "dead_letter_ttl",
    "dead_letters_per_tenant",
    "delivery_expiry",
    "deny_cidrs",
    "dispatch_base_delay",
    "dispatch_expiry",
    "dispatch_max_attempts",
    "dispatch_url",
    "email_expiry",
    "failing_for",
    "message_id_domain",
    "notify_emails",
    "notify_url",
    "operator_allow_cidrs",
    "operator_allow_names",
    "portal_color",
    "portal_frame_origins",
    "portal_name",
    "public_url",
    "publish_body_limit",
    "publish_rate",
    "replay_rate",
    "retention",
    "sns_hosts",
    "tenant_batch",
];

/// Bytes of a fingerprint, which only distinguishes values.
const LENGTH: usize = 8;

/// Returns the fingerprints of settings by name. They depend on the key ring, so that nobody can guess a
/// value by them.
pub fn of(settings: &[(&'static str, String)], ring: &KeyRing) -> SharedSettings {
    let keys = ring.derive("shared settings");
    // The oldest key stays while others are added.
    let key = ring.numbers().into_iter().min().unwrap_or_default();
    let is_shared = |name: &str| SHARED.contains(&name) || ALSO.contains(&name);
    let mut shared = Vec::new();
    for (name, value) in settings.iter().filter(|(name, _)| is_shared(name)) {
        // The order of a list means nothing.
        let mut items: Vec<&str> = value.split(", ").collect();
        items.sort_unstable();
        let tag = keys.tag(key, &[*name, &items.join(", ")]).unwrap_or_default();
        let mut fingerprint = String::new();
        for byte in &tag[..LENGTH] {
            _ = write!(fingerprint, "{byte:02x}");
        }
        shared.push(((*name).to_owned(), fingerprint));
    }
    // Versions may write a value differently, and fingerprints of two keys cannot be compared.
    let made_by = format!("{}/{key}", env!("CARGO_PKG_VERSION"));
    SharedSettings { made_by, settings: shared }
}

/// Returns all settings as they are written, including those that are not in the table of settings. Creates
/// the token if there is none.
pub fn written(loaded: &LoadedSettings) -> anyhow::Result<Vec<(&'static str, String)>> {
    with_token(written_but_token(loaded), loaded)
}

pub fn written_but_token(loaded: &LoadedSettings) -> Vec<(&'static str, String)> {
    let mut all = loaded.settings.masked_values();
    all.retain(|(name, _)| !ALSO.contains(name));
    let (plans, profiles) = (format!("{:?}", loaded.plans), format!("{:?}", loaded.profiles));
    all.extend([("plans", plans), ("profiles", profiles)]);
    all
}

pub fn with_token(
    mut written: Vec<(&'static str, String)>,
    loaded: &LoadedSettings,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let token = operator_token::of(&loaded.settings)?.text.reveal().to_owned();
    written.push(("admin_token", token));
    Ok(written)
}

/// Warns of living nodes with different settings.
pub fn warn(own: &SharedSettings, nodes: &[NodeRecord]) {
    for node in nodes.iter().filter(|node| !node.is_dead) {
        let differing = own.differing(&node.facts.shared_settings);
        if !differing.is_empty() {
            tracing::warn!(
                node = node.name,
                settings = differing.join(","),
                hint = "set these alike on all nodes of a database",
                "settings differ from those of another node"
            );
        }
    }
}
