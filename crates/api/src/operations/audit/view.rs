//! Renders an entry of the audit log.

use gancho_access::ActorKind;
use gancho_store::AuditEntry;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations,
    render::{Timestamp, words},
};

/// An entry of the audit log: an administrative action or a login, done or refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditEntryView {
    /// Id of the entry (`aud_…`).
    pub id: String,
    /// When the action took place.
    pub at: Timestamp,
    pub actor: AuditActor,
    /// Id of the tenant whose data the action was about; null if it was about data of the operator.
    pub tenant_id: Option<String>,
    /// The `operationId` of the operation in this document, `log_in`, or `left_out` for an entry that stands for
    /// similar actions which were not recorded one by one.
    pub operation: String,
    /// What the operation does, in English.
    pub summary: &'static str,
    /// Id or name of what was changed; null if there is none. For `left_out`, the number of actions and their
    /// operation.
    pub resource: Option<String>,
    /// Whether the action was done or refused.
    #[schema(value_type = words::AuditOutcome)]
    pub outcome: &'static str,
    /// HTTP status of the response. For a login 200 or 401; 499 if the caller disconnected before the action had an
    /// outcome.
    pub status: u16,
    /// Error code of the response; null if the action was done. `disconnected` if the caller disconnected before the
    /// action had an outcome, `left_out` for an entry that stands for others.
    pub code: Option<String>,
    /// Id of the request, as in the header `X-Request-Id`; null for logins and for entries that stand for others.
    pub request_id: Option<String>,
    /// IP address of the caller, or its /64 block for IPv6; null if it is not known. Tenants do not see addresses of
    /// the operator.
    pub address: Option<String>,
    /// Reason that the caller gave for a pause; null if none was given. Tenants do not see reasons of the operator.
    pub reason: Option<String>,
}

/// The caller who did something, or tried to.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditActor {
    /// Kind of caller. A tenant sees users of the operator as `operator`.
    #[schema(value_type = words::ActorKind)]
    pub kind: &'static str,
    /// Name of the user, or id of the API key; null for other callers.
    pub name: Option<String>,
}

impl From<AuditEntry> for AuditEntryView {
    fn from(entry: AuditEntry) -> Self {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let outcome = if entry.is_done() { "done" } else { "refused" };
        Self {
            id: entry.id.to_string(),
            at: Timestamp(entry.at()),
            actor: AuditActor { kind: entry.actor.kind.name(), name: given(entry.actor.name) },
            tenant_id: entry.tenant.map(|tenant| tenant.to_string()),
            summary: operations::summary(&entry.operation),
            operation: entry.operation,
            resource: given(entry.resource),
            outcome,
            status: entry.status,
            code: given(entry.code),
            request_id: given(entry.request_id),
            address: given(entry.address),
            reason: given(entry.reason),
        }
    }
}

impl AuditEntryView {
    /// For a tenant, people of the operator have neither names nor addresses, and give no reasons: those are written for
    /// the operator's own.
    pub fn for_tenant(mut entry: AuditEntry) -> Self {
        if matches!(entry.actor.kind, ActorKind::Operator | ActorKind::User) {
            entry.actor.kind = ActorKind::Operator;
            entry.actor.name.clear();
            entry.address.clear();
            entry.reason.clear();
        }
        entry.into()
    }
}
