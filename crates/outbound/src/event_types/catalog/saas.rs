//! Users, subscriptions and invoices of a SaaS platform.

use super::Entry;

pub(super) const TYPES: [Entry; 8] = [
    (
        "user.created",
        "A user was created.",
        r#"{"id":"usr_8f14e45f","email":"ana@example.com","name":"Ana Souza","role":"member","is_active":true,"created_at":"2026-01-07T10:15:00.000Z"}"#,
    ),
    (
        "user.updated",
        "A user was changed. Contains the current user and the changes.",
        r#"{"user":{"id":"usr_8f14e45f","email":"ana@example.com","name":"Ana Souza","role":"admin","is_active":true,"created_at":"2026-01-07T10:15:00.000Z"},"changes":{"role":{"from":"member","to":"admin"}}}"#,
    ),
    ("user.deleted", "A user was deleted.", r#"{"userId":"usr_8f14e45f"}"#),
    (
        "subscription.created",
        "A subscription started.",
        r#"{"id":"sub_45c48cce","customer_id":"cus_d3d94468","plan":"pro","status":"active","quantity":3,"current_period_start":"2026-01-01T00:00:00.000Z","current_period_end":"2026-02-01T00:00:00.000Z","cancel_at_period_end":false}"#,
    ),
    (
        "subscription.updated",
        "A subscription was changed, such as its plan or its quantity.",
        r#"{"id":"sub_45c48cce","customer_id":"cus_d3d94468","plan":"enterprise","status":"active","quantity":10,"current_period_start":"2026-01-01T00:00:00.000Z","current_period_end":"2026-02-01T00:00:00.000Z","cancel_at_period_end":false}"#,
    ),
    (
        "subscription.cancelled",
        "A subscription was canceled.",
        r#"{"id":"sub_45c48cce","customer_id":"cus_d3d94468","plan":"pro","status":"cancelled","quantity":3,"cancelled_at":"2026-01-20T15:30:00.000Z","ends_at":"2026-02-01T00:00:00.000Z","reason":"too_expensive"}"#,
    ),
    (
        "invoice.paid",
        "An invoice was paid.",
        r#"{"id":"inv_6512bd43","number":"2026-00042","customer_id":"cus_d3d94468","subscription_id":"sub_45c48cce","amount":14900,"currency":"BRL","status":"paid","paid_at":"2026-01-05T09:30:00.000Z","lines":[{"description":"Pro, 3 seats","amount":14900}]}"#,
    ),
    (
        "invoice.failed",
        "The payment of an invoice failed.",
        r#"{"id":"inv_c20ad4d7","number":"2026-00043","customer_id":"cus_d3d94468","subscription_id":"sub_45c48cce","amount":14900,"currency":"BRL","status":"open","attempt":2,"failure_code":"card_declined","next_attempt_at":"2026-01-08T09:30:00.000Z"}"#,
    ),
];
