//! Generates the OpenAPI document from the table of routes: parameters and bodies from their fields, errors
//! from what the route needs and accepts.

pub(crate) mod examples;
mod field_schema;

use std::collections::BTreeMap;

use http::{Method, StatusCode};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Paths, Ref,
    RefOr, Required, Response, ResponseBuilder, Schema,
    header::HeaderBuilder,
    path::{HttpMethod, Operation, OperationBuilder},
    request_body::{RequestBody, RequestBodyBuilder},
    schema::{AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, SchemaType, Type},
    security::{
        ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
    },
    server::{ServerBuilder, ServerVariableBuilder},
    tag::TagBuilder,
};

use crate::{
    codes::Code,
    input::field::{MAX_ID_LENGTH, MAX_IDEMPOTENCY_KEY},
    operations::ROUTES,
    problem,
    route::{Needs, Route, Takes},
};

const TAGS: &[(&str, &str)] = &[
    ("Events", "Publish events and look them up."),
    ("E-mails", "Send e-mails and look up their status."),
    ("Suppressions", "Addresses that no e-mail is sent to."),
    ("Webhooks", "The endpoints that events are delivered to."),
    ("Event types", "The catalog of events that can be published."),
    ("Deliveries", "The delivery log, with every attempt."),
    ("Replays", "Jobs that send past deliveries or events again."),
    ("Dead letters", "Deliveries that failed permanently, with the reason."),
    (
        "Sources",
        "Partners that send webhooks to the gateway, their keys and receipts. Operator only.",
    ),
    ("Ledger", "The tamper-evident record of received webhooks. Operator only."),
    ("Search", "Find anything by its id or name."),
    (
        "Statistics",
        "Deliveries over time: counts and latency percentiles of the gateway, a tenant or a webhook.",
    ),
    ("Nodes", "The processes of this gateway. Operator only."),
    ("Cells", "The databases of a gateway that has several. Operator only."),
    ("Queues", "Backlog per lane; pausing and resuming lanes. Operator only."),
    ("Keys", "The keys that encrypt stored secrets. Operator only."),
    ("Tenants", "Tenants, their API keys and portal links. Operator only."),
    ("Users", "People who log in to the dashboard, and their roles. Operator only."),
    ("Audit log", "Who changed what, or tried to."),
    ("Alerts", "Conditions of the gateway that need a person, and silences."),
];

const ABOUT: &str = "Gancho delivers events to webhooks: signed, retried, and never lost once accepted.\n\n\
Every path works with and without the prefix `/v1`. Timestamps are RFC 3339 in UTC with milliseconds. \
Lists have the form `{\"data\": […], \"next_cursor\": …}`. A page scans a limited number of rows, so it may have \
fewer items than `limit`, even none: continue until `next_cursor` is null.\n\n\
Errors are `application/problem+json` (RFC 9457), with a stable `code`, a `detail` that says what is wrong and how to \
fix it, and in `errors` the JSON pointer of each invalid field.\n\n\
Tenants authenticate with an API key (`X-API-Key` or `Authorization: Bearer`). The operator authenticates with the \
operator token (`Authorization: Bearer`), and acts for a tenant with `X-Tenant: <slug or id>`.";

pub fn document() -> OpenApi {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    let mut paths = Paths::new();
    for route in ROUTES {
        let operation = operation(route, &mut sent, &mut received);
        paths.add_path_operation(
            format!("/v1{}", route.path),
            vec![method(&route.method)],
            operation,
        );
    }
    for (_, schema) in &mut received {
        require_nullable(schema);
    }
    let mut components = Components::new();
    components.schemas.extend(sent.into_iter().chain(received).collect::<BTreeMap<_, _>>());
    components.schemas.insert("Problem".to_owned(), problem_schema());
    components.add_security_scheme(
        "api_key",
        SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-API-Key"))),
    );
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Gancho")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(ABOUT))
                .license(Some(
                    LicenseBuilder::new()
                        .name("MIT OR Apache-2.0")
                        .identifier(Some("MIT OR Apache-2.0"))
                        .build(),
                ))
                .build(),
        )
        .servers(Some([
            ServerBuilder::new().url("/").description(Some("This gateway")).build(),
            ServerBuilder::new()
                .url("https://{host}")
                .description(Some("Another gateway"))
                .parameter(
                    "host",
                    ServerVariableBuilder::new()
                        .default_value("gancho.example.com")
                        .description(Some("Host name of its API")),
                )
                .build(),
        ]))
        .tags(Some(
            TAGS.iter().map(|(name, about)| {
                TagBuilder::new().name(*name).description(Some(*about)).build()
            }),
        ))
        .paths(paths)
        .components(Some(components))
        .build()
}

