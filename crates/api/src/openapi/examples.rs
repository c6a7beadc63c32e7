//! Generates an example of each body and each response from its schema.

use serde_json::{Map, Value, json};

use crate::input::field::ResourceKind;

/// Maximum depth of objects in an example.
const MAX_DEPTH: usize = 6;
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ULID: &str = "01KA4ZQ3N8V5T7W2X6Y9B1C4DE";

/// Optional fields that a caller of the operation usually sends.
const SHOWN: &[(&str, &[&str])] = &[
    ("CreateApiKeyRequest", &["name", "scopes"]),
    ("CreateTenantApiKeyRequest", &["name", "scopes"]),
    ("CreateSourceRequest", &["preset"]),
    ("PutSourceKeyRequest", &["secret"]),
    ("ReplayDeadLettersRequest", &["code", "since"]),
    ("SendEmailRequest", &["text"]),
    ("UpdateSourceRequest", &["rate_limit"]),
    ("UpdateTenantRequest", &["publish_rate"]),
    ("UpdateUserRequest", &["role"]),
];

/// Adds an example to each body and successful response of an OpenAPI document.
pub fn add(document: &mut Value) {
    let known = document.clone();
    let samples = Samples { schemas: &known["components"]["schemas"] };
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.filter_map(|(_, path)| path.as_object_mut()).flatten();
    for (_, operation) in operations {
        let body = operation.pointer_mut("/requestBody/content/application~1json");
        if let Some(body) = body {
            body["example"] = samples.body(&body["schema"]);
        }
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            if let Some(content) = response.pointer_mut("/content/application~1json") {
                content["example"] = samples.response(&content["schema"]);
            }
        }
    }
}

/// Returns an id or a name in a path.
pub fn of_noun(noun: ResourceKind) -> String {
    if let Some(prefix) = noun.prefix() {
        return format!("{prefix}_{ULID}");
    }
    let name = match noun {
        ResourceKind::Source => "stripe",
        ResourceKind::EventType => "invoice.paid",
        ResourceKind::Lane => "webhook",
        ResourceKind::Suppression => "ana@example.com",
        ResourceKind::User => "ana",
        ResourceKind::Cell => "b",
        ResourceKind::SourceKey => "k1",
        ResourceKind::Code => "HTTP_503",
        _ => "acme",
    };
    name.to_owned()
}

/// Returns the schema that a reference points to.
pub fn resolve<'a>(schemas: &'a Value, schema: &'a Value) -> &'a Value {
    component(schema).map_or(schema, |name| &schemas[name])
}

fn component(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
}

/// Returns the type of a schema, without `null`.
pub fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default()
        }
        kind => kind.as_str().unwrap_or_default(),
    }
}

struct Samples<'a> {
    schemas: &'a Value,
}

/// The place of a value.
#[derive(Clone, Copy)]
struct ExamplePosition<'a> {
    /// The component that it is part of.
    component: &'a str,
    field: &'a str,
    /// Whether optional fields are included.
    is_whole: bool,
    depth: usize,
}

impl<'a> ExamplePosition<'a> {
    const fn start(is_whole: bool) -> Self {
        Self { component: "", field: "", is_whole, depth: 0 }
    }

    const fn below(self, field: &'a str) -> Self {
        Self { field, depth: self.depth + 1, ..self }
    }
}

impl Samples<'_> {
    /// Returns a value as a response has it, with every field.
    fn response(&self, schema: &Value) -> Value {
        self.value(schema, ExamplePosition::start(true))
    }

    /// Returns a body as a new caller would write it: the required fields, or else the first field that is
    /// not for paging.
    fn body(&self, schema: &Value) -> Value {
        let whole = self.value(schema, ExamplePosition::start(false));
        if whole.as_object().is_some_and(Map::is_empty) {
            let fields = resolve(self.schemas, schema)["properties"].as_object();
            let first = fields.and_then(|all| all.iter().find(|(name, _)| *name != "cursor"));
            if let Some((name, field)) = first {
                return json!({ name: self.value(field, ExamplePosition::start(false).below(name)) });
            }
        }
        whole
    }

    fn value<'b>(&'b self, schema: &'b Value, place: ExamplePosition<'b>) -> Value {
        let place = match component(schema) {
            Some(component) => ExamplePosition { component, ..place },
            None => place,
        };
        let schema = resolve(self.schemas, schema);
        if let Some(example) = schema["examples"].as_array().and_then(|all| all.first()) {
            return example.clone();
        }
        if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let parts = parts.iter().map(|part| self.value(part, place));
            let fields = parts.filter_map(|part| part.as_object().cloned()).flatten();
            return Value::Object(fields.collect());
        }
        for alternatives in ["oneOf", "anyOf"] {
            let mut all = schema[alternatives].as_array().into_iter().flatten();
            if let Some(first) = all.find(|one| one["type"] != "null") {
                return self.value(first, place);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, place),
            "array" if place.depth < MAX_DEPTH => {
                json!([self.value(&schema["items"], place.below(place.field))])
            }
            "array" => json!([]),
            "integer" => integer(schema, place.field).into(),
            "number" => json!(0.5),
            "boolean" => json!(true),
            "string" => text(schema, place).into(),
            _ if place.field == "entries" => {
                json!({ "webhook:partner:stripe:key:k1": { "scheme": "hmac", "secret": SECRET } })
            }
            _ if place.field == "preset" => json!("stripe"),
            // Any JSON value.
            _ => json!({ "invoice": "inv_1", "amount": 4200 }),
        }
    }

    fn object(&self, schema: &Value, place: ExamplePosition) -> Value {
        let Some(fields) = schema["properties"].as_object().filter(|_| place.depth < MAX_DEPTH)
        else {
            return json!({});
        };
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_shown = |name: &str| {
            place.is_whole
                || required.iter().any(|required| required.as_str() == Some(name))
                || SHOWN.iter().any(|(of, shown)| *of == place.component && shown.contains(&name))
        };
        let shown = fields.iter().filter(|(name, _)| is_shown(name));
        let shown = shown.map(|(name, field)| (name.clone(), self.value(field, place.below(name))));
        Value::Object(shown.collect())
    }
}

