//! Every field of every request: the wrong type, too much, and an unknown name. The cases are generated from
//! the documentation, so that a field that is not documented, or not checked as documented, fails here.
//! Fields that callers may not set are refused too.

use gancho_api::{
    input::field::ResourceKind,
    openapi,
    route::{Needs, Route},
    router::ROUTES,
};
use serde_json::{Map, Value, json};

use crate::{
    http::{Client, Reply},
    requests::{body, name, path, put, unknown},
    stage::Stage,
};

struct Table {
    stage: Stage,
    tenant: Client,
    webhook: String,
    document: Value,
}

impl Table {
    async fn new() -> Self {
        let stage = Stage::new().await;
        let hands = stage.tenant("m2").await;
        let webhook =
            hands.webhook("http://127.0.0.1:9999/").await["id"].as_str().unwrap().to_owned();
        let document = serde_json::from_str(&openapi::text()).unwrap();
        Self { tenant: hands.client, webhook, stage, document }
    }

    fn operation(&self, route: &Route) -> &Value {
        let method = route.method.as_str().to_lowercase();
        &self.document["paths"][format!("/v1{}", route.path)][method]
    }

    fn schema(&self, route: &Route) -> &Value {
        let schema = &self.operation(route)["requestBody"]["content"]["application/json"]["schema"];
        let pointer = schema["$ref"].as_str().map(|path| path.trim_start_matches('#'));
        pointer.map_or(schema, |pointer| self.document.pointer(pointer).unwrap())
    }

    async fn send(&self, route: &Route, body: &Value) -> Reply {
        self.call(route, "", Some(body)).await
    }

    async fn call(&self, route: &Route, query: &str, body: Option<&Value>) -> Reply {
        let client = match route.needs {
            Needs::Operator => self.stage.operator(),
            Needs::Person(_) => self.stage.operator().with("x-tenant", "m2"),
            _ => self.tenant.clone(),
        };
        let path = path(route, |_, noun| match noun {
            ResourceKind::Tenant => "m2".to_owned(),
            ResourceKind::Webhook => self.webhook.clone(),
            noun => unknown(noun),
        });
        client.call(route.method.as_str(), &format!("{path}{query}"), body).await
    }
}

/// Collects every property, with its path.
fn properties(schema: &Value, above: &[String], all: &mut Vec<(Vec<String>, Value)>) {
    let Some(members) = schema["properties"].as_object() else { return };
    for (name, property) in members {
        let here = [above, std::slice::from_ref(name)].concat();
        properties(property, &here, all);
        all.push((here, property.clone()));
    }
}

fn kind(schema: &Value) -> &str {
    let kinds = &schema["type"];
    kinds.as_str().or_else(|| kinds[0].as_str()).unwrap_or("any")
}

/// Returns values of every type but the property's.
fn of_other_types(schema: &Value) -> Vec<Value> {
    let all = [
        ("string", json!("text")),
        ("integer", json!(1)),
        ("boolean", json!(true)),
        ("array", json!([{"a": 1}])),
        ("object", json!({"unheard_of": 1})),
        ("null", json!(null)),
        ("number", json!(1.5)),
    ];
    let is_nullable = schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("null")));
    let own = kind(schema).to_owned();
    // An object that may contain anything accepts any object.
    all.into_iter()
        .filter(|(kind, _)| *kind != own && own != "any" && !(*kind == "null" && is_nullable))
        .map(|(_, value)| value)
        .collect()
}

/// Returns values of the right type beyond the limits.
fn too_much(schema: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let number = |name: &str| schema[name].as_f64();
    if let Some(most) = schema["maxLength"].as_u64() {
        all.push(json!("x".repeat(most as usize + 1)));
    }
    if let Some(least) = schema["minLength"].as_u64().filter(|least| *least > 0) {
        all.push(json!("x".repeat(least as usize - 1)));
    }
    if let Some(most) = number("maximum") {
        all.extend([json!(most as u64 + 1), json!(1e30), json!(u64::MAX)]);
    }
    if let Some(least) = number("minimum") {
        all.extend([json!(least as i64 - 1), json!(-1)]);
    }
    if let Some(most) = schema["maxItems"].as_u64() {
        let item = if kind(&schema["items"]) == "object" { json!({}) } else { json!("a.b") };
        all.push(Value::Array(vec![item; most as usize + 1]));
    }
    if let Some(most) = schema["maxProperties"].as_u64() {
        let members = (0..=most).map(|n| (format!("X-{n}"), json!("v")));
        all.push(Value::Object(members.collect()));
    }
    if schema["enum"].is_array() || schema["format"] == "date-time" || schema["pattern"].is_string()
    {
        all.extend([json!("no such"), json!("")]);
    }
    all
}

