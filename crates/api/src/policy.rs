//! What each operation takes of the role of a user, and whether it is recorded in the audit log: one line for
//! every operation. A test fails for one that is not listed; such a one is for operators alone.
//!
//! Roles limit people who log in. Credentials of tenants are limited by their scopes, see [`crate::route`].

use std::{collections::HashMap, sync::LazyLock};

use gancho_access::Role;

use crate::{
    audit::{LEFT_OUT, LOG_IN},
    route::Route,
    router::ROUTES,
};

/// Whose calls of an operation are recorded in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Everyone's.
    Always,
    /// Those of people: the operator, users, and who is in the portal. Programs of tenants make such calls by the
    /// thousand, and the delivery log has their effect.
    ForPeople,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The lowest role that may run the operation.
    pub role: Role,
    pub recorded: Recorded,
}

use Recorded::{Always, ForPeople, Never};
use Role::{Operator, ReadOnly, Support};

const POLICIES: &[(&str, Role, Recorded)] = &[
    ("post_events", Operator, Never),
    ("post_events_batch", Operator, Never),
    ("get_events", ReadOnly, Never),
    ("get_events_event_id", ReadOnly, Never),
    ("post_webhooks", Operator, Always),
    ("get_webhooks", ReadOnly, Never),
    ("get_webhooks_id", ReadOnly, Never),
    ("put_webhooks_id", Operator, Always),
    ("patch_webhooks_id", Operator, Always),
    ("delete_webhooks_id", Operator, Always),
    ("get_webhooks_id_secret", Operator, Always),
    ("post_webhooks_id_rotate_secret", Operator, Always),
    ("post_webhooks_id_test", Support, ForPeople),
    ("post_webhooks_test", Support, ForPeople),
    ("post_webhooks_id_pause", Support, Always),
    ("post_webhooks_id_resume", Support, Always),
    ("get_egress_addresses", ReadOnly, Never),
    ("get_webhooks_events", ReadOnly, Never),
    ("post_webhooks_events", Operator, Always),
    ("get_webhooks_events_event_type", ReadOnly, Never),
    ("put_webhooks_events_event_type", Operator, Always),
    ("delete_webhooks_events_event_type", Operator, Always),
    ("get_deliveries", ReadOnly, Never),
    ("get_deliveries_tail", ReadOnly, Never),
    ("get_deliveries_delivery_id", ReadOnly, Never),
    ("post_deliveries_delivery_id_retry", Support, ForPeople),
    ("post_deliveries_delivery_id_check_signature", Support, ForPeople),
    ("get_webhooks_id_deliveries", ReadOnly, Never),
    ("get_webhooks_id_deliveries_delivery_id", ReadOnly, Never),
    ("post_webhooks_id_deliveries_delivery_id_retry", Support, ForPeople),
    ("post_email_send", Operator, Never),
    ("get_emails", ReadOnly, Never),
    ("get_emails_outbox_id", ReadOnly, Never),
    ("get_suppressions", ReadOnly, Never),
    ("post_suppressions", Operator, Always),
    ("post_suppressions_import", Operator, Always),
    ("delete_suppressions_address", Operator, Always),
    ("post_replays", Support, Always),
    ("get_replays", ReadOnly, Never),
    ("get_replays_replay_id", ReadOnly, Never),
    ("post_replays_replay_id_cancel", Support, Always),
    ("get_dlq", ReadOnly, Never),
    ("get_dlq_stats", ReadOnly, Never),
    ("get_dlq_export", ReadOnly, Always),
    ("get_dlq_letter_id", ReadOnly, Never),
    ("post_dlq_letter_id_replay", Support, ForPeople),
    ("post_dlq_replay", Support, Always),
    ("delete_dlq_letter_id", Operator, Always),
    ("delete_dlq", Operator, Always),
    ("get_stats", ReadOnly, Never),
    ("get_webhooks_id_stats", ReadOnly, Never),
    ("get_stats_webhooks", ReadOnly, Never),
    ("get_queues", ReadOnly, Never),
    ("post_queues_lane_pause", Support, Always),
    ("post_queues_lane_resume", Support, Always),
    ("get_nodes", ReadOnly, Never),
    ("post_tenants", Operator, Always),
    ("get_tenants", ReadOnly, Never),
    ("get_tenants_tenant", ReadOnly, Never),
    ("patch_tenants_tenant", Operator, Always),
    ("post_tenants_tenant_pause", Support, Always),
    ("post_tenants_tenant_resume", Support, Always),
    ("post_tenants_tenant_api_keys", Operator, Always),
    ("get_tenants_tenant_api_keys", ReadOnly, Never),
    ("delete_tenants_tenant_api_keys_key_id", Operator, Always),
    ("get_api_keys", ReadOnly, Never),
    ("post_api_keys", Operator, Always),
    ("delete_api_keys_key_id", Operator, Always),
    ("get_usage", ReadOnly, Never),
    ("post_portal_links", Operator, Always),
    ("delete_tenants_tenant_portal_links", Operator, Always),
    ("get_keys", ReadOnly, Never),
    ("post_keys_rotate", Operator, Always),
    ("post_sources", Operator, Always),
    ("get_sources", ReadOnly, Never),
    ("get_sources_partner", ReadOnly, Never),
    ("patch_sources_partner", Operator, Always),
    ("delete_sources_partner", Operator, Always),
    ("get_sources_partner_keys", ReadOnly, Never),
    ("put_sources_partner_keys_partner_key", Operator, Always),
    ("delete_sources_partner_keys_partner_key", Operator, Always),
    ("post_source_keys_import", Operator, Always),
    ("get_sources_partner_receipts", ReadOnly, Never),
    ("get_sources_partner_receipts_receipt_id", ReadOnly, Never),
    ("get_sources_partner_receipts_receipt_id_proof", ReadOnly, Never),
    ("post_sources_partner_receipts_receipt_id_retry", Support, Always),
    ("post_sources_partner_receipts_retry", Support, Always),
    ("get_sources_partner_rejections", ReadOnly, Never),
    ("get_rejections", ReadOnly, Never),
    ("post__reload", Operator, Always),
    ("get_ledger", ReadOnly, Never),
    ("post_ledger_checkpoint", Operator, Always),
    ("get_dev_letters", ReadOnly, Never),
    ("get_dev_letters_outbox_id", ReadOnly, Never),
    ("get_users", Operator, Never),
    ("post_users", Operator, Always),
    ("get_users_user", Operator, Never),
    ("patch_users_user", Operator, Always),
    ("delete_users_user", Operator, Always),
    ("post_me_password", ReadOnly, Always),
    ("get_audit", Operator, Never),
    ("get_tenants_tenant_notice_emails", ReadOnly, Never),
    ("put_tenants_tenant_notice_emails", Operator, Always),
    ("get_tenants_tenant_metadata", ReadOnly, Never),
    ("put_tenants_tenant_metadata", Operator, Always),
    ("get_alerts", ReadOnly, Never),
    ("get_alerts_history", ReadOnly, Never),
    ("post_alerts_test", Support, Always),
    ("get_alerts_silences", ReadOnly, Never),
    ("post_alerts_silences", Support, Always),
    ("delete_alerts_silences_silence_id", Support, Always),
];

