//! The archive in a bucket of Amazon S3, or of a service with the same API: Cloudflare R2, MinIO and others.
//!
//! A dead letter is confirmed when `PUT` was answered with 200, which S3 does after it has compared the body
//! with the digest in the request and stored it, and when `HEAD` then finds an object of the same size.

mod bucket;
mod error;
mod location;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{StreamExt, TryStreamExt, stream};
use gancho_domain::Time;
use gancho_engine::{Archive, ArchiveError, LetterName};
use gancho_store::{FullDeadLetter, Store};

pub use self::{
    bucket::Bucket,
    error::S3Error,
    location::{S3Location, S3LocationError, S3Settings, S3SettingsError},
};

use crate::{document, layout};

/// Maximum concurrent requests.
const CONCURRENCY: usize = 16;
const DAY: Duration = Duration::from_hours(24);

pub struct S3Archive {
    bucket: Arc<Bucket>,
    /// Used to look up tenants' slugs.
    store: Arc<dyn Store>,
}

impl S3Archive {
    pub fn new(bucket: Bucket, store: Arc<dyn Store>) -> Self {
        Self { bucket: Arc::new(bucket), store }
    }

    fn key(&self, name: &str) -> String {
        self.bucket.settings().location.key(name)
    }
}

#[async_trait]
impl Archive for S3Archive {
    async fn write_letters(&self, letters: &[FullDeadLetter]) -> Result<(), ArchiveError> {
        let files = document::files(&*self.store, letters).await?;
        let objects: Vec<_> =
            files.into_iter().map(|(name, text)| (self.key(&name), text)).collect();
        let bucket = self.bucket.clone();
        let written = stream::iter(objects)
            .map(move |(key, text)| write(bucket.clone(), key, text))
            .buffer_unordered(CONCURRENCY)
            .try_collect::<()>();
        written.await.map_err(|error| ArchiveError(error.to_string()))
    }

    async fn forget(&self, letters: &[LetterName], now: Time) -> Result<u64, ArchiveError> {
        let folders = layout::folders(&*self.store, letters).await?;
        let mut keys = Vec::new();
        for (letter, folder) in letters.iter().zip(folders) {
            let file = layout::file(letter.delivery);
            keys.extend(
                days(letter.created_at, now).map(|day| self.key(&format!("{folder}/{day}/{file}"))),
            );
        }
        let bucket = self.bucket.clone();
        let removed = stream::iter(keys)
            .map(move |key| remove(bucket.clone(), key))
            .buffer_unordered(CONCURRENCY)
            .try_fold(0, |sum, removed| async move { Ok(sum + u64::from(removed)) });
        removed.await.map_err(|error| ArchiveError(error.to_string()))
    }
}

async fn write(bucket: Arc<Bucket>, key: String, text: Vec<u8>) -> Result<(), S3Error> {
    let written = text.len() as u64;
    bucket.put(&key, text.into()).await?;
    match bucket.size(&key).await? {
        Some(found) if found == written => Ok(()),
        None => Err(S3Error::Missing { key }),
        Some(found) => Err(S3Error::Unconfirmed { key, written, found }),
    }
}

/// Removes an object. Returns whether there was one.
async fn remove(bucket: Arc<Bucket>, key: String) -> Result<bool, S3Error> {
    let is_there = bucket.size(&key).await?.is_some();
    if is_there {
        bucket.delete(&key).await?;
    }
    Ok(is_there)
}

/// Returns the days on which a delivery of this time may have become a dead letter.
fn days(created_at: Time, now: Time) -> impl Iterator<Item = String> {
    let last = layout::date(now);
    let mut day = created_at;
    std::iter::from_fn(move || {
        let name = layout::date(day);
        day = day + DAY;
        (name <= last).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_since_it_was_created_is_looked_at() {
        // 2026-01-31T23:59:59Z
        let created = Time::from_secs(1_769_903_999);
        let names = |after: u64| {
            days(created, created + Duration::from_secs(after)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(0), "2026-01-31");
        assert_eq!(names(1), "2026-01-31 2026-02-01");
        assert_eq!(names(2 * 24 * 3600), "2026-01-31 2026-02-01 2026-02-02");
    }
}
