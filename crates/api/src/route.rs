//! A route, as data: who may call it, what it accepts, what it returns and which errors it has. The router,
//! the checks before a call and the documentation use the same entry.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
pub use gancho_access::Needs;
use gancho_access::{Operator, Principal, TenantPrincipal};
use gancho_domain::TenantId;
use gancho_outbound::Owner;
use http::{HeaderMap, Method, StatusCode};
use utoipa::{
    ToSchema,
    openapi::{Ref, RefOr, Schema},
};

use crate::{
    answer::Answer,
    codes::{self, Code},
    input::{Field, Request, Values, body, field::ResourceKind, query},
    problem::Problem,
    state::Api,
};

/// Names and values of path parameters.
pub type PathParts = Vec<(Box<str>, Box<str>)>;

pub struct Route {
    pub method: Method,
    /// The path without `/v1`; the route works with and without it.
    pub path: &'static str,
    /// The name of the operation in clients, such as `publishEvent`, in the audit log and in the policies.
    pub operation_id: &'static str,
    pub needs: Needs,
    pub query: &'static [Field],
    pub takes: Takes,
    /// Whether the header `Idempotency-Key` is honored.
    pub takes_idempotency_key: bool,
    pub gives: Gives,
    /// Error codes in addition to those that follow from the other fields.
    pub refuses: &'static [&'static Code],
    /// The tag in the documentation.
    pub tag: &'static str,
    pub summary: &'static str,
    pub about: &'static str,
    /// How long it may run before it responds.
    pub timeout: Duration,
    pub run: fn(Call) -> BoxFuture<'static, Result<Answer, Problem>>,
}

/// For operations that wait only for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);
/// For operations that wait for other servers: an endpoint may take 60 s to respond.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(70);

#[derive(Debug, Clone, Copy)]
pub enum Takes {
    Nothing,
    Body(&'static [Field]),
    /// An optional body.
    Maybe(&'static [Field]),
    /// A body with many items, with a higher size limit.
    Batch(&'static [Field]),
    /// A body with files, with the highest size limit.
    Large(&'static [Field]),
}

impl Takes {
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Self::Nothing => &[],
            Self::Body(fields)
            | Self::Maybe(fields)
            | Self::Batch(fields)
            | Self::Large(fields) => fields,
        }
    }
}

/// The successful response.
#[derive(Clone, Copy)]
pub struct Gives {
    pub status: StatusCode,
    pub about: &'static str,
    pub media_type: &'static str,
    pub schema: Option<SchemaOf>,
}

/// Adds the schemas that a response uses, and returns a reference to it.
pub type SchemaOf = fn(&mut Vec<(String, RefOr<Schema>)>) -> RefOr<Schema>;

impl Gives {
    pub const fn json<T: ToSchema>(status: StatusCode, about: &'static str) -> Self {
        Self { status, about, media_type: "application/json", schema: Some(schema_of::<T>) }
    }

    pub const fn ok<T: ToSchema>(about: &'static str) -> Self {
        Self::json::<T>(StatusCode::OK, about)
    }

    pub const fn created<T: ToSchema>(about: &'static str) -> Self {
        Self::json::<T>(StatusCode::CREATED, about)
    }

    pub const fn accepted<T: ToSchema>(about: &'static str) -> Self {
        Self::json::<T>(StatusCode::ACCEPTED, about)
    }

    pub const fn no_content(about: &'static str) -> Self {
        Self { status: StatusCode::NO_CONTENT, about, media_type: "", schema: None }
    }
}

fn schema_of<T: ToSchema>(all: &mut Vec<(String, RefOr<Schema>)>) -> RefOr<Schema> {
    T::schemas(all);
    let name = T::name().into_owned();
    all.push((name.clone(), T::schema()));
    RefOr::Ref(Ref::from_schema_name(name))
}

impl Route {
    /// The defaults of a route.
    pub const DEFAULT: Self = Self {
        method: Method::GET,
        path: "",
        operation_id: "",
        needs: Needs::Operator,
        query: &[],
        takes: Takes::Nothing,
        takes_idempotency_key: false,
        gives: Gives::no_content(""),
        refuses: &[],
        tag: "",
        summary: "",
        about: "",
        timeout: STORE_TIMEOUT,
        run: |_| Box::pin(std::future::ready(Err(Problem::internal("route without a handler")))),
    };

    /// Returns the path parameters, with the nouns that they name.
    pub fn path_fields(&self) -> impl Iterator<Item = (&'static str, ResourceKind)> {
        let names = self
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')));
        names.map(|name| (name, noun(name)))
    }

    /// Returns all error codes that a caller may see, each once, ordered by status.
    pub fn all_refusals(&self) -> Vec<&'static Code> {
        let mut all = vec![
            &codes::BAD_REQUEST,
            &codes::UNAUTHENTICATED,
            &codes::INVALID_CREDENTIALS,
            &codes::WRONG_HOST,
            &codes::RATE_LIMITED,
            &codes::INTERNAL,
            &codes::UNAVAILABLE,
            &codes::TENANT_MOVING,
        ];
        // Every operation rejects unknown parameters, even if it has none.
        all.extend([&codes::UNKNOWN_FIELD, &codes::INVALID_FIELD]);
        match self.needs {
            // A tenant in `X-Tenant` must exist, although it is not needed.
            Needs::Operator => all.extend([&codes::OPERATOR_ONLY, &codes::UNKNOWN_TENANT]),
            Needs::Tenant(_) => all.extend([
                &codes::TENANT_REQUIRED,
                &codes::UNKNOWN_TENANT,
                &codes::MISSING_SCOPE,
                &codes::OPERATOR_ONLY,
            ]),
            Needs::Person(_) => all.extend([
                &codes::TENANT_REQUIRED,
                &codes::UNKNOWN_TENANT,
                &codes::MISSING_SCOPE,
                &codes::OPERATOR_ONLY,
                &codes::NOT_FOR_API_KEYS,
            ]),
            Needs::Anyone(_) => {
                all.extend([&codes::UNKNOWN_TENANT, &codes::MISSING_SCOPE, &codes::OPERATOR_ONLY]);
            }
        }
        if self.path_fields().next().is_some() {
            all.push(&codes::NOT_FOUND);
        }
        if self.query.iter().any(|field| field.name == query::CURSOR) {
            all.push(&codes::BAD_CURSOR);
        }
        if !matches!(self.takes, Takes::Nothing) {
            all.extend([
                &codes::BAD_JSON,
                &codes::SLOW_BODY,
                &codes::TOO_LARGE,
                &codes::UNSUPPORTED_MEDIA_TYPE,
            ]);
        }
        if self.takes.fields().iter().any(|field| field.is_required) {
            all.push(&codes::MISSING_FIELD);
        }
        all.extend(self.refuses);
        codes::ALL.iter().copied().filter(|code| all.contains(code)).collect()
    }
}

fn noun(name: &str) -> ResourceKind {
    match name {
        "tenant" => ResourceKind::Tenant,
        "key_id" => ResourceKind::ApiKey,
        "id" => ResourceKind::Webhook,
        "delivery_id" => ResourceKind::Delivery,
        "event_id" => ResourceKind::Event,
        "letter_id" => ResourceKind::DeadLetter,
        "replay_id" => ResourceKind::Replay,
        "event_type" => ResourceKind::EventType,
        "lane" => ResourceKind::Lane,
        "outbox_id" => ResourceKind::Email,
        "address" => ResourceKind::Suppression,
        "partner" => ResourceKind::Source,
        "partner_key" => ResourceKind::SourceKey,
        "receipt_id" => ResourceKind::Receipt,
        "user" => ResourceKind::User,
        "silence_id" => ResourceKind::Silence,
        "cell" => ResourceKind::Cell,
        _ => ResourceKind::Code,
    }
}

/// An authorized request.
pub struct Call {
    pub api: Api,
    pub route: &'static Route,
    pub principal: Principal,
    /// Path parameters by name.
    pub path: Vec<(Box<str>, Box<str>)>,
    pub parameters: Values<'static>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    /// Returns the tenant that the call works on. Routes that need one are not reached without it.
    pub fn tenant(&self) -> Result<&TenantPrincipal, Problem> {
        match &self.principal {
            Principal::Tenant(principal) => Ok(principal),
            Principal::Operator(_) => Err(Problem::new(
                &codes::TENANT_REQUIRED,
                "this operation works on one tenant; send `X-Tenant: <slug or id>`",
            )),
        }
    }