/// The policy of an operation.
pub fn of(route: &Route) -> Policy {
    let id = route.operation_id();
    let found = POLICIES.iter().find(|(operation, ..)| *operation == id);
    let (role, recorded) =
        found.map_or((Operator, Always), |(_, role, recorded)| (*role, *recorded));
    Policy { role, recorded }
}

/// What an operation of the audit log does; empty for one that this version does not know.
pub fn summary(operation: &str) -> &'static str {
    static SUMMARIES: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
        let login = (LOG_IN.to_owned(), "Log in to the dashboard");
        let left_out = (LEFT_OUT.to_owned(), "Similar acts that were not recorded one by one");
        let routes = ROUTES.iter().map(|route| (route.operation_id(), route.summary));
        routes.chain([login, left_out]).collect()
    });
    SUMMARIES.get(operation).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Method;

    use super::*;

    #[test]
    fn every_operation_is_decided_on_once() {
        let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.operation_id()).collect();
        let listed: BTreeSet<_> = POLICIES.iter().map(|(id, ..)| (*id).to_owned()).collect();
        assert_eq!(listed.len(), POLICIES.len(), "an operation is listed twice");
        assert_eq!(ids, listed);
    }

    #[test]
    fn who_may_only_read_changes_nothing() {
        for route in ROUTES {
            let policy = of(route);
            let is_own_password = route.path == "/me/password";
            if route.method != Method::GET && !is_own_password {
                assert!(policy.role > ReadOnly, "{}", route.operation_id());
            }
            if policy.role == ReadOnly {
                assert!(!route.path.contains("secret"), "{}", route.operation_id());
            }
        }
    }

    /// Each change is recorded, but for those that tenants' programs make all the time.
    #[test]
    fn what_changes_something_is_recorded() {
        let unrecorded: Vec<_> = ROUTES
            .iter()
            .filter(|route| route.method != Method::GET && of(route).recorded == Never)
            .map(|route| route.operation_id())
            .collect();
        assert_eq!(unrecorded, ["post_events", "post_events_batch", "post_email_send"]);
    }
}
