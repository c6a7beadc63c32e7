//! The fields that each kind of resource may declare, with the names of the API's fields, and how they are
//! compared.

use gancho_domain::{nearest, span};
use serde_json::{Map, Value, json};

use crate::commands::{Failure, input};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceType {
    Tenant,
    EventType,
    Endpoint,
    Source,
}

impl ResourceType {
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::EventType => "event type",
            Self::Endpoint => "endpoint",
            Self::Source => "source",
        }
    }

    /// Returns the field that identifies it.
    pub const fn identity(self) -> &'static str {
        match self {
            Self::Tenant => "slug",
            Self::EventType | Self::Endpoint => "name",
            Self::Source => "partner",
        }
    }

    /// Returns the fields that are compared and set, besides the identity.
    pub const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Tenant => &[
                "name",
                "plan",
                "default_profile",
                "publish_rate",
                "strict_event_types",
                "retention",
            ],
            Self::EventType => &["description", "example", "schema", "is_archived"],
            Self::Endpoint => &[
                "url",
                "events",
                "profile",
                "headers",
                "ordering",
                "rate_limit",
                "max_in_flight",
                "retry",
                "timeout",
                "metadata",
                "is_active",
            ],
            Self::Source => &[
                "preset",
                "targets",
                "event_id_pointer",
                "schema",
                "rate_limit",
                "retry",
                "is_active",
            ],
        }
    }

    /// Returns fields of the file that are not fields of the API.
    const fn others(self) -> &'static [&'static str] {
        match self {
            Self::Tenant => &["endpoints", "event_types"],
            Self::Endpoint => &["secret_env"],
            Self::EventType | Self::Source => &[],
        }
    }
}

/// Checks the names of a resource's fields.
pub fn check(kind: ResourceType, object: &Map<String, Value>, place: &str) -> anyhow::Result<()> {
    let known = || {
        let names = kind.fields().iter().chain(kind.others());
        names.copied().chain([kind.identity()])
    };
    for name in object.keys() {
        if known().any(|field| field == name) {
            continue;
        }
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", known().collect::<Vec<_>>().join(", ")),
        };
        return Err(Failure::usage(format!("{place}: unknown field `{name}`. hint: {hint}")));
    }
    Ok(())
}

/// Returns the value of a field in the form of the API. Rates may be written `100/s`.
pub fn normal(field: &str, value: &Value, place: &str) -> anyhow::Result<Value> {
    match (field, value) {
        ("rate_limit" | "publish_rate", Value::String(text)) => {
            let rate =
                input::rate(text).map_err(|error| Failure::usage(format!("{place}: {error}")))?;
            Ok(rate)
        }
        // A missing kind has the default: otherwise it would always differ.
        ("retention", Value::Object(kinds)) => {
            let mut all = kinds.clone();
            for kind in ["events", "emails", "dead_letters"] {
                all.entry(kind).or_insert(Value::Null);
            }
            Ok(Value::Object(all))
        }
        _ => Ok(value.clone()),
    }
}

/// The API shows this instead of a secret.
const MASK: &str = "••••";

/// Whether two values mean the same: durations may be written in several ways, and null means missing. A
/// secret cannot be compared, and counts as the same.
pub fn is_same(declared: &Value, current: &Value) -> bool {
    match (declared, current) {
        (Value::String(_), Value::String(b)) if b == MASK => true,
        (Value::String(a), Value::String(b)) => {
            a == b || span::parse(a).ok().is_some_and(|a| span::parse(b).ok() == Some(a))
        }
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys());
            names.into_iter().all(|name| {
                is_same(
                    &a.get(name).cloned().unwrap_or_default(),
                    &b.get(name).cloned().unwrap_or_default(),
                )
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

/// Returns a current value as a person writes it in a file: rates as `100/s`. `None` for a default.
pub fn written(field: &str, value: &Value) -> Option<Value> {
    match (field, value) {
        // The values of headers are secrets.
        (_, Value::Null)
        | ("headers", _)
        | ("is_archived" | "strict_event_types", Value::Bool(false))
        | ("is_active", Value::Bool(true)) => None,
        ("metadata", Value::Object(map)) if map.is_empty() => None,
        ("name" | "description", Value::String(text)) if text.is_empty() => None,
        ("ordering", Value::String(text)) if text == "best_effort" => None,
        ("rate_limit" | "publish_rate", rate) => Some(json!(crate::commands::table::rate(rate))),
        ("retention", Value::Object(kinds)) if kinds.values().all(Value::is_null) => None,
        ("retry" | "retention", Value::Object(parts)) => {
            let given = parts.iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(given.map(|(name, value)| (name.clone(), value.clone())).collect()))
        }
        (_, value) => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        for (a, b, is_equal) in [
            (json!({"count": 1, "per": "60s"}), json!({"count": 1, "per": "1m"}), true),
            (json!({"count": 1, "per": "60s"}), json!({"count": 2, "per": "1m"}), false),
            (json!({"schedule": ["5s"]}), json!({"schedule": ["5s"], "attempts": null}), true),
            (json!(null), json!(null), true),
            (json!(["a"]), json!(["a", "b"]), false),
            (json!(1), json!(1.0), true),
            (json!({"X-A": "new"}), json!({"X-A": MASK}), true),
            (json!({"X-A": "new"}), json!({"X-B": MASK}), false),
        ] {
            assert_eq!(is_same(&a, &b), is_equal, "{a} {b}");
        }
    }

    #[test]
    fn a_wrong_field_is_named() {
        let object = json!({"slug": "a", "plam": "pro"});
        let error =
            check(ResourceType::Tenant, object.as_object().unwrap(), "tenants[0]").unwrap_err();
        assert_eq!(
            error.to_string(),
            "tenants[0]: unknown field `plam`. hint: did you mean `plan`?"
        );
    }
}
