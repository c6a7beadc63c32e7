//! A request for every route, made from the table, for the tests over all routes. An unknown route fails the
//! tests, so that no new one is forgotten.

use gancho_api::{
    input::{Field, FieldKind, field::ResourceKind},
    route::Route,
    router::ROUTES,
};
use http::Method;
use serde_json::{Map, Value, json};

use crate::http::{Client, Reply};

/// Returns a valid body for the route, with ids that name nothing.
#[allow(clippy::match_same_arms, reason = "a line for each route")]
pub fn body(route: &Route) -> Option<Value> {
    let body = match (&route.method, route.path) {
        (&Method::POST, "/events") => json!({"type": "a.b", "data": {}}),
        (&Method::POST, "/events/batch") => json!({"events": [{"type": "a.b", "data": {}}]}),
        (&Method::POST, "/webhooks") | (&Method::PUT, "/webhooks/{id}") => {
            json!({"url": "http://127.0.0.1:9999/hook", "events": ["*"]})
        }
        (&Method::PATCH, "/webhooks/{id}") => json!({"name": "changed"}),
        (&Method::POST, "/webhooks/{id}/rotate-secret" | "/webhooks/{id}/test") => json!({}),
        (&Method::POST, "/webhooks/test") => json!({"webhook_id": unknown(ResourceKind::Webhook)}),
        (&Method::POST, "/webhooks/events") => json!({"name": "own.type"}),
        (&Method::PUT, "/webhooks/events/{event_type}") => json!({}),
        (&Method::POST, "/email/send") => json!({
            "from": "shop@example.com",
            "to": "nobody@example.com",
            "subject": "Hello",
            "text": "Hello",
        }),
        (&Method::POST, "/erasures") => json!({"event_id": unknown(ResourceKind::Event)}),
        (&Method::POST, "/suppressions") => json!({"address": "nobody@example.com"}),
        (&Method::POST, "/suppressions/import") => json!({"addresses": ["nobody@example.com"]}),
        (&Method::POST, "/replays" | "/dlq/replay") => json!({"dry_run": true}),
        (&Method::POST, "/dlq/{letter_id}/replay") => json!({}),
        (&Method::POST, "/dlq/import") => json!({"letters": [{}]}),
        (
            &Method::POST,
            "/webhooks/{id}/pause" | "/tenants/{tenant}/pause" | "/queues/{lane}/pause",
        ) => json!({"reason": "maintenance"}),
        (&Method::POST, "/deliveries/{delivery_id}/check-signature") => {
            json!({"headers": "webhook-signature: v1,none"})
        }
        (&Method::POST, "/tenants") => json!({"slug": "made-by-a-matrix"}),
        (&Method::PATCH, "/tenants/{tenant}") => json!({}),
        (&Method::POST, "/tenants/{tenant}/api-keys" | "/api-keys") => json!({}),
        (&Method::PUT, "/tenants/{tenant}/notice-emails") => {
            json!({"addresses": ["nobody@example.com"]})
        }
        (&Method::PUT, "/tenants/{tenant}/metadata") => json!({"metadata": {"size": "large"}}),
        (&Method::POST, "/alerts/silences") => json!({"rule": "node_lost", "duration": "1h"}),
        (&Method::POST, "/portal-links") => json!({"tenant": "nobody"}),
        (&Method::POST, "/keys/rotate") => json!({}),
        (&Method::POST, "/sources") => json!({"partner": "made-by-a-matrix"}),
        (&Method::PATCH, "/sources/{partner}") => json!({}),
        (&Method::PUT, "/sources/{partner}/keys/{partner_key}") => {
            json!({"scheme": "hmac", "secret": "a secret of some length"})
        }
        (&Method::POST, "/sources/{partner}/receipts/retry") => {
            json!({"all": true, "dry_run": true})
        }
        (&Method::POST, "/users") => json!({
            "name": "made-by-a-matrix",
            "role": "support",
            "password": "correct horse battery",
        }),
        (&Method::PATCH, "/users/{user}") => json!({}),
        (&Method::POST, "/cells") => json!({"name": "b", "url": "postgres://127.0.0.1:1/none"}),
        (&Method::PATCH, "/cells/{cell}") => json!({"is_draining": true}),
        (&Method::POST, "/tenants/{tenant}/move") => json!({"cell": "b"}),
        (&Method::POST, "/me/password") => json!({
            "current_password": "correct horse battery",
            "password": "another horse battery",
        }),
        (&Method::POST, "/source-keys/import") => json!({"entries": {}}),
        _ => {
            assert!(route.takes.fields().is_empty(), "no body is known for {}", name(route));
            return None;
        }
    };
    Some(body)
}

pub fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

/// Returns a valid name or id that names nothing.
pub fn unknown(noun: ResourceKind) -> String {
    match noun.prefix() {
        Some(prefix) => format!("{prefix}_01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        None => "nobody".to_owned(),
    }
}

/// Returns the path with its parameters.
pub fn path(route: &Route, part: impl Fn(&str, ResourceKind) -> String) -> String {
    let mut path = format!("/v1{}", route.path);
    for (name, noun) in route.path_fields() {
        path = path.replace(&format!("{{{name}}}"), &part(name, noun));
    }
    path
}

/// Calls a route with ids that name nothing.
pub async fn call(client: &Client, route: &Route) -> Reply {
    let path = path(route, |_, noun| unknown(noun));
    client.call(route.method.as_str(), &path, body(route).as_ref()).await
}

/// The place of an id in a request: in its path, in its query, or in its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Path(&'static str),
    Query(&'static str),
    /// The path through the objects of the body.
    Body(Vec<&'static str>),
}

pub fn places(route: &Route) -> Vec<(Place, ResourceKind)> {
    let mut all: Vec<_> =
        route.path_fields().map(|(name, noun)| (Place::Path(name), noun)).collect();
    for field in route.query {
        if let FieldKind::Id(noun) = field.kind {
            all.push((Place::Query(field.name), noun));
        }
    }
    in_body(route.takes.fields(), &[], &mut all);
    all
}

fn in_body(fields: &[Field], above: &[&'static str], all: &mut Vec<(Place, ResourceKind)>) {
    for field in fields {
        let here = [above, &[field.name]].concat();
        match field.kind {
            FieldKind::Id(noun) => all.push((Place::Body(here), noun)),
            FieldKind::Object { fields, .. } => in_body(fields, &here, all),
            _ => {}
        }
    }
}

/// Calls the route with one id in one place, and unknown ones everywhere else.
pub async fn call_with(client: &Client, route: &Route, place: &Place, id: &str) -> Reply {
    let mut path = path(route, |name, noun| match place {
        Place::Path(at) if *at == name => id.to_owned(),
        _ => unknown(noun),
    });
    if let Place::Query(name) = place {
        path.extend(["?", name, "=", id]);
    }
    let mut body = body(route);
    if let (Place::Body(names), Some(body)) = (place, &mut body) {
        put(body, names, json!(id));
    }
    client.call(route.method.as_str(), &path, body.as_ref()).await
}

pub fn put(body: &mut Value, names: &[&str], value: Value) {
    let (last, above) = names.split_last().unwrap();
    let mut at = body;
    for name in above {
        let members = at.as_object_mut().unwrap();
        at = members.entry((*name).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    }
    at.as_object_mut().unwrap().insert((*last).to_owned(), value);
}

#[test]
fn every_route_has_a_request() {
    for route in ROUTES {
        let _ = body(route);
    }
}
