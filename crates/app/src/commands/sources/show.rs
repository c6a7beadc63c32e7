//! Prints sources, keys, receipts and rejections.

use serde_json::Value;

use crate::{
    commands::table::{self, Facts, Table, cell, count, state, text, when},
    paint::DIM,
};

pub fn sources(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["partner", "state", "preset", "created", "targets"]);
    for row in rows {
        shown.row([
            cell(text(&row["partner"])),
            state(activity(row)),
            cell(preset(&row["preset"])),
            cell(when(&row["created_at"])),
            cell(targets(row)),
        ]);
    }
    shown
}

pub fn source(source: &Value) -> Facts {
    let mut facts = Facts::default();
    facts
        .add("partner", text(&source["partner"]))
        .add("id", text(&source["id"]))
        .add("state", activity(source))
        .add("preset", text(&source["preset"]))
        .add("targets", targets(source))
        .add("event id pointer", text(&source["event_id_pointer"]))
        .add("schema", if source["schema"].is_null() { "" } else { "yes (print it with --json)" })
        .add("rate", rate(&source["rate_limit"]))
        .add("retry", text(&source["retry"]))
        .add("created", when(&source["created_at"]))
        .add("changed", when(&source["updated_at"]));
    if let Some(counts) = source["counts"].as_object() {
        let number = |name: &str| count(counts[name].as_u64().unwrap_or(0));
        let counted = format!(
            "{} ({} duplicates, {} conflicts)",
            number("received"),
            number("repeats"),
            number("clashes")
        );
        facts.add("received", counted);
    }
    facts
}

pub fn keys(keys: &[Value], partner: &str) -> anyhow::Result<()> {
    if keys.is_empty() {
        return table::say(&format!(
            "It has no keys, so every request is rejected. Add one with `gancho sources keys add {partner} <KEY_ID>`."
        ));
    }
    let mut shown = Table::new(&["key", "scheme", "state", "valid", "created"]);
    for key in keys {
        shown.row([
            cell(text(&key["key_id"])),
            cell(text(&key["scheme"])),
            state(validity(key)),
            cell(window(key)),
            cell(when(&key["created_at"])),
        ]);
    }
    shown.print()
}

pub fn receipts(rows: &[Value]) -> Table {
    let heads = &["receipt", "received", "status", "attempts", "key", "event id", "bytes", "error"];
    let mut shown = Table::new(heads);
    for row in rows {
        let test = if row["is_test"] == true { " (test)" } else { "" };
        shown.row([
            cell(text(&row["id"])),
            cell(when(&row["ts_received"])),
            state(&text(&row["status"])),
            cell(text(&row["attempts"])),
            cell(text(&row["key_id"])),
            cell(text(&row["event_id"]) + test),
            cell(text(&row["size"])),
            cell(text(&row["last_error"])),
        ]);
    }
    shown
}

pub fn receipt(receipt: &Value) -> anyhow::Result<()> {
    let context = &receipt["context"];
    Facts::default()
        .add("receipt", text(&receipt["id"]))
        .add("partner", text(&receipt["partner"]))
        .add("key", text(&receipt["key_id"]))
        .add("topic", text(&receipt["topic"]))
        .add("event id", text(&receipt["event_id"]))
        .add("received", when(&receipt["ts_received"]))
        .add("status", text(&receipt["status"]))
        .add("error", text(&receipt["last_error"]))
        .add("test", if receipt["is_test"] == true { "yes" } else { "" })
        .add(
            "request",
            format!("{} {}", text(&context["req"]["method"]), text(&context["req"]["path"])),
        )
        .print()?;
    for (name, value) in receipt["headers"].as_object().into_iter().flatten() {
        let (name, value) = (table::clean(name), table::clean(&text(value)));
        table::say(&format!("  {DIM}{name}:{DIM:#} {value}"))?;
    }
    table::say(&format!("\n{}\n", table::clean(&receipt["payload"].to_string())))?;
    let heads = &["delivery", "target", "status", "attempt", "at", "duration", "response", "error"];
    let mut shown = Table::new(heads);
    for delivery in receipt["deliveries"].as_array().into_iter().flatten() {
        let attempts = delivery["attempt_log"].as_array().map(Vec::as_slice).unwrap_or_default();
        let row = |attempt: &Value, error: &Value| {
            let took = text(&attempt["latency_ms"]);
            [
                cell(text(&delivery["id"])),
                cell(text(&delivery["target_url"])),
                state(&text(&delivery["status"])),
                cell(text(&attempt["attempt"])),
                cell(when(&attempt["started_at"])),
                cell(if took.is_empty() { took } else { format!("{took} ms") }),
                cell(text(&attempt["response_status"])),
                cell(text(error)),
            ]
        };
        if attempts.is_empty() {
            shown.row(row(&Value::Null, &delivery["last_error"]));
        }
        for attempt in attempts {
            shown.row(row(attempt, &attempt["error"]));
        }
    }
    shown.print()
}

pub fn rejections(rows: &[Value]) -> Table {
    let mut shown = Table::new(&["at", "status", "reason", "bytes", "detail"]);
    for row in rows {
        shown.row([
            cell(when(&row["at"])),
            cell(text(&row["status"])),
            cell(text(&row["reason"])),
            cell(text(&row["size"])),
            cell(text(&row["detail"])),
        ]);
    }
    shown
}

/// Returns `from … until …`; empty if the key is always valid.
pub fn window(key: &Value) -> String {
    let side = |word: &str, value: &Value| match when(value) {
        none if none.is_empty() => none,
        at => format!("{word} {at}"),
    };
    let (from, until) = (side("from", &key["not_before"]), side("until", &key["not_after"]));
    [from, until].into_iter().filter(|side| !side.is_empty()).collect::<Vec<_>>().join(" ")
}

fn validity(key: &Value) -> &'static str {
    if key["is_valid"] == true {
        return "valid";
    }
    // Both have the same format, in which times sort as text.
    let now = gancho_domain::Clock::now(&gancho_domain::SystemClock).to_string();
    if key["not_before"].as_str().is_some_and(|begin| begin > now.as_str()) {
        "not yet"
    } else {
        "expired"
    }
}

fn activity(source: &Value) -> &'static str {
    if source["is_active"] == true { "active" } else { "paused" }
}

fn preset(preset: &Value) -> String {
    match preset {
        Value::Object(members) => members.keys().next().cloned().unwrap_or_default(),
        other => text(other),
    }
}

fn targets(source: &Value) -> String {
    let targets = source["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
    targets.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn rate(rate: &Value) -> String {
    if rate.is_null() {
        return String::new();
    }
    format!("{} per {} and key", text(&rate["count"]), text(&rate["per"]))
}
