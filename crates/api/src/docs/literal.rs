//! Sample values.

use serde_json::Value;

/// Formats a value as JSON, indented by this many spaces after the first line.
pub fn to_json(value: &Value, indent: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", " ".repeat(indent)))
}
