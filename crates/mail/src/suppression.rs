//! Suppressed addresses of a tenant: they bounced permanently, their owners complained, or they were added
//! manually.
//!
//! An e-mail to one of them is accepted and fails immediately, with the code of the suppression, so that
//! the sender learns of it in the same way as of any other failure.

use std::sync::Arc;

use gancho_domain::{Clock, FieldError, TenantId, TenantScope, Time};
use gancho_store::{
    NewSuppression, Result, Store, StoreError, Suppression, suppressions::MAX_SUPPRESSED,
};

use crate::{FailureCode, Mailbox};

/// Maximum number of addresses per import.
pub const MAX_IMPORTED: usize = 10_000;

pub struct Suppressions {
    pub store: Arc<dyn Store>,
    pub clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuppressionReason {
    Bounce,
    Complaint,
    /// Added manually.
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

    /// Returns the failure code of e-mails to the address.
    pub const fn code(self) -> FailureCode {
        match self {
            Self::Complaint => FailureCode::Complaint,
            Self::Bounce | Self::Manual => FailureCode::BouncePermanent,
        }
    }

    /// Returns the suppression to store. A complaint overrides other reasons.
    pub(crate) fn suppress(
        self,
        mailbox: &Mailbox,
        detail: Option<String>,
        since: Time,
    ) -> NewSuppression {
        let (address, reason) = (mailbox.normalized(), self.name().to_owned());
        let suppression = Suppression { address, reason, detail, since };
        NewSuppression { suppression, replaces: self == Self::Complaint }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressedAddress {
    pub address: String,
    pub reason: SuppressionReason,
    /// The reason in the words of the server.
    pub detail: Option<String>,
    pub since: Time,
}

impl Suppressions {
    pub async fn get(
        &self,
        scope: TenantScope,
        mailbox: &Mailbox,
    ) -> Result<Option<SuppressedAddress>> {
        self.store.suppression(scope, &mailbox.normalized()).await?.map(read).transpose()
    }

    /// Returns a page of suppressions, sorted by address, after `after`.
    pub async fn list(
        &self,
        scope: TenantScope,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<SuppressedAddress>> {
        let found = self.store.suppressions(scope, after, max).await?;
        found.into_iter().map(read).collect()
    }

    /// Returns a page of the suppressions of all tenants, sorted by tenant and address, after `after`.
    pub async fn list_all(
        &self,
        after: Option<(TenantId, String)>,
        max: usize,
    ) -> Result<Vec<(TenantId, SuppressedAddress)>> {
        let found = self.store.all_suppressions(after, max).await?;
        found.into_iter().map(|found| Ok((found.tenant, read(found.row)?))).collect()
    }

    /// Adds a suppression. Returns whether it is new. An existing one stays unchanged, unless the new reason
    /// is a complaint.
    pub async fn add(
        &self,
        scope: TenantScope,
        mailbox: &Mailbox,
        reason: SuppressionReason,
        detail: Option<String>,
    ) -> Result<bool> {
        let new = reason.suppress(mailbox, detail, self.clock.now());
        Ok(self.store.suppress(scope, vec![new]).await? == 1)
    }

    /// Removes a suppression. Returns whether it existed.
    pub async fn remove(&self, scope: TenantScope, mailbox: &Mailbox) -> Result<bool> {
        self.store.remove_suppression(scope, &mailbox.normalized()).await
    }

    /// Adds suppressions. Returns how many were new. Validates all of them before it stores the first, and stores
    /// them in several transactions: after an error, some are stored, and the import can be repeated.
    pub async fn import(
        &self,
        scope: TenantScope,
        addresses: Vec<(String, SuppressionReason)>,
    ) -> Result<usize, ImportError> {
        let checked = check(&addresses).map_err(ImportError::Faulty)?;
        let now = self.clock.now();
        let mut added = 0;
        for part in checked.chunks(MAX_SUPPRESSED) {
            let new = part.iter().map(|(mailbox, reason)| reason.suppress(mailbox, None, now));
            added += self.store.suppress(scope, new.collect()).await? as usize;
        }
        Ok(added)
    }
}

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    #[error("{} of the addresses are invalid", .0.len())]
    Faulty(Vec<FieldError>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn check(
    addresses: &[(String, SuppressionReason)],
) -> Result<Vec<(Mailbox, SuppressionReason)>, Vec<FieldError>> {
    if addresses.len() > MAX_IMPORTED {
        let why =
            format!("the maximum is {MAX_IMPORTED} addresses per request: send several requests");
        return Err(vec![FieldError::new("too_many", "/addresses", why)]);
    }
    let (mut checked, mut errors) = (Vec::with_capacity(addresses.len()), Vec::new());
    for (place, (text, reason)) in addresses.iter().enumerate() {
        match text.parse() {
            Ok(mailbox) => checked.push((mailbox, *reason)),
            Err(why) => {
                let why = format!("not an e-mail address: {why}");
                errors.push(FieldError::new("address", format!("/addresses/{place}"), why));
            }
        }
    }
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

fn read(kept: Suppression) -> Result<SuppressedAddress> {
    let Suppression { address, reason, detail, since } = kept;
    let known = SuppressionReason::ALL.into_iter().find(|known| known.name() == reason);
    let invalid = || StoreError::Corrupt(format!("unknown suppression reason `{reason}`"));
    Ok(SuppressedAddress { address, reason: known.ok_or_else(invalid)?, detail, since })
}
