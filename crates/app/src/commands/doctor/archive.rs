//! Checks whether the archive of dead letters can be written to. Writes nothing.

use std::{path::Path, sync::Arc, time::Duration};

use gancho_domain::SystemClock;
use tokio::time::timeout;

use super::report::Report;
use crate::{gateway::ArchiveSetup, settings::Settings};

const CHECK: &str = "archive";
const TIMEOUT: Duration = Duration::from_secs(10);

pub async fn archive(report: &mut Report, settings: &Settings) {
    match ArchiveSetup::of(settings) {
        Err(error) => report.fail(CHECK, format!("{error:#}"), "correct the archive_ settings"),
        Ok(None) => report.warn(
            CHECK,
            "none: dead letters stay in the database until they are replayed or purged",
            "set archive_url to s3://BUCKET/PREFIX, or archive_dir to a directory that all nodes share",
        ),
        Ok(Some(ArchiveSetup::Folder(path))) => directory(report, &path),
        Ok(Some(ArchiveSetup::S3(setup))) => {
            let shown = settings.archive_url.as_ref().map(ToString::to_string).unwrap_or_default();
            let bucket = match setup.open(Arc::new(SystemClock)) {
                Ok(bucket) => bucket,
                Err(error) => {
                    return report.fail(CHECK, format!("{error:#}"), "correct the archive_ settings");
                }
            };
            match timeout(TIMEOUT, bucket.check()).await {
                Ok(Ok(())) => report.ok(CHECK, format!("{shown} responds and can be listed")),
                Ok(Err(error)) => report.fail(CHECK, format!("{shown}: {error}"), ""),
                Err(_) => report.fail(
                    CHECK,
                    format!("{shown}: no response within 10 s"),
                    "check archive_endpoint and the network",
                ),
            }
        }
    }
}

fn directory(report: &mut Report, path: &Path) {
    let shown = path.display();
    // Before the first dead letter, the directory that will contain it.
    let existing = path.ancestors().find(|above| above.exists()).unwrap_or(Path::new("."));
    if existing.is_dir() && tempfile::tempfile_in(existing).is_ok() {
        let state =
            if existing == path { "writable" } else { "created with the first dead letter" };
        return report.ok(CHECK, format!("{shown}, {state}"));
    }
    report.fail(
        CHECK,
        format!("{shown} is not writable for this user"),
        "dead letters stay in the store meanwhile; change its owner, or set archive_dir",
    );
}
