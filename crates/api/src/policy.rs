//! The role that each operation requires of a user, and whether it is recorded in the audit log: one line for
//! every operation. A test fails for an operation that is not listed; only operators may run such an
//! operation.
//!
//! Roles limit people who log in. Credentials of tenants are limited by their scopes, see [`crate::route`].

use gancho_access::Role;

use crate::route::Route;

/// Which callers of an operation are recorded in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditScope {
    /// All callers.
    Always,
    /// People: the operator, users, and users of the portal. Programs of tenants make such calls by the
    /// thousand, and the delivery log has their effect.
    ForPeople,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The lowest role that may run the operation.
    pub role: Role,
    pub recorded: AuditScope,
}

use AuditScope::{Always, ForPeople, Never};
use Role::{Operator, ReadOnly, Support};

const POLICIES: &[(&str, Role, AuditScope)] = &[
    ("publishEvent", Operator, Never),
    ("publishEvents", Operator, Never),
    ("listEvents", ReadOnly, Never),
    ("getEvent", ReadOnly, Never),
    ("cancelEvent", Support, ForPeople),
    ("eraseContent", Operator, Always),
    ("listRejectedEvents", ReadOnly, Never),
    ("retryRejectedEvent", Support, ForPeople),
    ("deleteRejectedEvent", Operator, Always),
    ("createWebhook", Operator, Always),
    ("listWebhooks", ReadOnly, Never),
    ("getWebhook", ReadOnly, Never),
    ("replaceWebhook", Operator, Always),
    ("updateWebhook", Operator, Always),
    ("deleteWebhook", Operator, Always),
    ("getWebhookSecret", Operator, Always),
    ("rotateWebhookSecret", Operator, Always),
    ("testWebhook", Support, ForPeople),
    ("testWebhookByBody", Support, ForPeople),
    ("pauseWebhook", Support, Always),
    ("resumeWebhook", Support, Always),
    ("listEgressAddresses", ReadOnly, Never),
    ("listEventTypes", ReadOnly, Never),
    ("createEventType", Operator, Always),
    ("getEventType", ReadOnly, Never),
    ("replaceEventType", Operator, Always),
    ("deleteEventType", Operator, Always),
    ("listDeliveries", ReadOnly, Never),
    ("tailDeliveries", ReadOnly, Never),
    ("exportDeliveries", ReadOnly, Always),
    ("getDelivery", ReadOnly, Never),
    ("retryDelivery", Support, ForPeople),
    ("cancelDelivery", Support, ForPeople),
    ("checkDeliverySignature", Support, ForPeople),
    ("listWebhookDeliveries", ReadOnly, Never),
    ("getWebhookDelivery", ReadOnly, Never),
    ("retryWebhookDelivery", Support, ForPeople),
    ("sendEmail", Operator, Never),
    ("listEmails", ReadOnly, Never),
    ("getEmail", ReadOnly, Never),
    ("listSuppressions", ReadOnly, Never),
    ("addSuppression", Operator, Always),
    ("importSuppressions", Operator, Always),
    ("removeSuppression", Operator, Always),
    ("createReplay", Support, Always),
    ("listReplays", ReadOnly, Never),
    ("getReplay", ReadOnly, Never),
    ("cancelReplay", Support, Always),
    ("listDeadLetters", ReadOnly, Never),
    ("getDeadLetterStats", ReadOnly, Never),
    ("exportDeadLetters", ReadOnly, Always),
    ("importDeadLetters", Operator, Always),
    ("getDeadLetter", ReadOnly, Never),
    ("replayDeadLetter", Support, ForPeople),
    ("replayDeadLetters", Support, Always),
    ("deleteDeadLetter", Operator, Always),
    ("purgeDeadLetters", Operator, Always),
    ("search", ReadOnly, Never),
    ("getStats", ReadOnly, Never),
    ("getWebhookStats", ReadOnly, Never),
    ("listWebhookStats", ReadOnly, Never),
    ("listTenantStats", ReadOnly, Never),
    ("listQueues", ReadOnly, Never),
    ("pauseQueue", Support, Always),
    ("resumeQueue", Support, Always),
    ("listNodes", ReadOnly, Never),
    ("listCells", ReadOnly, Never),
    ("addCell", Operator, Always),
    ("updateCell", Operator, Always),
    ("removeCell", Operator, Always),
    ("listCellTenants", ReadOnly, Never),
    ("createTenant", Operator, Always),
    ("listTenants", ReadOnly, Never),
    ("getTenant", ReadOnly, Never),
    ("updateTenant", Operator, Always),
    ("deleteTenant", Operator, Always),
    ("pauseTenant", Support, Always),
    ("resumeTenant", Support, Always),
    ("moveTenant", Operator, Always),
    ("getTenantMove", ReadOnly, Never),
    ("takeBackTenantMove", Operator, Always),
    ("createTenantApiKey", Operator, Always),
    ("listTenantApiKeys", ReadOnly, Never),
    ("revokeTenantApiKey", Operator, Always),
    ("listApiKeys", ReadOnly, Never),
    ("createApiKey", Operator, Always),
    ("revokeApiKey", Operator, Always),
    ("getUsage", ReadOnly, Never),
    ("createPortalLink", Operator, Always),
    ("revokePortalLinks", Operator, Always),
    ("listEncryptionKeys", ReadOnly, Never),
    ("rotateEncryptionKeys", Operator, Always),
    ("createSource", Operator, Always),
    ("listSources", ReadOnly, Never),
    ("getSource", ReadOnly, Never),
    ("updateSource", Operator, Always),
    ("deleteSource", Operator, Always),
    ("listSourceKeys", ReadOnly, Never),
    ("putSourceKey", Operator, Always),
    ("deleteSourceKey", Operator, Always),
    ("importSourceKeys", Operator, Always),
    ("listReceipts", ReadOnly, Never),
    ("getReceipt", ReadOnly, Never),
    ("getReceiptProof", ReadOnly, Never),
    ("retryReceipt", Support, Always),
    ("retryReceipts", Support, Always),
    ("listSourceRejections", ReadOnly, Never),
    ("listRejections", ReadOnly, Never),
    ("reloadSources", Operator, Always),
    ("getLedger", ReadOnly, Never),
    ("createLedgerCheckpoint", Operator, Always),
    ("listCapturedEmails", ReadOnly, Never),
    ("getCapturedEmail", ReadOnly, Never),
    ("listUsers", Operator, Never),
    ("createUser", Operator, Always),
    ("getUser", Operator, Never),
    ("updateUser", Operator, Always),
    ("deleteUser", Operator, Always),
    ("changeOwnPassword", ReadOnly, Always),
    ("listAuditEntries", Operator, Never),
    ("listNoticeEmails", ReadOnly, Never),
    ("replaceNoticeEmails", Operator, Always),
    ("getTenantMetadata", ReadOnly, Never),
    ("replaceTenantMetadata", Operator, Always),
    ("listAlerts", ReadOnly, Never),
    ("listAlertHistory", ReadOnly, Never),
    ("testAlerts", Support, Always),
    ("listAlertSilences", ReadOnly, Never),
    ("createAlertSilence", Support, Always),
    ("deleteAlertSilence", Support, Always),
];

