//! Prints a delivery and its attempts.

use serde_json::Value;

use crate::{
    commands::table::{
        self, Facts, Table, ahead, cell, clean, flexible, millis, painted, text, when,
    },
    paint::{DIM, GREEN, RED},
};

/// Returns what a delivery waits for, or why it failed.
pub fn why(delivery: &Value) -> String {
    let waiting = &delivery["waiting_for"];
    let error = || match (&delivery["response_status"], &delivery["last_error_code"]) {
        (Value::Null, Value::Null) => String::new(),
        (Value::Null, code) => text(code),
        (status, _) => text(status),
    };
    match (delivery["status"].as_str(), waiting["reason"].as_str()) {
        (Some("delivered"), _) => String::new(),
        (_, None) => error(),
        (_, Some("retry")) => format!("{}; retry {}", error(), ahead(&waiting["until"])),
        (_, Some(reason)) if waiting["until"].is_null() => reason.replace('_', " "),
        (_, Some(reason)) => format!("{} {}", reason.replace('_', " "), ahead(&waiting["until"])),
    }
}

pub fn delivery(delivery: &Value, is_verbose: bool) -> anyhow::Result<()> {
    Facts::default()
        .add("delivery", text(&delivery["id"]))
        .add("lane", text(&delivery["lane"]))
        .add("event", text(&delivery["event_id"]))
        .add("type", text(&delivery["event_type"]))
        .add("endpoint", text(&delivery["webhook_id"]))
        .add("partner", text(&delivery["partner"]))
        .add("receipt", text(&delivery["receipt_id"]))
        .add("target", text(&delivery["target_url"]))
        .add("e-mail", text(&delivery["outbox_id"]))
        .add("external id", text(&delivery["external_id"]))
        .add("status", text(&delivery["status"]))
        .add(
            "waiting for",
            if delivery["waiting_for"].is_null() { String::new() } else { why(delivery) },
        )
        .add("last error", text(&delivery["last_error"]))
        .add("next attempt", when(&delivery["next_retry_at"]))
        .add("test", if delivery["is_test"] == true { "yes" } else { "" })
        .add("created", when(&delivery["created_at"]))
        .add("delivered", when(&delivery["delivered_at"]))
        .print()?;
    if !delivery["payload"].is_null() {
        table::say(&format!("\n{}", table::clean_lines(&format!("{:#}", delivery["payload"]))))?;
    }
    let attempts = delivery["attempt_log"].as_array().map(Vec::as_slice).unwrap_or_default();
    if attempts.is_empty() {
        return table::say("\nThere were no attempts yet.");
    }
    table::say("")?;
    self::attempts(attempts).print()?;
    if is_verbose {
        attempts.iter().try_for_each(exchange)?;
    }
    Ok(())
}

fn attempts(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["attempt", "started (UTC)", "latency", "response", "error"]);
    for row in rows {
        let status = match row["response_status"].as_u64() {
            Some(status @ 200..300) => painted(status.to_string(), GREEN),
            Some(status) => painted(status.to_string(), RED),
            None => painted(text(&row["error_code"]), RED),
        };
        shown.row([
            cell(text(&row["attempt"])),
            cell(when(&row["started_at"])),
            cell(millis(&row["latency_ms"])),
            status,
            flexible(text(&row["error"])),
        ]);
    }
    shown
}

/// Prints the request and the response of an attempt.
fn exchange(attempt: &Value) -> anyhow::Result<()> {
    table::say(&format!("\nattempt {}", text(&attempt["attempt"])))?;
    for (arrow, headers) in [(">", "request_headers"), ("<", "response_headers")] {
        for (name, value) in attempt[headers].as_object().into_iter().flatten() {
            table::say(&format!("{DIM}{arrow} {}:{DIM:#} {}", clean(name), clean(&text(value))))?;
        }
    }
    match text(&attempt["response_body"]) {
        body if body.is_empty() => Ok(()),
        body => table::say(&format!("\n{}", table::clean_lines(&body))),
    }
}
