//! Sample values for the reference: made from schemas, and written in the notation of each language.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// Deeper objects are left out.
const MAX_DEPTH: usize = 6;

/// Resolves references within an OpenAPI document.
pub struct Samples<'a> {
    schemas: &'a Value,
}

impl<'a> Samples<'a> {
    pub fn of(document: &'a Value) -> Self {
        Self { schemas: &document["components"]["schemas"] }
    }

    pub fn resolve(&self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.map_or(schema, |name| &self.schemas[name])
    }

    /// A value as a response has it, with every field.
    pub fn response(&self, schema: &'a Value) -> Value {
        self.value("", schema, true, 0)
    }

    /// A body as a caller would begin with: what is required, or else the first field.
    pub fn body(&self, schema: &'a Value) -> Value {
        let whole = self.value("", schema, false, 0);
        if whole.as_object().is_some_and(Map::is_empty) {
            let first = schema["properties"].as_object().and_then(|fields| fields.iter().next());
            if let Some((name, field)) = first {
                return json!({ name: self.value(name, field, false, 1) });
            }
        }
        whole
    }

    fn value(&self, name: &str, schema: &'a Value, is_whole: bool, depth: usize) -> Value {
        let schema = self.resolve(schema);
        if let Some(example) = schema.get("example") {
            return example.clone();
        }
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.value(name, part, is_whole, depth));
            let fields = parts.filter_map(|part| part.as_object().cloned()).flatten();
            return Value::Object(fields.collect());
        }
        for alternatives in ["oneOf", "anyOf"] {
            let all = schema[alternatives].as_array().into_iter().flatten();
            if let Some(first) = all.into_iter().find(|one| one["type"] != "null") {
                return self.value(name, first, is_whole, depth);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, is_whole, depth),
            "array" if depth < MAX_DEPTH => {
                json!([self.value(name, &schema["items"], is_whole, depth + 1)])
            }
            "array" => json!([]),
            "integer" => json!(schema["minimum"].as_i64().unwrap_or(1).max(1)),
            "number" => json!(1.0),
            "boolean" => json!(true),
            "string" => text(name, schema).into(),
            // Any JSON value.
            _ => json!({ "id": "inv_1" }),
        }
    }

    fn object(&self, schema: &'a Value, is_whole: bool, depth: usize) -> Value {
        let Some(fields) = schema["properties"].as_object().filter(|_| depth < MAX_DEPTH) else {
            return json!({});
        };
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_shown = |name: &str| {
            is_whole || required.iter().any(|required| required.as_str() == Some(name))
        };
        let shown = fields.iter().filter(|(name, _)| is_shown(name));
        let shown =
            shown.map(|(name, field)| (name.clone(), self.value(name, field, is_whole, depth + 1)));
        Value::Object(shown.collect())
    }
}

/// The type of a schema, without `null`.
pub fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        kind => kind.as_str().unwrap_or_default(),
    }
}

fn text(name: &str, schema: &Value) -> &'static str {
    match (schema["format"].as_str(), name) {
        (Some("date-time"), _) => "2026-01-15T09:30:00.000Z",
        (Some("uri"), _) | (_, "url" | "target_url") => "https://example.com/hooks",
        (_, "type" | "event_type" | "events") => "invoice.paid",
        (_, "tenant" | "slug") => "acme",
        (_, "partner") => "stripe",
        (_, "from") => "shop@example.com",
        (_, "to" | "email" | "address") => "ana@example.com",
        (_, "subject") => "order_1",
        (_, "next_cursor") => "eyJ…",
        (_, "role") => "support",
        _ => "…",
    }
}

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
