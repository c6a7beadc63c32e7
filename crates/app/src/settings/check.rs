//! What must fit together, and what must lie within bounds.

use std::time::Duration;

use gancho_wire::{Profile, SigningKey};
use tracing_subscriber::EnvFilter;

use super::{
    fault::{Fault, Wrong},
    keys::Settings,
    layers::Layers,
    value::Role,
};

const SHORTEST_TOKEN: usize = 16;
const DAY: Duration = Duration::from_hours(24);

/// Every rule is looked at: none hides another.
pub fn run(settings: &Settings, layers: &Layers, faults: &mut Vec<Fault>) {
    let mut refuse = |is_wrong: bool, key: &str, what: &str, hint: &str| {
        if is_wrong {
            faults.push(Wrong::new(what, hint).at(key, layers.origin(key)));
        }
    };
    let token = settings.admin_token.as_ref().map(|token| token.reveal());
    refuse(
        token.is_some_and(|token| token.len() < SHORTEST_TOKEN),
        "admin_token",
        "the token is shorter than 16 characters and could be guessed",
        "make one with: openssl rand -hex 32",
    );
    refuse(
        token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())),
        "admin_token",
        "the token has blanks or characters that a header cannot carry",
        "make one with: openssl rand -hex 32",
    );
    refuse(
        settings.master_key.is_some() && settings.master_key_file.is_some(),
        "master_key",
        "the key ring is given twice, as text and as a file",
        "leave out master_key or master_key_file",
    );
    refuse(
        settings.notify_secret.is_some() && settings.notify_url.is_none(),
        "notify_secret",
        "there is a secret for notices and no URL to send them to",
        "set notify_url, or leave the secret out",
    );
    refuse(
        settings.roles.contains(&Role::Ingest),
        "roles",
        "receiving webhooks from partners is not there yet",
        "use the roles api and worker",
    );
    refuse(
        settings.api_listen == settings.ingest_listen && settings.api_listen.port() != 0,
        "ingest_listen",
        "it is the same address as api_listen",
        "give each its own port",
    );
    for (key, value, least, most, range) in [
        ("concurrency", u64::from(settings.concurrency), 1, 20_000, "between 1 and 20000"),
        ("replay_rate", u64::from(settings.replay_rate), 1, 10_000, "between 1 and 10000"),
        ("max_connections", settings.max_connections as u64, 1, 100_000, "between 1 and 100000"),
        (
            "publish_body_limit",
            settings.publish_body_limit.0,
            1 << 10,
            16 << 20,
            "between 1KiB and 16MiB",
        ),
    ] {
        let hint = format!("write a value {range}");
        refuse(value < least || value > most, key, "it is out of range", &hint);
    }
    for (key, value, least, most, range) in [
        ("retention", settings.retention, DAY / 24, DAY * 3_660, "between 1h and 3660d"),
        (
            "dead_letter_ttl",
            settings.dead_letter_ttl,
            DAY / 24,
            DAY * 3_660,
            "between 1h and 3660d",
        ),
        ("failing_for", settings.failing_for, DAY / 24 / 60, DAY * 366, "between 1m and 366d"),
        ("stop_timeout", settings.stop_timeout, Duration::ZERO, DAY / 24, "of at most 1h"),
    ] {
        let hint = format!("write a length of time {range}");
        refuse(value < least || value > most, key, "it is out of range", &hint);
    }
    refuse(
        EnvFilter::try_new(&settings.log_level).is_err(),
        "log_level",
        "this does not say which log lines there are to be",
        "write error, warn, info, debug or trace",
    );
    refuse(
        settings.proxy.as_ref().is_some_and(|proxy| proxy.scheme() != "http"),
        "proxy",
        "only proxies that are spoken to over http can be used",
        "write it like http://proxy.internal:3128",
    );
    match crate::policy::of(settings) {
        Err(fault) => {
            let what = fault.root_cause().to_string();
            refuse(true, "nat64_prefixes", &what, "write it like 64:ff9b::/96");
        }
        Ok(policy) => {
            let refused =
                settings.notify_url.as_ref().and_then(|url| policy.parse(url.as_str()).err());
            if let Some(refused) = refused {
                let text = refused.to_string();
                let (what, hint) = text.split_once(". hint: ").unwrap_or((&text, ""));
                refuse(true, "notify_url", what, hint);
            }
        }
    }
    if let Some(secret) = &settings.notify_secret
        && let Err(fault) = SigningKey::for_profile(&Profile::standard(), secret.reveal())
    {
        refuse(true, "notify_secret", &fault.to_string(), "leave it out to have notices unsigned");
    }
}
