//! Prints e-mails.

use serde_json::Value;

use crate::commands::table::{self, Facts, Table, cell, state, text, when};

pub fn emails(rows: &[Value]) -> Table {
    let heads = &["e-mail", "created", "status", "attempts", "recipient", "subject", "failure"];
    let mut shown = Table::new(heads);
    for row in rows {
        shown.row([
            cell(text(&row["outboxId"])),
            cell(when(&row["createdAt"])),
            state(&text(&row["status"])),
            cell(text(&row["attempts"])),
            cell(text(&row["recipient"])),
            cell(text(&row["subject"])),
            cell(text(&row["failureCode"])),
        ]);
    }
    shown
}

pub fn email(email: &Value) -> anyhow::Result<()> {
    Facts::default()
        .add("e-mail", text(&email["outboxId"]))
        .add("tenant", text(&email["companyId"]))
        .add("external id", text(&email["externalId"]))
        .add("status", text(&email["status"]))
        .add("from", text(&email["from"]))
        .add("to", text(&email["recipient"]))
        .add("subject", text(&email["subject"]))
        .add("created", when(&email["createdAt"]))
        .add("sent", when(&email["sentAt"]))
        .add("message id", text(&email["messageId"]))
        .add("failed", when(&email["failedAt"]))
        .add("failure", text(&email["failureCode"]))
        .add("reason", text(&email["failureReason"]))
        .add("next attempt", when(&email["nextRetryAt"]))
        .add("delivery", text(&email["deliveryId"]))
        .print()?;
    let attempts = email["attemptLog"].as_array().map(Vec::as_slice).unwrap_or_default();
    if attempts.is_empty() {
        return Ok(());
    }
    let mut shown = Table::new(&["attempt", "at", "duration", "status", "response", "failure"]);
    for attempt in attempts {
        shown.row([
            cell(text(&attempt["attempt"])),
            cell(when(&attempt["startedAt"])),
            cell(format!("{} ms", text(&attempt["latencyMs"]))),
            cell(text(&attempt["responseStatus"])),
            cell(text(&attempt["response"])),
            cell(text(&attempt["error"])),
        ]);
    }
    table::say("")?;
    shown.print()
}
