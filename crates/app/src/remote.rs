//! Talking to a gateway that runs, as the operator. It reaches the addresses of the settings and no
//! other: customers' URLs are for the client of `outbound`.

mod events;

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use data_encoding::HEXUPPER;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, StatusCode,
    client::conn::http1::{self, SendRequest},
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue},
};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::Value;
use tokio::{net::TcpStream, time::timeout};

use crate::settings::Secret;

type ClientConnection = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

#[derive(Clone)]
pub struct Remote {
    address: SocketAddr,
    token: Option<Secret>,
    /// For whom the operator acts.
    tenant: Option<HeaderValue>,
}

#[derive(Debug)]
pub enum RemoteError {
    /// Nobody listens there.
    Unreachable(String),
    /// The server refused the request.
    Refused {
        status: StatusCode,
        /// The stable word for it, where there is one.
        code: String,
        detail: String,
        /// Where in what was sent, and what is wrong there.
        errors: Vec<(String, String)>,
    },
    Broken(String),
}

const TO_CONNECT: Duration = Duration::from_secs(3);
/// Re-encrypting all secrets may take a while.
const TO_ANSWER: Duration = Duration::from_secs(3_600);
const MAX_SIZE: usize = 32 << 20;

impl RemoteError {
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    /// The stable word of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// The server has no room for the request now.
    pub fn is_busy(&self) -> bool {
        let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        matches!(self, Self::Refused { status, .. } if busy.contains(status))
    }

    fn refused(status: StatusCode, body: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let errors = body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        Self::Refused {
            status,
            code: text(&body["code"]),
            detail: body["detail"].as_str().unwrap_or("no reason given").to_owned(),
            errors: errors
                .iter()
                .map(|error| (text(&error["pointer"]), text(&error["detail"])))
                .collect(),
        }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "cannot reach the gateway: {why}"),
            Self::Refused { status, detail, errors, .. } => {
                write!(f, "the gateway responded {status}: ")?;
                match &errors[..] {
                    [] => f.write_str(detail),
                    [(pointer, _)] if pointer.is_empty() => f.write_str(detail),
                    // The detail is the first of them: all are told, each with its place.
                    all => {
                        let count = if all.len() == 1 { "" } else { "s" };
                        write!(f, "{} error{count} in the request", all.len())?;
                        all.iter().try_for_each(|(at, what)| write!(f, "\n  {at}  {what}"))
                    }
                }
            }
            Self::Broken(why) => write!(f, "the response was interrupted: {why}"),
        }
    }
}

impl std::error::Error for RemoteError {}

impl Remote {
    /// The gateway that listens there. On all addresses means on this machine's own too.
    pub fn at(listen: SocketAddr, token: Secret) -> Self {
        Self { token: Some(token), ..Self::open_to_all(listen) }
    }

    /// A listener that is told no token, such as the one for partners.
    pub fn open_to_all(listen: SocketAddr) -> Self {
        let ip = match listen.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        Self { address: SocketAddr::new(ip, listen.port()), token: None, tenant: None }
    }

    /// The same, acting for a tenant.
    pub fn acting_for(self, tenant: &str) -> anyhow::Result<Self> {
        let Ok(tenant) = HeaderValue::from_str(tenant) else {
            anyhow::bail!("invalid tenant name. hint: use the tenant's slug or id");
        };
        Ok(Self { tenant: Some(tenant), ..self })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub async fn get(&self, path: &str) -> Result<Value, RemoteError> {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::POST, path, Some(text(body)?)).await
    }

    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::PUT, path, Some(text(body)?)).await
    }

    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::PATCH, path, Some(text(body)?)).await
    }

    pub async fn delete(&self, path: &str) -> Result<(), RemoteError> {
        self.call(Method::DELETE, path, None).await.map(drop)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Value, RemoteError> {
        let (mut sender, connection) = self.connect().await?;
        let request = self.request(method, path, body)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(|error| broken(&error))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_SIZE).collect().await;
            Ok((status, body.map_err(|error| broken(&error))?.to_bytes()))
        };
        // The connection moves only while it is polled, and ends with the exchange.
        tokio::pin!(connection);
        let answered = async {
            tokio::pin!(exchange);
            tokio::select! {
                done = &mut exchange => done,
                _ = &mut connection => exchange.await,
            }
        };
        let (status, body) = timeout(TO_ANSWER, answered)
            .await
            .map_err(|_| RemoteError::Broken("timed out".to_owned()))??;
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() { Ok(value) } else { Err(RemoteError::refused(status, &value)) }
    }

    async fn connect(&self) -> Result<(SendRequest<Full<Bytes>>, ClientConnection), RemoteError> {
        let stream = match timeout(TO_CONNECT, TcpStream::connect(self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(RemoteError::Unreachable(error.to_string())),
            Err(_) => return Err(RemoteError::Unreachable("timed out".to_owned())),
        };
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Request<Full<Bytes>>, RemoteError> {
        let mut request =
            Request::builder().method(method).uri(path).header(HOST, self.address.to_string());
        if let Some(token) = &self.token {
            let mut bearer =
                HeaderValue::try_from(format!("Bearer {}", token.reveal())).map_err(|_| {
                    RemoteError::Broken("the admin token contains invalid characters".to_owned())
                })?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        if let Some(tenant) = &self.tenant {
            request = request.header("x-tenant", tenant);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|error| RemoteError::Broken(error.to_string()))
    }
}

fn broken(error: &dyn fmt::Display) -> RemoteError {
    RemoteError::Broken(error.to_string())
}

fn text(body: &impl Serialize) -> Result<Bytes, RemoteError> {
    let text = serde_json::to_vec(body);
    text.map(Bytes::from).map_err(|error| RemoteError::Broken(error.to_string()))
}

/// One part of a path, so that nothing in it is taken for more than that.
pub fn part(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.extend(["%", &HEXUPPER.encode(&[byte])]);
        }
    }
    path
}