/// Returns the policy of an operation.
pub fn of(route: &Route) -> Policy {
    let found = POLICIES.iter().find(|(operation, ..)| *operation == route.operation_id);
    let (role, recorded) =
        found.map_or((Operator, Always), |(_, role, recorded)| (*role, *recorded));
    Policy { role, recorded }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Method;

    use super::*;
    use crate::operations::ROUTES;

    #[test]
    fn every_operation_is_decided_on_once() {
        let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.operation_id).collect();
        let listed: BTreeSet<_> = POLICIES.iter().map(|(id, ..)| *id).collect();
        assert_eq!(listed.len(), POLICIES.len(), "an operation is listed twice");
        assert_eq!(ids, listed);
    }

    #[test]
    fn who_may_only_read_changes_nothing() {
        for route in ROUTES {
            let policy = of(route);
            let is_own_password = route.path == "/me/password";
            if route.method != Method::GET && !is_own_password {
                assert!(policy.role > ReadOnly, "{}", route.operation_id);
            }
            if policy.role == ReadOnly {
                assert!(!route.path.contains("secret"), "{}", route.operation_id);
            }
        }
    }

    /// Each change is recorded, except those that tenants' programs make all the time.
    #[test]
    fn what_changes_something_is_recorded() {
        let unrecorded: Vec<_> = ROUTES
            .iter()
            .filter(|route| route.method != Method::GET && of(route).recorded == Never)
            .map(|route| route.operation_id)
            .collect();
        assert_eq!(unrecorded, ["publishEvent", "publishEvents", "sendEmail"]);
    }
}
