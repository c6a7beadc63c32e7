//! What went wrong between this program and the server, and what to do about it.

use std::{fmt, io, time::Duration};

use hyper::{StatusCode, header::RETRY_AFTER, http::response::Parts};
use serde_json::Value;

use super::ServerUrl;

#[derive(Debug)]
pub enum RemoteError {
    /// No connection could be made.
    Unreachable {
        server: String,
        why: UnreachableCause,
    },
    /// Another program answers at this address.
    NotGancho {
        server: String,
        status: StatusCode,
    },
    /// The key cannot be sent in a header.
    InvalidKey,
    Refused(Box<ApiError>),
    /// The outcome of the request is unknown.
    Interrupted(String),
}

/// Why a server could not be reached.
#[derive(Debug)]
pub enum UnreachableCause {
    Refused,
    UnknownHost,
    Timeout,
    /// The certificate's authority is not trusted.
    Untrusted,
    Tls(String),
    Other(String),
}

/// The server refused the request.
#[derive(Debug)]
pub struct ApiError {
    pub server: String,
    pub status: StatusCode,
    /// The stable word for it.
    pub code: String,
    pub detail: String,
    /// The position of each error in the request, and its text.
    pub errors: Vec<(String, String)>,
    pub retry_after: Option<Duration>,
    pub request_id: Option<String>,
}

impl RemoteError {
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether the key is not accepted, so that no other request is either.
    pub fn is_unauthorized(&self) -> bool {
        let is_401 = |error: &ApiError| error.status == StatusCode::UNAUTHORIZED;
        self.api_error().is_some_and(is_401)
    }

    pub fn api_error(&self) -> Option<&ApiError> {
        match self {
            Self::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the stable word for it.
    pub fn code(&self) -> &str {
        match self {
            Self::Unreachable {
                why: UnreachableCause::Untrusted | UnreachableCause::Tls(_),
                ..
            } => "tls_failed",
            Self::Unreachable { .. } => "unreachable",
            Self::NotGancho { .. } => "not_a_gancho_server",
            Self::InvalidKey => "invalid_credentials",
            Self::Refused(error) => &error.code,
            Self::Interrupted(_) => "interrupted",
        }
    }

    /// Whether the same request may succeed in a moment.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { why, .. } => {
                !matches!(why, UnreachableCause::Untrusted | UnreachableCause::Tls(_))
            }
            Self::Interrupted(_) => true,
            Self::Refused(error) => error.is_busy() || error.status.is_server_error(),
            Self::NotGancho { status, .. } => status.is_server_error(),
            Self::InvalidKey => false,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        self.api_error()?.retry_after
    }

    pub fn refused(server: &ServerUrl, head: &Parts, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        // The Svix-compatible routes list invalid fields without a code.
        let svix = list(&body["detail"]);
        let code = body["code"].as_str().or((!svix.is_empty()).then_some("invalid_field"));
        let Some(code) = code else {
            return Self::NotGancho { server: server.to_string(), status: head.status };
        };
        let place = |error: &Value| {
            let parts = list(&error["loc"]);
            parts.iter().skip(1).fold(String::new(), |at, part| at + "/" + &text(part))
        };
        let own = list(&body["errors"]);
        let own = own.iter().map(|error| (text(&error["pointer"]), text(&error["detail"])));
        let errors = own.chain(svix.iter().map(|error| (place(error), text(&error["msg"]))));
        let wait =
            head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        Self::Refused(Box::new(ApiError {
            server: server.to_string(),
            status: head.status,
            code: code.to_owned(),
            detail: body["detail"]
                .as_str()
                .or_else(|| svix.first()?["msg"].as_str())
                .unwrap_or("no reason given")
                .to_owned(),
            errors: errors.collect(),
            retry_after: wait.map(Duration::from_secs),
            request_id: body["request_id"].as_str().map(ToOwned::to_owned),
        }))
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreachable { why, server } => why.hint(server),
            Self::NotGancho { .. } => "check the URL; it is that of the API, such as https://gancho.example.com or http://127.0.0.1:3000".into(),
            Self::InvalidKey => "a key has letters, digits and `_` only; check that it was copied whole".into(),
            Self::Refused(error) => return error.hint(),
            Self::Interrupted(_) => "whether the server has done it is unknown; look before you repeat it".into(),
        })
    }
}

/// The commands that list what was not found, by what the server calls it.
const LISTS: [(&str, &str); 13] = [
    ("tenant", "tenants list"),
    ("API key", "api-keys list"),
    ("webhook", "endpoints list"),
    ("event", "events list"),
    ("event type", "event-types list"),
    ("delivery", "deliveries list"),
    ("dead letter", "dlq list"),
    ("replay", "replays list"),
    ("source", "sources list"),
    ("e-mail", "emails list"),
    ("user", "users list"),
    ("cell", "cells list"),
    ("lane", "queues list"),
];