async fn expect_refused(table: &Table, route: &Route, way: &[String], value: Value) {
    let mut request = body(route).unwrap();
    let names: Vec<_> = way.iter().map(String::as_str).collect();
    let shown = value.to_string();
    put(&mut request, &names, value);
    let reply = table.send(route, &request).await;
    let what = format!("{} {way:?} {:.80}: {} {}", name(route), shown, reply.status, reply.text());
    assert_eq!(reply.status, 422, "{what}");
    let pointer = format!("/{}", way.join("/"));
    assert!(reply.pointers().iter().any(|at| at.starts_with(&pointer)), "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_types_and_too_much() {
    let table = Table::new().await;
    let mut fields = 0;
    for route in ROUTES.iter().filter(|route| !route.takes.fields().is_empty()) {
        let mut all = Vec::new();
        properties(table.schema(route), &[], &mut all);
        assert!(all.len() >= route.takes.fields().len(), "{} is documented in full", name(route));
        for (way, schema) in all {
            fields += 1;
            for value in of_other_types(&schema).into_iter().chain(too_much(&schema)) {
                expect_refused(&table, route, &way, value).await;
            }
        }
    }
    assert!(fields > 70, "{fields} fields were looked at");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_not_known() {
    let table = Table::new().await;
    for route in ROUTES {
        let reply = table.call(route, "?unheard_of=1", body(route).as_ref()).await;
        reply.refused(422, "unknown_field");
        let Some(request) = body(route) else { continue };
        for extra in [
            "unheard_of",
            "tenant_id",
            "id",
            "created_at",
            "role",
            "version",
            "updated_at",
            "scope",
        ] {
            if table.schema(route)["properties"][extra].is_object() {
                continue;
            }
            let mut request = request.clone();
            put(&mut request, &[extra], json!("x"));
            let reply = table.send(route, &request).await.refused(422, "unknown_field");
            assert_eq!(reply.pointers(), [format!("/{extra}")], "{}", name(route));
        }
        let mut all = Vec::new();
        properties(table.schema(route), &[], &mut all);
        for (way, _) in all.iter().filter(|(way, _)| way.len() == 1) {
            let wrong = format!("{}x", way[0]);
            let mut request = request.clone();
            put(&mut request, &[&wrong], json!("x"));
            let text = table.send(route, &request).await.refused(422, "unknown_field").text();
            assert!(
                text.contains(&format!("did you mean `{}`?", way[0])),
                "{} {text}",
                name(route)
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_are_missing() {
    let table = Table::new().await;
    for route in ROUTES {
        for required in route.takes.fields().iter().filter(|field| field.is_required) {
            let mut request = body(route).unwrap();
            request.as_object_mut().unwrap().remove(required.name);
            let reply = table.send(route, &request).await.refused(422, "missing_field");
            assert_eq!(reply.pointers(), [format!("/{}", required.name)]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_after_the_question_mark() {
    let table = Table::new().await;
    for route in ROUTES {
        for parameter in
            table.operation(route)["parameters"].as_array().cloned().unwrap_or_default()
        {
            if parameter["in"] != "query" {
                continue;
            }
            let field = parameter["name"].as_str().unwrap();
            let schema = &parameter["schema"];
            let mut values = vec!["%00".to_owned()];
            if let Some(most) = schema["maxLength"].as_u64() {
                values.extend(["x".repeat(most as usize + 1), String::new()]);
            }
            if kind(schema) != "string"
                || schema["enum"].is_array()
                || schema["format"] == "date-time"
            {
                values.extend(["x y", "-1", "0x1", "1e9"].map(ToOwned::to_owned));
            }
            for value in values {
                if field == "cursor" && value.is_empty() {
                    continue;
                }
                let query = format!("?{field}={}", value.replace(' ', "+"));
                let reply = table.call(route, &query, body(route).as_ref()).await;
                let refused = [400, 404, 422].contains(&reply.status);
                assert!(refused, "{} {query:.80} {}", name(route), reply.text());
            }
            let twice = format!("?{field}=1&{field}=1");
            let reply = table.call(route, &twice, body(route).as_ref()).await;
            assert!([400, 404, 422].contains(&reply.status), "{} {twice}", name(route));
        }
    }
}

#[test]
fn maps_are_not_mistaken_for_objects() {
    let mut all = Vec::new();
    properties(&json!({"type": "object", "additionalProperties": {}}), &[], &mut all);
    assert!(all.is_empty());
    let _ = Map::<String, Value>::new();
}

/// Callers write the end of the year 9999 for "never".
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_time_is_a_time() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    for list in ["audit", "deliveries", "events", "dlq"] {
        for until in ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999Z", "9999-12-30T12:00:00Z"]
        {
            operator.get(&format!("/v1/{list}?until={until}")).await.is(200);
        }
        for until in ["9999", "9999-12-31", "9999-12-31T23:59:59", "9999-13-31T23:59:59Z"] {
            let refused = operator.get(&format!("/v1/{list}?until={until}")).await.is(422);
            assert!(refused.text().contains("RFC 3339"), "{}", refused.text());
        }
    }
}
