//! Checks the clock, DNS, TLS and file handles of this machine.

use std::{path::Path, time::Duration};

use gancho_domain::{Clock, SystemClock, Time};
use tokio::{net::lookup_host, time::timeout};
use url::Url;

use super::report::Report;
use crate::{
    file_handles,
    gateway::{Setup, database_url},
    settings::{LoadedSettings, Settings},
};

/// When this was written. A clock before that is wrong.
const EARLIEST: Time = Time::from_secs(1_763_164_800);
const TO_RESOLVE: Duration = Duration::from_secs(3);
/// A gateway does not start with fewer file handles.
const MIN_HANDLES: usize = 64;
/// A name that always exists.
const DEFAULT_NAME: &str = "example.com";

pub fn clock(report: &mut Report) {
    const CHECK: &str = "clock";
    let now = SystemClock.now();
    if now < EARLIEST {
        return report.fail(
            CHECK,
            format!("{now} is in the past"),
            "set the clock; signatures of another time are refused",
        );
    }
    // systemd-timesyncd writes it once it has set the clock; other services are not known.
    let is_synced = Path::new("/run/systemd/timesync/synchronized").exists();
    let how = if is_synced { ", synchronized" } else { "" };
    report.ok(CHECK, format!("{now}{how}"));
}

pub async fn dns(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "DNS";
    let own =
        Url::parse(&database_url(settings)).ok().filter(|url| url.scheme().starts_with("postgres"));
    // The first of several hosts.
    let first = |hosts: &str| hosts.split(',').next().map(ToOwned::to_owned);
    let own = own.and_then(|url| url.host_str().and_then(first));
    let name = own.as_deref().unwrap_or(DEFAULT_NAME);
    let remedy = if settings.nameservers.is_empty() {
        "check /etc/resolv.conf; deliveries to host names fail meanwhile"
    } else {
        "check /etc/resolv.conf, which the database's name needs; deliveries use `nameservers`"
    };
    match timeout(TO_RESOLVE, lookup_host((name, 443))).await {
        Ok(Ok(mut found)) => match found.next() {
            Some(address) => report.ok(CHECK, format!("{name} is {}", address.ip())),
            None => report.warn(CHECK, format!("{name} has no address"), remedy),
        },
        Ok(Err(error)) if own.is_some() => {
            report.fail(CHECK, format!("{name} (database_url): {error}"), remedy);
        }
        Ok(Err(error)) => report.warn(CHECK, format!("{name}: {error}"), remedy),
        Err(_) => report.warn(CHECK, format!("{name}: no answer within 3 s"), remedy),
    }
}

pub fn tls(report: &mut Report) {
    const CHECK: &str = "TLS";
    let roots = rustls_native_certs::load_native_certs().certs.len();
    if roots == 0 {
        return report.warn(
            CHECK,
            "the system has no root certificates; the built-in ones are used",
            "install the package ca-certificates",
        );
    }
    match gancho_egress::tls::client_config(&[]) {
        Ok(_) => report.ok(CHECK, format!("{roots} root certificates")),
        Err(error) => {
            report.fail(CHECK, error.to_string(), "reinstall the package ca-certificates");
        }
    }
}

pub fn file_handles(report: &mut Report, loaded: &LoadedSettings) {
    const CHECK: &str = "file handles";
    let limit = file_handles::raise();
    // Invalid settings have their own check.
    let setup = Setup::of(loaded).ok();
    let wanted = setup.map_or(0, |setup| file_handles::wanted(&loaded.settings, &setup));
    if limit < MIN_HANDLES {
        let text = format!("{limit}, too few for the database and a connection");
        return report.fail(CHECK, text, "raise it with `ulimit -Hn` or `LimitNOFILE=65536`");
    }
    if limit < wanted {
        let text =
            format!("{limit}; the settings ask for {wanted}, so connection limits are reduced");
        return report.warn(CHECK, text, "raise it with `ulimit -Hn` or `LimitNOFILE=65536`");
    }
    report.ok(CHECK, limit.to_string());
}
