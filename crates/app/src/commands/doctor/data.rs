//! Checks the data directory, the disk, the store and the two secrets.

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use gancho_alerts::Thresholds;
use gancho_api::watch::disk::Disk;
use gancho_domain::{Clock, SystemClock, Time, span};
use gancho_engine::MAX_CLOCK_OFFSET;

use super::report::Report;
use crate::{
    commands::table::size,
    database, dev_gateway,
    gateway::{database_url, other_url},
    key_ring::{self, RingSource},
    operator_token,
    sealed_records::missing_keys,
    settings::Settings,
};

/// The share of the disk above which writes may fail.
const FULL: f64 = 0.98;

pub fn directory(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "data directory";
    let path = &settings.data_dir;
    let shown = path.display().to_string();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return report.warn(
                CHECK,
                format!("{shown} does not exist yet"),
                dev_gateway::hint()
                    .unwrap_or("`gancho serve` creates it; or select another one with --data-dir"),
            );
        }
        Err(error) => {
            return report.fail(
                CHECK,
                format!("{shown}: {error}"),
                "make it accessible for this user",
            );
        }
    };
    if !found.is_dir() {
        return report.fail(
            CHECK,
            format!("{shown} is not a directory"),
            "choose another one with data_dir",
        );
    }
    let mode = found.permissions().mode() & 0o777;
    if tempfile::tempfile_in(path).is_err() {
        return report.fail(
            CHECK,
            format!("{shown} is not writable for this user"),
            "run the gateway as its owner, or change the owner",
        );
    }
    if mode & 0o077 != 0 {
        return report.warn(
            CHECK,
            format!("{shown} is open to others (mode {mode:o})"),
            &format!("chmod 700 {shown}"),
        );
    }
    report.ok(CHECK, format!("{shown}, mode {mode:o}"));
}

pub fn disk(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "disk space";
    let mut path: &Path = &settings.data_dir;
    // Before the first start, the directory that will contain it.
    while !path.exists() {
        path = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
    }
    let Some(found) = Disk::read(path) else {
        return report.warn(CHECK, "cannot be read", "check the file system of the data directory");
    };
    let (free, total, used) = (size(found.free), size(found.size), found.used());
    let text = format!("{free} free of {total} ({:.0} % used)", used * 100.0);
    let remedy =
        "free space, or lower `retention`; the gateway refuses new events when the disk is full";
    if let Some((used, max)) = over_limit(settings) {
        return report.fail(
            CHECK,
            format!("the store has {} of store_max_bytes = {}", size(used), size(max)),
            "raise store_max_bytes, or lower `retention`; the gateway refuses new events",
        );
    }
    if used > FULL {
        report.fail(CHECK, text, remedy);
    } else if used > Thresholds::default().storage_high {
        report.warn(CHECK, text, remedy);
    } else {
        report.ok(CHECK, text);
    }
}

/// Returns the size of a file that has reached the operator's own limit, and the limit.
fn over_limit(settings: &Settings) -> Option<(u64, u64)> {
    let max = settings.store_max_bytes?.0;
    let url = database_url(settings);
    let used = std::fs::metadata(url.strip_prefix("sqlite:")?).ok()?.len();
    (used >= max).then_some((used, max))
}

pub async fn store(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "store";
    let url = database_url(settings);
    let kind = if url.starts_with("sqlite:") { "SQLite" } else { "PostgreSQL" };
    match database::schema(&url).await {
        Err(error) if kind == "SQLite" => report.fail(
            CHECK,
            format!("{kind}: {error:#}"),
            "check database_url and the permissions of the file; a damaged one is replaced with `gancho restore`",
        ),
        Err(error) => report.fail(
            CHECK,
            format!("{kind}: {error:#}"),
            "check database_url, that the server runs and accepts this user, and the rights of the role",
        ),
        Ok(schema) if schema.found == 0 => match database::check_may_create(&url).await {
            Ok(()) => report.warn(
                CHECK,
                format!("{kind}: there are no tables yet"),
                "`gancho serve` or `gancho migrate` makes them",
            ),
            Err(error) => report.fail(
                CHECK,
                format!("{kind}: there are no tables yet, and {error:#}"),
                "grant this role CREATE on the schema, or let another one run `gancho migrate`",
            ),
        },
        Ok(schema) if schema.found > schema.known => report.fail(
            CHECK,
            format!(
                "{kind}: schema {} is newer than this version ({})",
                schema.found, schema.known
            ),
            "use the version of Gancho that wrote it, or a later one",
        ),
        Ok(schema) if schema.found < schema.known => report.warn(
            CHECK,
            format!("{kind}: schema {} of {}", schema.found, schema.known),
            "the next start migrates it; `gancho migrate` does it now",
        ),
        Ok(schema) => match database::check_writable(&url).await {
            Ok(time) => {
                compare_clocks(report, kind, time);
                report.ok(
                    CHECK,
                    format!(
                        "{kind}: writable, schema {} is current; retention {}",
                        schema.found,
                        span::write(settings.retention)
                    ),
                );
            }
            Err(error) => report.fail(
                CHECK,
                format!("{kind}: {error:#}"),
                match kind {
                    "SQLite" => "the gateway must be able to write: check the disk, that it is not mounted read-only, and the owner of the files",
                    _ => "the gateway must be able to write: check that it is the primary server, the rights of the role, and the disk",
                },
            ),
        },
    }
}