fn integer(schema: &Value, field: &str) -> i64 {
    let usual = match field {
        "status" | "response_status" => 200,
        name if name.ends_with("_ms") => 42,
        _ => 1,
    };
    schema["minimum"].as_f64().map_or(usual, |minimum| usual.max(minimum as i64))
}

fn text(schema: &Value, place: ExamplePosition) -> String {
    let id = |prefix: &str| format!("{prefix}_{ULID}");
    let pattern = schema["pattern"].as_str().and_then(|pattern| pattern.strip_prefix('^'));
    if let Some(prefix) = pattern.and_then(|pattern| pattern.strip_suffix('_')) {
        return id(prefix);
    }
    let fixed = match (schema["format"].as_str(), place.field) {
        (Some("date-time"), "expires_at" | "deliver_at" | "until") => "2099-01-15T09:30:00.000Z",
        (Some("date-time"), _) => "2026-01-15T09:30:00.000Z",
        (Some("uri"), _) | (_, "url" | "target_url") => "https://example.com/hooks",
        (_, "id") => return prefix_of(place.component).map_or_else(|| ULID.to_owned(), id),
        (_, "tenant_id") => return id("ten"),
        (_, "webhook_id" | "endpoint_id") => return id("wh"),
        (_, "event_id") => return id("evt"),
        (_, "delivery_id") => return id("dlv"),
        (_, "receipt_id") => return id("rcp"),
        (_, "outbox_id") => return id("out"),
        (_, "replay_id") => return id("rpl"),
        (_, "type" | "event_type" | "events") => "invoice.paid",
        (_, "name") if place.component.contains("ApiKey") => "billing",
        (_, "name") if place.component.contains("User") => "ana",
        (_, "name") if place.component.contains("EventType") => "invoice.paid",
        (_, "tenant" | "slug" | "name") => "acme",
        (_, "text") => "Your invoice is paid.",
        (_, "partner") => "stripe",
        (_, "from") => "shop@example.com",
        (
            _,
            "to" | "email" | "email_address" | "address" | "addresses" | "emails" | "recipient",
        ) => "ana@example.com",
        (_, "subject") if place.component == "SendEmailRequest" => "Your invoice",
        (_, "subject" | "external_id") => "order_1",
        (_, "next_cursor") => "eyJhIjoxfQ",
        (_, "profile" | "default_profile") => "standard",
        (_, "scopes") => "publish",
        (_, "per") => "1s",
        (_, "code") if place.component == "ReplayDeadLettersRequest" => "HTTP_503",
        (_, "description") => "An invoice was paid",
        (_, "headers") if place.component == "CheckDeliverySignatureRequest" => {
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
        }
        (_, "reason") if place.component.starts_with("Pause") => "moving their servers",
        (_, "secret") => SECRET,
        (_, "password" | "current_password") => "correct horse battery staple",
        _ => "text",
    };
    fixed.to_owned()
}

/// Returns the prefix of the ids of a component.
fn prefix_of(component: &str) -> Option<&'static str> {
    Some(match component {
        "AlertSilence" => "sil",
        "ApiKey" | "NewApiKey" => "key",
        "DeadLetter"
        | "Delivery"
        | "DeliveryDetail"
        | "ReceiptDelivery"
        | "ReceiptDeliveryDetail" => "dlv",
        "BatchResult" | "Event" | "EventSummary" | "PublishedEvent" => "evt",
        "Email" | "EmailSummary" | "AcceptedEmail" => "out",
        "Receipt" | "ReceiptDetail" | "ReceiptSummary" => "rcp",
        "ReplayJob" => "rpl",
        "Tenant" => "ten",
        "NewWebhook" | "Webhook" | "WebhookStats" => "wh",
        _ => return None,
    })
}
