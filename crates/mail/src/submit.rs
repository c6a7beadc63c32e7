//! Accepts an e-mail: validate → stamp → accept, in one transaction. When it returns, the e-mail is stored
//! and fsynced.

use std::sync::Arc;

use bytes::Bytes;
use gancho_domain::{
    EmailId, FieldError, Lane, Parcel, ParcelKind, Tenant, TenantScope, TraceContext,
    field_error::joined,
};
use gancho_store::{AcceptOutcome, IdempotencyKey, NewDelivery, NewParcel, StoreError};
use thiserror::Error;

use crate::{
    EmailDraft, Outbox,
    email::outbox_id,
    outbox::{EVENT_TYPE, target},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    pub id: EmailId,
    /// Whether it is a duplicate; the id is then that of the first e-mail.
    pub is_repeat: bool,
}

#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum SubmitError {
    #[error("{}", joined(.0))]
    Faulty(Vec<FieldError>),
    #[error("the idempotency key was already used for another e-mail ({first}): use a new key")]
    KeyClash { first: EmailId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Outbox {
    /// Submits an e-mail. A caller that disconnects does not interrupt it.
    pub async fn submit(
        self: &Arc<Self>,
        scope: TenantScope,
        tenant: &Tenant,
        draft: EmailDraft,
    ) -> Result<Submission, SubmitError> {
        let key = draft.idempotency_key.clone();
        let (external_id, trace) = (draft.external_id.clone(), draft.trace);
        let email = draft.check(&tenant.slug, &self.limits).map_err(SubmitError::Faulty)?;
        let invalid = |error: serde_json::Error| StoreError::Corrupt(error.to_string());
        let body = email.write().map_err(invalid)?;
        let once = key.map(|key| self.once(&key, external_id.as_deref(), &body));
        let new = self.stamp(scope, (external_id, trace), body, once);
        let id = outbox_id(&new.parcel);
        match self.engine.accept_one(new).await? {
            AcceptOutcome::New { .. } => Ok(Submission { id, is_repeat: false }),
            AcceptOutcome::Again { first } => Ok(Submission { id: first.cast(), is_repeat: true }),
            AcceptOutcome::Clash { first } => Err(SubmitError::KeyClash { first: first.cast() }),
        }
    }

    fn stamp(
        &self,
        scope: TenantScope,
        (external_id, trace): (Option<String>, Option<TraceContext>),
        body: Bytes,
        once: Option<IdempotencyKey>,
    ) -> NewParcel {
        let (now, target) = (self.clock.now(), target(scope));
        let parcel = Arc::new(Parcel {
            id: self.ids.make(),
            tenant: scope.tenant(),
            kind: ParcelKind::Email,
            event_type: EVENT_TYPE.into(),
            subject: None,
            external_id: external_id.map(Into::into),
            is_test: false,
            body,
            created_at: now,
            trace,
            erased_at: None,
        });
        let delivery = NewDelivery {
            id: self.ids.make(),
            lane: Lane::Email,
            target,
            due_at: now,
            in_order: false,
            hold: true,
        };
        NewParcel { parcel, once, ledger: None, deliveries: vec![delivery] }
    }

    fn once(&self, key: &str, external_id: Option<&str>, body: &[u8]) -> IdempotencyKey {
        IdempotencyKey::new(
            &[Some(b"email"), Some(key.as_bytes())],
            &[external_id.map(str::as_bytes), Some(body)],
            self.clock.now() + self.limits.once_within,
        )
    }
}