/// Checks the server itself, if there is a pooler in front of it.
pub async fn direct(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "direct connection";
    const REMEDY: &str =
        "check database_direct_url: it is the address of the same database, without a pooler";
    let Some(url) = &settings.database_direct_url else { return };
    match difference(url.reveal(), settings).await {
        Err(error) => report.fail(CHECK, format!("{error:#}"), REMEDY),
        Ok(Some(text)) => report.fail(CHECK, text, REMEDY),
        Ok(None) => report.ok(CHECK, "responds"),
    }
}

/// Returns how the database at another address differs from `database_url`.
async fn difference(url: &str, settings: &Settings) -> anyhow::Result<Option<String>> {
    let found = database::schema(&other_url(url, settings)).await?.found;
    let primary = database::schema(&database_url(settings)).await;
    let other = primary.ok().map(|schema| schema.found).filter(|primary| *primary != found);
    Ok(other.map(|primary| format!("schema {found}, and database_url has {primary}")))
}

/// Checks the read replica, without which lists come from the primary.
pub async fn replica(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "read replica";
    let Some(url) = &settings.database_read_url else { return };
    match difference(url.reveal(), settings).await {
        Err(error) => report.warn(
            CHECK,
            format!("{error:#}"),
            "check database_read_url; lists and statistics are read from the primary meanwhile",
        ),
        Ok(Some(text)) => report.fail(
            CHECK,
            text,
            "check that it is a replica of the same database, and that replication runs",
        ),
        Ok(None) => report.ok(CHECK, "responds"),
    }
}

/// Checks the clock of the server, or the time of the newest row of a file, which cannot be in the future.
fn compare_clocks(report: &mut Report, kind: &str, of_store: Option<Time>) {
    let (now, Some(of_store)) = (SystemClock.now(), of_store) else { return };
    let ahead = if kind == "SQLite" { Duration::ZERO } else { now.since(of_store) };
    if ahead.max(of_store.since(now)) > MAX_CLOCK_OFFSET {
        report.fail(
            "clock",
            format!("{now} here, {of_store} in the store"),
            "correct the clock; retries, expiry and signatures go by it",
        );
    }
}

pub async fn key_ring(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "key ring";
    const REMEDY: &str = "restore master.key from another node or from a backup (mode 0600)";
    let ring = match key_ring::of(settings) {
        Ok(ring) => ring,
        Err(error) => return report.fail(CHECK, format!("{error:#}"), REMEDY),
    };
    let missing = match missing(settings, &ring).await {
        Ok(missing) => missing,
        Err(error) => {
            return report.warn(
                CHECK,
                format!("not compared with the store: {error:#}"),
                "repair the store first",
            );
        }
    };
    match ring {
        RingSource::Missing(path) if missing.is_empty() => {
            report.ok(CHECK, format!("{} is created together with the database", path.display()));
        }
        RingSource::Missing(path) => report.fail(
            CHECK,
            format!(
                "{} is missing, and secrets in the store are encrypted with it",
                path.display()
            ),
            REMEDY,
        ),
        RingSource::Loaded(ring) => {
            let name = match &ring.file {
                Some(file) => file.display().to_string(),
                None => "master_key".to_owned(),
            };
            let numbers = ring.keys.numbers();
            if missing.is_empty() {
                report.ok(CHECK, format!("{name}, with every key that the store uses"));
            } else if missing.iter().all(|number| numbers.contains(number)) {
                let problem =
                    format!("secrets in the store are encrypted with another key ring than {name}");
                report.fail(CHECK, problem, REMEDY);
            } else {
                let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
                let problem = format!("key {} is missing from the ring", missing.join(", "));
                report.fail(CHECK, problem, REMEDY);
            }
        }
    }
}

/// Returns the keys that encrypt something in the store and are not in the ring.
async fn missing(settings: &Settings, ring: &RingSource) -> anyhow::Result<Vec<u32>> {
    let url = database_url(settings);
    let schema = database::schema(&url).await?;
    if schema.found == 0 {
        return Ok(Vec::new());
    }
    // Opening another schema would migrate it.
    anyhow::ensure!(schema.found == schema.known, "its schema is not current");
    let store = database::open_to_read(&url).await?;
    missing_keys(&*store, ring).await
}

pub fn admin_token(report: &mut Report, settings: &Settings) {
    const CHECK: &str = "operator token";
    match operator_token::find(settings) {
        Ok(Some(token)) => match operator_token::weakness(token.reveal()) {
            Some(weakness) => report.warn(
                CHECK,
                format!("weak: {weakness}"),
                "generate one with: openssl rand -hex 32",
            ),
            None => report.ok(CHECK, "set"),
        },
        Ok(None) => report.ok(CHECK, "is created at the first start"),
        Err(error) => {
            report.fail(CHECK, format!("{error:#}"), "make it readable for this user alone");
        }
    }
}
