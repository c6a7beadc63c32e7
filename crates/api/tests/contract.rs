//! Each successful answer that a test gets has the fields that the OpenAPI document requires.

use std::sync::LazyLock;

use gancho_api::{openapi, router::ROUTES};
use serde_json::Value;

use crate::http::Reply;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::to_value(openapi::document()).unwrap());

/// Checks an answer, if it is one of the API.
pub fn check(method: &str, path: &str, reply: &Reply) {
    let is_json = reply.header("content-type") == Some("application/json");
    let Some(route) = route(method, path).filter(|_| is_json) else { return };
    // Data of events may have numbers that are read nowhere.
    let Ok(body) = serde_json::from_slice(&reply.body) else { return };
    let status = reply.status.to_string();
    let answers = &DOCUMENT["paths"][format!("/v1{route}")][method.to_lowercase()]["responses"];
    let schema = &answers[status]["content"]["application/json"]["schema"];
    check_value(schema, &body, &format!("{method} {route}"));
}

/// Returns the path of the operation, as the document has it.
fn route(method: &str, path: &str) -> Option<&'static str> {
    let path = path.split('?').next()?.strip_prefix("/v1")?;
    let fits = |pattern: &str| {
        let (mut parts, mut names) = (path.split('/'), pattern.split('/'));
        let is_same = |(part, name): (&str, &str)| part == name || name.starts_with('{');
        parts.by_ref().zip(names.by_ref()).all(is_same)
            && path.split('/').count() == pattern.split('/').count()
    };
    let routes = ROUTES.iter().filter(|route| route.method == method && fits(route.path));
    // A word comes before a parameter in its place.
    routes.map(|route| route.path).min_by_key(|path| path.matches('{').count())
}

fn check_value(schema: &Value, value: &Value, at: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = DOCUMENT.pointer(reference.trim_start_matches('#')).expect(reference);
        return check_value(target, value, at);
    }
    let parts = |kind: &str| schema[kind].as_array().into_iter().flatten();
    for part in parts("allOf") {
        check_value(part, value, at);
    }
    match value {
        Value::Object(members) => {
            for name in parts("required").filter_map(Value::as_str) {
                assert!(members.contains_key(name), "{at} has no `{name}`: {value}");
            }
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                if let Some(member) = members.get(name) {
                    check_value(field, member, &format!("{at} {name}"));
                }
            }
            let choices: Vec<_> = parts("oneOf").filter(|one| one["type"] != "null").collect();
            if let [only] = choices[..] {
                check_value(only, value, at);
            }
        }
        Value::Array(items) => {
            for item in items {
                check_value(&schema["items"], item, at);
            }
        }
        Value::Null => {
            let is_named = |kind: &Value| kind == "null";
            let is_nullable = schema["type"].as_array().is_some_and(|all| all.iter().any(is_named))
                || is_named(&schema["type"])
                || parts("oneOf").any(|one| is_named(&one["type"]))
                || schema.as_object().is_none_or(|schema| {
                    !["type", "oneOf", "allOf"].iter().any(|kind| schema.contains_key(*kind))
                });
            assert!(is_nullable, "{at} is null");
        }
        _ => {}
    }
}
