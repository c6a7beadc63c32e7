//! Sample values in the notation of each language.

use std::fmt::Write;

use serde_json::Value;

/// As JSON, indented by this many spaces after the first line.
pub fn to_json(value: &Value, indent: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// As a Python literal.
pub fn to_python(value: &Value, indent: usize) -> String {
    let inner = " ".repeat(indent + 4);
    let mut text = String::new();
    match value {
        Value::Null => text.push_str("None"),
        Value::Bool(true) => text.push_str("True"),
        Value::Bool(false) => text.push_str("False"),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| to_python(item, indent)).collect();
            let _ = write!(text, "[{}]", items.join(", "));
        }
        Value::Object(fields) if fields.is_empty() => text.push_str("{}"),
        Value::Object(fields) => {
            text.push_str("{\n");
            for (name, field) in fields {
                let _ = writeln!(text, "{inner}\"{name}\": {},", to_python(field, indent + 4));
            }
            let _ = write!(text, "{}}}", " ".repeat(indent));
        }
        value => text.push_str(&value.to_string()),
    }
    text
}