/// Returns the document as it is served and checked in.
pub fn text() -> String {
    let mut document = serde_json::to_value(document()).unwrap_or_default();
    examples::add(&mut document);
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn method(method: &Method) -> HttpMethod {
    match *method {
        Method::POST => HttpMethod::Post,
        Method::PUT => HttpMethod::Put,
        Method::PATCH => HttpMethod::Patch,
        Method::DELETE => HttpMethod::Delete,
        _ => HttpMethod::Get,
    }
}

/// Schemas by name.
type Schemas = Vec<(String, RefOr<Schema>)>;

/// `sent` are the schemas of what callers send, `received` those of what they get.
fn operation(route: &Route, sent: &mut Schemas, received: &mut Schemas) -> Operation {
    let mut builder = OperationBuilder::new()
        .tag(route.tag)
        .summary(Some(route.summary))
        .operation_id(Some(route.operation_id))
        .description(Some(description(route)))
        .request_body(request_body(route, sent));
    for (name, noun) in route.path_fields() {
        builder = builder.parameter(field_schema::in_path(name, noun));
    }
    if !matches!(route.needs, Needs::Operator) {
        builder = builder.parameter(field_schema::in_header(
            "X-Tenant",
            "Slug or id of the tenant that the operator acts for. Not needed with an API key.",
            MAX_ID_LENGTH,
        ));
    }
    if route.takes_idempotency_key {
        builder = builder.parameter(field_schema::in_header(
            "Idempotency-Key",
            "Makes a repetition safe: the same key within 24 hours has the effect of one call.",
            MAX_IDEMPOTENCY_KEY,
        ));
    }
    for field in route.query {
        builder = builder.parameter(field_schema::in_query(field));
    }
    for scheme in ["api_key", "bearer"] {
        // The operator token and those of portal links are bearer tokens.
        if scheme == "bearer" || !matches!(route.needs, Needs::Operator | Needs::Person(_)) {
            builder = builder.security(SecurityRequirement::new(scheme, [] as [&str; 0]));
        }
    }
    builder = builder.response(route.gives.status.as_str(), success(route, received));
    for (status, codes) in by_status(route) {
        builder = builder.response(status.as_str(), refusal(status, &codes));
    }
    builder.build()
}

fn description(route: &Route) -> String {
    let needs = match route.needs {
        Needs::Operator => "Operator only.".to_owned(),
        Needs::Tenant(right) => format!("Required scope: `{right}`."),
        Needs::Person(right) => {
            format!(
                "Required: a portal link with the scope `{right}`, or the operator token with `X-Tenant`."
            )
        }
        Needs::Anyone(right) => {
            format!(
                "Required scope: `{right}`. The operator token works on all tenants, or with `X-Tenant` on one."
            )
        }
    };
    if route.about.is_empty() { needs } else { format!("{}\n\n{needs}", route.about) }
}

fn request_body(route: &Route, schemas: &mut Schemas) -> Option<RequestBody> {
    let required = match route.takes {
        Takes::Nothing => return None,
        Takes::Maybe(_) => Required::False,
        Takes::Body(_) | Takes::Batch(_) | Takes::Large(_) => Required::True,
    };
    let name = request_name(route.operation_id);
    let mut body = field_schema::object(route.takes.fields());
    body.description = Some(format!("The body of `{}`: {}.", route.operation_id, route.summary));
    schemas.push((name.clone(), Schema::Object(body).into()));
    field_schema::parts(route.takes.fields(), schemas);
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(name))).build();
    let builder = RequestBodyBuilder::new().required(Some(required));
    Some(builder.content("application/json", content).build())
}