impl ApiError {
    /// Whether the server has no room for the request now.
    pub fn is_busy(&self) -> bool {
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&self.status)
    }

    fn hint(&self) -> Option<String> {
        let hint = match self.code.as_str() {
            "unauthenticated" => {
                format!("run `gancho login --server {}`, or set GANCHO_API_KEY", self.server)
            }
            "invalid_credentials" => format!(
                "check the key and that it is one of {}; `gancho login --server {0}` stores another one",
                self.server
            ),
            "operator_only" => {
                "this key is a tenant's: pass the operator token with GANCHO_API_KEY, --key-file or `gancho login`; in the directory of the gateway, commands without a key find it".into()
            }
            "missing_scope" => {
                "use an API key with this scope; `gancho api-keys create --scope …` makes one"
                    .into()
            }
            "tenant_required" => {
                "name the tenant with --tenant or GANCHO_TENANT; `gancho tenants list` lists them"
                    .into()
            }
            "unknown_tenant" => "`gancho tenants list` lists the tenants".into(),
            "not_found" => {
                let what = self.detail.strip_prefix("no ")?.split(" with this").next()?;
                let (_, command) = LISTS.iter().find(|(noun, _)| *noun == what)?;
                format!("`gancho {command}` lists those that exist")
            }
            "wrong_host" => format!(
                "add the host of {} to `allowed_hosts` in the server's settings",
                self.server
            ),
            _ => match self.retry_after {
                Some(wait) => format!("try again in {} s", wait.as_secs()),
                None => return None,
            },
        };
        Some(hint)
    }
}

impl UnreachableCause {
    /// Converts a failed handshake. An authority that is not trusted is a separate error.
    pub fn of_tls(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match inner {
            Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
                Self::Untrusted
            }
            Some(rustls::Error::InvalidMessage(_)) => {
                Self::Tls("the server does not answer with TLS".to_owned())
            }
            Some(inner) => Self::Tls(inner.to_string()),
            None => Self::Tls(error.to_string()),
        }
    }

    fn hint(&self, server: &str) -> String {
        match self {
            Self::Refused | Self::Timeout | Self::Other(_) => {
                format!("check the address and that a gateway runs there: curl {server}/healthz")
            }
            Self::UnknownHost => "check the host name".into(),
            Self::Untrusted => {
                "name its certificate authority with --ca-file FILE or GANCHO_CA_FILE".into()
            }
            Self::Tls(_) => {
                "check that the server speaks HTTPS on this port; for plain HTTP, write http://"
                    .into()
            }
        }
    }
}

impl From<io::Error> for UnreachableCause {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl fmt::Display for UnreachableCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::UnknownHost => "the host name is unknown",
            Self::Timeout => "timed out",
            Self::Untrusted => "its certificate is not signed by a trusted authority",
            Self::Tls(why) | Self::Other(why) => why,
        })
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { server, why } => write!(f, "cannot reach {server}: {why}"),
            Self::NotGancho { server, status } => {
                write!(
                    f,
                    "{server} is not a Gancho API: it responded {status}, and not as Gancho does"
                )
            }
            Self::InvalidKey => f.write_str("the key contains invalid characters"),
            Self::Refused(error) => error.fmt(f),
            Self::Interrupted(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.status.is_server_error() {
            write!(f, "the gateway responded {}: ", self.status)?;
        }
        // Their details name headers.
        match self.code.as_str() {
            "unknown_tenant" => return f.write_str("no tenant with this slug or id exists"),
            "tenant_required" => return f.write_str("no tenant given"),
            _ => {}
        }
        match &self.errors[..] {
            [] => f.write_str(&self.detail),
            [(pointer, _)] if pointer.is_empty() => f.write_str(&self.detail),
            [(pointer, what)] if what.contains(&format!("`{}`", field(pointer))) => {
                f.write_str(what)
            }
            [(pointer, what)] => write!(f, "invalid {}: {what}", field(pointer)),
            // The detail is the first error; all of them are reported, each with its position.
            all => {
                write!(f, "{} errors in the request", all.len())?;
                all.iter().try_for_each(|(at, what)| write!(f, "\n  {}: {what}", field(at)))
            }
        }
    }
}

/// Returns the position in a request as a person reads it: `rate_limit.per` for `/rate_limit/per`.
fn field(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

impl std::error::Error for RemoteError {}

/// Returns the JSON of a successful response; null if it has no body.
pub fn json_of(server: &ServerUrl, head: &Parts, body: &[u8]) -> Result<Value, RemoteError> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    let not_gancho = |_| RemoteError::NotGancho { server: server.to_string(), status: head.status };
    serde_json::from_slice(body).map_err(not_gancho)
}
