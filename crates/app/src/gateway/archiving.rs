//! The archive of dead letters that leave the store: a directory, or a bucket of S3.

use std::{path::PathBuf, sync::Arc};

use anyhow::Context;
use gancho_archive::{
    FolderArchive, S3Archive,
    s3::{Bucket, S3Settings},
};
use gancho_domain::Clock;
use gancho_egress::{Client, Policy, aws::Credentials};
use gancho_engine::Archive;
use gancho_store::Store;
use zeroize::Zeroizing;

use super::database_url;
use crate::settings::{Settings, address_policy};

pub enum ArchiveSetup {
    Folder(PathBuf),
    S3(Box<BucketSetup>),
}

pub struct BucketSetup {
    settings: S3Settings,
    client: gancho_egress::Settings,
}

impl ArchiveSetup {
    /// Returns the configured archive, or a directory next to a SQLite database. Nodes of a PostgreSQL
    /// database may have ephemeral disks, so an archive on one of them could be lost.
    pub fn of(settings: &Settings) -> anyhow::Result<Option<Self>> {
        if let Some(bucket) = BucketSetup::of(settings).context("archive_url")? {
            return Ok(Some(Self::S3(Box::new(bucket))));
        }
        let beside = || {
            let is_local = database_url(settings).starts_with("sqlite:");
            is_local.then(|| settings.data_dir.join("archive"))
        };
        Ok(settings.archive_dir.clone().or_else(beside).map(Self::Folder))
    }

    /// Must be called inside a Tokio runtime.
    pub fn open(
        self,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Arc<dyn Archive>> {
        Ok(match self {
            Self::Folder(folder) => Arc::new(FolderArchive::new(folder, store)),
            Self::S3(bucket) => Arc::new(S3Archive::new(bucket.open(clock)?, store)),
        })
    }
}

impl BucketSetup {
    fn of(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(location) = settings.archive_url.clone() else { return Ok(None) };
        let endpoint = settings.archive_endpoint.as_deref().cloned();
        let amazons = || variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let usual = || endpoint.as_ref().map(|_| "us-east-1".to_owned());
        let region = settings.archive_region.clone().or_else(amazons).or_else(usual).context(
            "the region of the bucket is not known. hint: set archive_region, or for a service other than \
             Amazon's archive_endpoint",
        )?;
        let credentials = credentials(settings).context(
            "there is no access key. hint: set archive_access_key_id and archive_secret_access_key, or \
             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )?;
        let bucket = S3Settings { location, region, endpoint, credentials };
        let policy = Policy::for_operators(&bucket.url()?);
        let client = gancho_egress::Settings { policy, ..address_policy::own_client(settings)? };
        Ok(Some(Self { settings: bucket, client }))
    }

    /// Must be called inside a Tokio runtime.
    pub fn open(self, clock: Arc<dyn Clock>) -> anyhow::Result<Bucket> {
        let client = Client::new(self.client).context("cannot create the HTTP client")?;
        Ok(Bucket::new(client, clock, self.settings)?)
    }
}

/// Returns the credentials of the settings, or those that Amazon's tools use. A session token belongs to the
/// latter.
fn credentials(settings: &Settings) -> Option<Credentials> {
    if let (Some(id), Some(secret)) =
        (&settings.archive_access_key_id, &settings.archive_secret_access_key)
    {
        let secret = Zeroizing::new(secret.reveal().to_owned());
        return Some(Credentials { key_id: id.clone(), secret, token: None });
    }
    Some(Credentials {
        key_id: variable("AWS_ACCESS_KEY_ID")?,
        secret: Zeroizing::new(variable("AWS_SECRET_ACCESS_KEY")?),
        token: variable("AWS_SESSION_TOKEN").map(Zeroizing::new),
    })
}

#[expect(clippy::disallowed_methods, reason = "Amazon defines the names of these variables")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
