//! Translates an operation of the API to the catalog's key for what was done.

pub fn key(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "cancelEvent" => "act.cancel_event",
        "eraseContent" => "act.erase_content",
        "retryRejectedEvent" => "act.retry_rejected_event",
        "deleteRejectedEvent" => "act.delete_rejected_event",
        "createWebhook" => "act.create_webhook",
        "replaceWebhook" => "act.replace_webhook",
        "updateWebhook" => "act.update_webhook",
        "deleteWebhook" => "act.delete_webhook",
        "getWebhookSecret" => "act.get_webhook_secret",
        "rotateWebhookSecret" => "act.rotate_webhook_secret",
        "testWebhook" | "testWebhookByBody" => "act.test_webhook",
        "pauseWebhook" => "act.pause_webhook",
        "resumeWebhook" => "act.resume_webhook",
        "createEventType" => "act.create_event_type",
        "replaceEventType" => "act.replace_event_type",
        "deleteEventType" => "act.delete_event_type",
        "retryDelivery" | "retryWebhookDelivery" => "act.retry_delivery",
        "cancelDelivery" => "act.cancel_delivery",
        "exportDeliveries" => "act.export_deliveries",
        "checkDeliverySignature" => "act.check_delivery_signature",
        "addSuppression" => "act.add_suppression",
        "importSuppressions" => "act.import_suppressions",
        "removeSuppression" => "act.remove_suppression",
        "createReplay" => "act.create_replay",
        "cancelReplay" => "act.cancel_replay",
        "exportDeadLetters" => "act.export_dead_letters",
        "importDeadLetters" => "act.import_dead_letters",
        "replayDeadLetter" => "act.replay_dead_letter",
        "replayDeadLetters" => "act.replay_dead_letters",
        "deleteDeadLetter" => "act.delete_dead_letter",
        "purgeDeadLetters" => "act.purge_dead_letters",
        "pauseQueue" => "act.pause_queue",
        "resumeQueue" => "act.resume_queue",
        "createTenant" => "act.create_tenant",
        "updateTenant" => "act.update_tenant",
        "deleteTenant" => "act.delete_tenant",
        "pauseTenant" => "act.pause_tenant",
        "resumeTenant" => "act.resume_tenant",
        "createApiKey" | "createTenantApiKey" => "act.create_api_key",
        "revokeApiKey" | "revokeTenantApiKey" => "act.revoke_api_key",
        "createPortalLink" => "act.create_portal_link",
        "revokePortalLinks" => "act.revoke_portal_links",
        "addCell" => "act.add_cell",
        "updateCell" => "act.update_cell",
        "removeCell" => "act.remove_cell",
        "moveTenant" => "act.move_tenant",
        "takeBackTenantMove" => "act.take_back_tenant_move",
        "rotateEncryptionKeys" => "act.rotate_encryption_keys",
        "createSource" => "act.create_source",
        "updateSource" => "act.update_source",
        "deleteSource" => "act.delete_source",
        "putSourceKey" => "act.put_source_key",
        "deleteSourceKey" => "act.delete_source_key",
        "importSourceKeys" => "act.import_source_keys",
        "retryReceipt" => "act.retry_receipt",
        "retryReceipts" => "act.retry_receipts",
        "reloadSources" => "act.reload_sources",
        "createLedgerCheckpoint" => "act.create_ledger_checkpoint",
        "createUser" => "act.create_user",
        "updateUser" => "act.update_user",
        "deleteUser" => "act.delete_user",
        "changeOwnPassword" => "act.change_own_password",
        "replaceNoticeEmails" => "act.replace_notice_emails",
        "replaceTenantMetadata" => "act.replace_tenant_metadata",
        "testAlerts" => "act.test_alerts",
        "createAlertSilence" => "act.create_alert_silence",
        "deleteAlertSilence" => "act.delete_alert_silence",
        "log_in" => "act.log_in",
        "left_out" => "act.left_out",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn every_recorded_act_has_a_text() {
        let policies = include_str!("../../../api/src/policy.rs");
        let mut count = 0;
        for line in policies.lines().map(str::trim).filter(|line| line.starts_with("(\"")) {
            if line.contains("Always") || line.contains("ForPeople") {
                let operation = line.split('"').nth(1).unwrap();
                assert!(key(operation).is_some(), "{operation}");
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
        assert!(key("log_in").is_some() && key("left_out").is_some());
        assert_eq!(key("listEvents"), None);
    }
}
