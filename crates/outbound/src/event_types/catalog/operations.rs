//! Notices of the gateway itself. An endpoint gets them only if it subscribes to `webhook.*` or to single
//! ones: `*` does not include them.

use super::Entry;

pub(super) const TYPES: [Entry; 3] = [
    (
        "webhook.delivery.exhausted",
        "A delivery became a dead letter after its last attempt. For each webhook, the first five within ten minutes are reported one by one and the rest together, in a digest (`is_digest`) with `failed_deliveries`, `by_failure_code`, `since` and `until`.",
        r#"{"is_digest":false,"tenant_id":"ten_01HQABC789XYZ0123456789ABC","webhook_id":"wh_01HQABC789XYZ0123456789ABC","url":"https://example.com/hooks","delivery_id":"dlv_01HQABC789XYZ0123456789ABC","event_id":"evt_01HQABC789XYZ0123456789ABC","event_type":"invoice.paid","external_id":"BOL-M2-2025-00123","failed_attempts":10,"last_failure_code":"HTTP_503","last_failure_reason":"the endpoint answered 503 Service Unavailable","last_failure_timestamp":"2026-01-23T14:35:00.000Z","enqueued_at":"2026-01-20T10:59:55.000Z","replay":{"method":"POST","path":"/v1/dlq/dlv_01HQABC789XYZ0123456789ABC/replay"}}"#,
    ),
    (
        "webhook.endpoint.failing",
        "All deliveries to an endpoint have been failing for a while; it will be disabled if this continues.",
        r#"{"tenant_id":"ten_01HQABC789XYZ0123456789ABC","webhook_id":"wh_01HQABC789XYZ0123456789ABC","name":"Orders","url":"https://example.com/hooks","failing_since":"2026-01-20T10:59:55.000Z","disabled_at":"2026-01-25T10:59:55.000Z","last_failure_code":"CONNECT_FAILED","last_failure_reason":"connection refused"}"#,
    ),
    (
        "webhook.endpoint.disabled",
        "An endpoint was disabled: its deliveries failed for too long, or it responded with 410 Gone.",
        r#"{"tenant_id":"ten_01HQABC789XYZ0123456789ABC","webhook_id":"wh_01HQABC789XYZ0123456789ABC","name":"Orders","url":"https://example.com/hooks","reason":"failing","failing_since":"2026-01-20T10:59:55.000Z","last_failure_code":"CONNECT_FAILED","last_failure_reason":"connection refused","missed":{"since":"2026-01-20T10:59:55.000Z","failed_deliveries":42,"is_exact":true},"replay":{"method":"POST","path":"/v1/replays","body":{"filter":{"webhook_id":"wh_01HQABC789XYZ0123456789ABC","status":"failed","since":"2026-01-20T10:59:55.000Z"}}}}"#,
    ),
];
