//! Outcomes of e-mails. The data has the fields of the e-mail gateway's contract.

use super::Entry;

pub(super) const TYPES: [Entry; 3] = [
    (
        "email.sent",
        "The e-mail was accepted by the mail server.",
        r#"{"outboxId":"out_01HQABC789XYZ0123456789ABC","externalId":"BOL-M2-2025-00123","companyId":"m2","recipient":"j***@e***le.com","status":"SENT","messageId":"0102018d1234abcd-5678efgh-9012ijkl-0000-0000000000000-000000","sentAt":"2025-01-23T14:30:00.000Z","attempts":1,"processingTimeMs":1234}"#,
    ),
    (
        "email.failed",
        "The e-mail failed: it was refused permanently, or all attempts failed.",
        r#"{"outboxId":"out_01HQABC789XYZ0123456789ABC","externalId":"BOL-M2-2025-00124","companyId":"m2","recipient":"i***@n***in.com","status":"FAILED","failureReason":"Recipient address rejected","failureCode":"INVALID_RECIPIENT","sesError":"MessageRejected","attempts":5,"failedAt":"2025-01-23T14:35:00.000Z"}"#,
    ),
    (
        "email.retry_scheduled",
        "An attempt failed temporarily; the next one is scheduled.",
        r#"{"outboxId":"out_01HQABC789XYZ0123456789ABC","externalId":"BOL-M2-2025-00123","companyId":"m2","recipient":"t***@e***le.com","status":"RETRY_SCHEDULED","retryAttempt":1,"nextRetryAt":"2025-01-23T14:32:00.000Z","lastError":"Throttling: Rate exceeded","attempts":1}"#,
    ),
];
