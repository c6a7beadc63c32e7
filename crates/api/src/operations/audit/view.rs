//! Renders an entry of the audit log.

use gancho_access::ActorKind;
use gancho_store::AuditEntry;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    operations,
    render::{Timestamp, words},
};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditEntryView {
    pub id: String,
    pub at: Timestamp,
    pub actor: AuditActor,
    /// The tenant whose data it was about; null for the operator's.
    pub tenant_id: Option<String>,
    /// The `operationId` of the operation in this document, or `log_in`.
    pub operation: String,
    /// What the operation does, in English.
    pub summary: &'static str,
    /// The id or name of what was changed.
    pub resource: Option<String>,
    /// `done` or `refused`.
    #[schema(value_type = words::AuditOutcome)]
    pub outcome: &'static str,
    /// The HTTP status of the response; of a login, 200 or 401.
    pub status: u16,
    /// The code of the error, if it was refused.
    pub code: Option<String>,
    pub request_id: Option<String>,
    /// The address of the caller; of IPv6 addresses the block.
    pub address: Option<String>,
    /// Why it was done, as the caller said it: of a pause. A tenant does not see the operator's.
    pub reason: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct AuditActor {
    /// `operator` (the operator token), `user`, `api_key`, `portal`, or `anonymous` for a failed login.
    #[schema(value_type = words::ActorKind)]
    pub kind: &'static str,
    /// The name of the user or the id of the API key.
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