/// Returns the name of a body's schema: that of `publishEvent` is `PublishEventRequest`.
fn request_name(operation_id: &str) -> String {
    let (first, rest) = operation_id.split_at_checked(1).unwrap_or_default();
    format!("{}{rest}Request", first.to_ascii_uppercase())
}

fn success(route: &Route, schemas: &mut Schemas) -> Response {
    let builder = ResponseBuilder::new().description(route.gives.about);
    match route.gives.schema {
        Some(schema) => {
            let content = ContentBuilder::new().schema(Some(schema(schemas))).build();
            builder.content(route.gives.media_type, content).build()
        }
        None => builder.build(),
    }
}

/// Says of the fields of responses that may be null that they are always sent. Those that may be absent are not null.
fn require_nullable(schema: &mut RefOr<Schema>) {
    match schema {
        RefOr::T(Schema::Object(object)) => {
            let nullable = object.properties.iter().filter(|(_, field)| is_nullable(field));
            let names = nullable.map(|(name, _)| name.clone());
            let names: Vec<_> = names.filter(|name| !object.required.contains(name)).collect();
            object.required.extend(names);
        }
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().for_each(require_nullable),
        _ => {}
    }
}

fn is_nullable(field: &RefOr<Schema>) -> bool {
    match field {
        RefOr::T(Schema::Object(object)) => match &object.schema_type {
            SchemaType::Type(kind) => *kind == Type::Null,
            SchemaType::Array(kinds) => kinds.contains(&Type::Null),
            SchemaType::AnyValue => false,
        },
        RefOr::T(Schema::Array(array)) => match &array.schema_type {
            SchemaType::Array(kinds) => kinds.contains(&Type::Null),
            SchemaType::Type(_) | SchemaType::AnyValue => false,
        },
        RefOr::T(Schema::OneOf(choices)) => choices.items.iter().any(is_nullable),
        _ => false,
    }
}

fn by_status(route: &Route) -> BTreeMap<StatusCode, Vec<&'static Code>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for code in route.all_refusals() {
        all.entry(code.status).or_default().push(code);
    }
    all
}

fn refusal(status: StatusCode, codes: &[&Code]) -> Response {
    let lines: Vec<_> =
        codes.iter().map(|code| format!("`{}`: {}", code.code, code.title)).collect();
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let mut builder =
        ResponseBuilder::new().description(lines.join("; ")).content(problem::MEDIA_TYPE, content);
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let header = HeaderBuilder::new()
            .schema(Some(Object::with_type(Type::Integer)))
            .description(Some("Seconds to wait before retrying."))
            .build();
        builder = builder.header("Retry-After", header);
    }
    builder.build()
}

fn problem_schema() -> RefOr<Schema> {
    let text =
        |about: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(about));
    ObjectBuilder::new()
        .description(Some("An error, in the format of RFC 9457."))
        .property("type", text("Path of the page about the error code."))
        .property("title", text("Short description of the error code."))
        .property(
            "status",
            ObjectBuilder::new()
                .schema_type(Type::Integer)
                .description(Some("HTTP status of the response.")),
        )
        .property("detail", text("What is wrong, and how to fix it."))
        .property("code", text("Stable, machine-readable error code."))
        .property(
            "errors",
            ArrayBuilder::new()
                .items(Ref::from_schema_name("InvalidField"))
                .description(Some("One entry for each invalid field; empty for other errors.")),
        )
        .property(
            "request_id",
            ObjectBuilder::new()
                .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
                .description(Some("Id of the request, to report to the operator.")),
        )
        .required("type")
        .required("title")
        .required("status")
        .required("detail")
        .required("code")
        .required("errors")
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
        .into()
}
