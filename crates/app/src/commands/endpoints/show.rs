//! Prints endpoints.

use serde_json::Value;

use crate::commands::table::{self, Facts, Table, cell, flexible, millis, state, text, when};

pub fn endpoints(rows: &[Value]) -> Table {
    let has_tenants = rows.iter().any(|row| row["tenant"].is_string());
    let heads: &'static [&'static str] = if has_tenants {
        &["id", "tenant", "state", "url", "events"]
    } else {
        &["id", "state", "url", "events"]
    };
    let mut shown = Table::new(heads);
    for row in rows {
        let mut cells = vec![cell(text(&row["id"]))];
        if has_tenants {
            cells.push(cell(text(&row["tenant"])));
        }
        cells.extend([state(activity(row)), flexible(text(&row["url"])), flexible(events(row))]);
        shown.row(cells);
    }
    shown
}

/// Returns the word that says most about an endpoint.
fn activity(endpoint: &Value) -> &'static str {
    match endpoint["health"]["state"].as_str() {
        _ if endpoint["is_active"] == false => "disabled",
        _ if endpoint["is_paused"] == true => "paused",
        Some("failing") => "failing",
        Some("slow") => "slow",
        _ => "active",
    }
}

fn events(endpoint: &Value) -> String {
    let events = endpoint["events"].as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().map(text).collect::<Vec<_>>().join(", ")
}

pub fn endpoint(endpoint: &Value) -> Facts {
    let health = &endpoint["health"];
    let number = |name: &str| health[name].as_u64().unwrap_or(0);
    let more = if health["has_backlog"] == true { " and more in the store" } else { "" };
    let breaker = match health["circuit_breaker"].as_str() {
        None | Some("closed") => String::new(),
        Some(state) => {
            format!("{} until {}", state.replace('_', " "), when(&health["circuit_open_until"]))
        }
    };
    let headers = endpoint["headers"].as_object().into_iter().flatten();
    let headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", text(value))).collect();
    let mut facts = Facts::default();
    facts
        .add("id", text(&endpoint["id"]))
        .add("name", text(&endpoint["name"]))
        .add("url", text(&endpoint["url"]))
        .add("state", activity(endpoint))
        .add("disabled because", text(&endpoint["disabled_reason"]))
        .add("failing since", when(&endpoint["failing_since"]))
        .add("circuit breaker", breaker)
        .add("events", events(endpoint))
        .add("wire format", text(&endpoint["profile"]))
        .add("headers", headers.join(", "))
        .add("ordering", text(&endpoint["ordering"]))
        .add("rate limit", table::rate(&endpoint["rate_limit"]))
        .add("max in flight", text(&endpoint["max_in_flight"]))
        .add("timeout", text(&endpoint["timeout"]))
        .add(
            "retry",
            if endpoint["retry"].is_null() { String::new() } else { endpoint["retry"].to_string() },
        )
        .add(
            "backlog",
            format!("{} in flight, {} waiting{more}", number("in_flight"), number("waiting")),
        )
        .add("created", when(&endpoint["created_at"]))
        .add("changed", when(&endpoint["updated_at"]));
    facts
}

pub fn test(outcome: &Value) -> Facts {
    let mut facts = Facts::default();
    facts
        .add("event", text(&outcome["event_id"]))
        .add("type", text(&outcome["event_type"]))
        .add("delivery", text(&outcome["delivery_id"]))
        .add("status", text(&outcome["status"]))
        .add("response", text(&outcome["response_status"]))
        .add("latency", millis(&outcome["latency_ms"]))
        .add("body", text(&outcome["response_body"]));
    facts
}