    /// Returns the owner of the objects: the tenant, or the operator for all tenants.
    pub fn owner(&self) -> Owner {
        match &self.principal {
            Principal::Tenant(principal) => Owner::Tenant(principal.scope()),
            Principal::Operator(_) => Owner::Operator,
        }
    }

    /// Returns the tenant whose own limits apply; `None` for the operator, who may act for a tenant.
    pub fn limited_tenant(&self) -> Option<TenantId> {
        self.principal.limited_tenant()
    }

    pub fn operator(&self) -> Result<&Operator, Problem> {
        match &self.principal {
            Principal::Operator(operator) => Ok(operator),
            Principal::Tenant(_) => Err(Problem::new(
                &codes::OPERATOR_ONLY,
                "only the operator can do this; use the operator token",
            )),
        }
    }

    pub fn path_param(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| **known == *name).map_or("", |(_, value)| value)
    }

    /// Parses an id in the path. A malformed id gets the same response as one that does not exist.
    pub fn id<T: std::str::FromStr>(&self, name: &str) -> Result<T, Problem> {
        self.path_param(name).parse().map_err(|_| Problem::not_found(noun(name)))
    }

    /// Parses the query parameters into the type whose fields the route declares.
    pub fn parse_query<R: Request<'static>>(&self) -> Result<R, Problem> {
        debug_assert!(is_same(R::FIELDS, self.route.query), "{}", self.route.path);
        let mut slots = self.parameters.clone().into_slots();
        R::from_slots(&mut slots)
            .ok_or_else(|| Problem::internal("a query does not match its type"))
    }

    /// Parses the body into the type whose fields the route declares. An optional body may be empty.
    pub fn parse_body<'a, R: Request<'a>>(&'a self) -> Result<R, Problem> {
        debug_assert!(is_same(R::FIELDS, self.route.takes.fields()), "{}", self.route.path);
        let is_left_out = matches!(self.route.takes, Takes::Maybe(_)) && self.body.is_empty();
        Ok(body::parse(if is_left_out { b"{}" } else { &self.body })?)
    }
}

/// Whether a request is parsed by the fields that its route documents.
fn is_same(parsed: &[Field], documented: &[Field]) -> bool {
    parsed.iter().map(|field| field.name).eq(documented.iter().map(|field| field.name))
}
