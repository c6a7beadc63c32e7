//! Addresses to which a tenant's e-mails are not sent any more: they bounced for good, their owners
//! complained, or someone put them here.
//!
//! An e-mail to one of them is accepted and given up at once, with the code of what put the address
//! here, so that whoever sends hears of it in the same way as of any other failure.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{Clock, FieldError, TenantScope, Time};
use gancho_store::{Expect, Record, Result, Shelf, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::{FailureCode, Mailbox};

const KIND: &str = "suppression";
/// At most so many are imported in one call.
pub const MOST_IMPORTED: usize = 10_000;

pub struct Suppressions {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuppressionReason {
    Bounce,
    Complaint,
    /// Someone wished so.
    Manual,
}

impl SuppressionReason {
    pub const ALL: [Self; 3] = [Self::Bounce, Self::Complaint, Self::Manual];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bounce => "bounce",
            Self::Complaint => "complaint",
            Self::Manual => "manual",
        }
    }

    /// With which an e-mail to it is given up.
    pub const fn code(self) -> FailureCode {
        match self {
            Self::Complaint => FailureCode::Complaint,
            Self::Bounce | Self::Manual => FailureCode::BouncePermanent,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    pub address: String,
    pub reason: SuppressionReason,
    /// What was said when it came here.
    pub detail: Option<String>,
    pub since: Time,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    reason: SuppressionReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    since: i64,
}

impl Suppressions {
    pub async fn get(&self, scope: TenantScope, mailbox: &Mailbox) -> Result<Option<Suppressed>> {
        let found = self.store.record(Shelf::of(scope, KIND), &mailbox.normalised()).await?;
        found.map(|record| read(&record)).transpose()
    }

    /// By address, from the one after `after` on.
    pub async fn list(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<Suppressed>> {
        let records = self.store.records(Shelf::of(scope, KIND), after, most).await?;
        records.iter().map(read).collect()
    }

    /// Whether it is new. One that is there already stays as it is, unless a complaint comes to it: a
    /// complaint is what must not be forgotten.
    pub async fn add(
        &self,
        scope: TenantScope,
        mailbox: &Mailbox,
        reason: SuppressionReason,
        detail: Option<String>,
    ) -> Result<bool> {
        let since = self.clock.now();
        let body = write(&Kept { reason, detail, since: since.micros() })?;
        let (place, key) = (Shelf::of(scope, KIND), mailbox.normalised());
        if self.store.put_record(place, &key, body.clone(), Expect::Nothing).await?.is_some() {
            return Ok(true);
        }
        if reason == SuppressionReason::Complaint {
            self.store.put_record(place, &key, body, Expect::Anything).await?;
        }
        Ok(false)
    }

    /// Whether it was there.
    pub async fn remove(&self, scope: TenantScope, mailbox: &Mailbox) -> Result<bool> {
        self.store.delete_record(Shelf::of(scope, KIND), &mailbox.normalised()).await
    }

    /// How many were new. All are judged before the first is written.
    pub async fn import(
        &self,
        scope: TenantScope,
        addresses: Vec<(String, SuppressionReason)>,
    ) -> Result<usize, ImportError> {
        let checked = check(&addresses).map_err(ImportError::Faulty)?;
        let mut new = 0;
        for (mailbox, reason) in checked {
            new += usize::from(self.add(scope, &mailbox, reason, None).await?);
        }
        Ok(new)
    }
}

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    #[error("{} of the addresses are none", .0.len())]
    Faulty(Vec<FieldError>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn check(
    addresses: &[(String, SuppressionReason)],
) -> Result<Vec<(Mailbox, SuppressionReason)>, Vec<FieldError>> {
    if addresses.len() > MOST_IMPORTED {
        let why = format!("at most {MOST_IMPORTED} addresses in one call: send the rest in others");
        return Err(vec![FieldError::new("too_many", "/addresses", why)]);
    }
    let (mut checked, mut faults) = (Vec::with_capacity(addresses.len()), Vec::new());
    for (place, (text, reason)) in addresses.iter().enumerate() {
        match text.parse() {
            Ok(mailbox) => checked.push((mailbox, *reason)),
            Err(why) => {
                let why = format!("it is not the address of one mailbox: {why}");
                faults.push(FieldError::new("address", format!("/addresses/{place}"), why));
            }
        }
    }
    if faults.is_empty() { Ok(checked) } else { Err(faults) }
}

fn write(kept: &Kept) -> Result<Bytes> {
    let odd = |fault: serde_json::Error| StoreError::Corrupt(fault.to_string());
    serde_json::to_vec(kept).map(Bytes::from).map_err(odd)
}

fn read(record: &Record) -> Result<Suppressed> {
    let odd = |fault| StoreError::Corrupt(format!("a suppressed address: {fault}"));
    let kept: Kept = serde_json::from_slice(&record.body).map_err(odd)?;
    Ok(Suppressed {
        address: record.key.clone(),
        reason: kept.reason,
        detail: kept.detail,
        since: Time::from_micros(kept.since),
    })
}
