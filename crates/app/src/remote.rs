//! The client of a gateway's API, local or remote: HTTP/1.1 over TCP or TLS, with reused connections. It
//! connects only to the server that the user names: customers' URLs are for the client of `egress`.
//!
//! In reading order: `server` is the address, `connection` opens connections, `error` says what went wrong
//! and what to do, `stream` reads responses piece by piece, `events` reads those without an end.

mod connection;
mod error;
mod events;
mod server;
mod stream;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, Response,
    body::Incoming,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT},
    http::response::Parts,
};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

pub use connection::TrustedRoots;
pub use error::{ApiError, RemoteError, UnreachableCause};
pub use gancho_domain::path_segment as part;
pub use server::ServerUrl;

use crate::settings::Secret;
use connection::{Connection, Connections};

#[derive(Clone)]
pub struct Remote {
    server: Arc<ServerUrl>,
    connections: Arc<Connections>,
    token: Option<Secret>,
    /// The tenant that the operator acts for.
    tenant: Option<HeaderValue>,
}

/// Long, because re-encrypting all secrets may take a while.
const TO_ANSWER: Duration = Duration::from_secs(3_600);
const MAX_SIZE: usize = 32 << 20;
const IDEMPOTENCY_KEY: &str = "idempotency-key";
const AGENT: &str = concat!("gancho-cli/", env!("CARGO_PKG_VERSION"));

impl Remote {
    pub fn new(server: ServerUrl, token: Option<Secret>, trust: &TrustedRoots) -> Self {
        let connections = Arc::new(Connections::new(&server, trust));
        Self { server: Arc::new(server), connections, token, tenant: None }
    }

    /// Returns a client of the gateway that listens there. An address for all interfaces includes this
    /// machine's own.
    pub fn at(listen: SocketAddr, token: Secret) -> Self {
        Self::new(ServerUrl::at(listen), Some(token), &TrustedRoots::default())
    }

    /// Returns a client of a listener that gets no token, such as the one for partners.
    pub fn open_to_all(listen: SocketAddr) -> Self {
        Self::new(ServerUrl::at(listen), None, &TrustedRoots::default())
    }

    /// Returns the same client, acting for a tenant.
    pub fn acting_for(self, tenant: &str) -> anyhow::Result<Self> {
        let Ok(tenant) = HeaderValue::from_str(tenant) else {
            anyhow::bail!("invalid tenant name. hint: use the tenant's slug or id");
        };
        Ok(Self { tenant: Some(tenant), ..self })
    }

    pub fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// Whether it acts for a tenant.
    pub fn is_acting(&self) -> bool {
        self.tenant.is_some()
    }

    /// Whether the credential is a tenant's API key rather than the operator's token.
    pub fn has_api_key(&self) -> bool {
        self.token.as_ref().is_some_and(|token| token.reveal().starts_with("gk_"))
    }

    pub async fn get(&self, path: &str) -> Result<Value, RemoteError> {
        self.call(Method::GET, path, None, None).await
    }

    /// Returns the body of a response unchanged.
    pub async fn get_bytes(&self, path: &str) -> Result<Bytes, RemoteError> {
        let request = self.request(Method::GET, path, None, None)?;
        let (head, body) = self.exchange(request).await?;
        if head.status.is_success() {
            return Ok(body);
        }
        Err(RemoteError::refused(&self.server, &head, &body))
    }

    /// Posts to a server that is not a gateway. Returns the status of its answer.
    pub async fn forward(
        &self,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<u16, RemoteError> {
        let mut request = self.request(Method::POST, path, Some(body), None)?;
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(self.exchange(request).await?.0.status.as_u16())
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::POST, path, Some(text(body)?), None).await
    }

    /// Posts JSON text. The key makes it safe to send it again.
    pub async fn post_once(
        &self,
        path: &str,
        body: Bytes,
        key: Option<&str>,
    ) -> Result<Value, RemoteError> {
        self.call(Method::POST, path, Some(body), key).await
    }

    pub async fn put(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::PUT, path, Some(text(body)?), None).await
    }

    pub async fn patch(&self, path: &str, body: &impl Serialize) -> Result<Value, RemoteError> {
        self.call(Method::PATCH, path, Some(text(body)?), None).await
    }

    pub async fn delete(&self, path: &str) -> Result<Value, RemoteError> {
        self.call(Method::DELETE, path, None, None).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        key: Option<&str>,
    ) -> Result<Value, RemoteError> {
        let request = self.request(method, path, body, key)?;
        let (head, body) = self.exchange(request).await?;
        if head.status.is_success() {
            return error::json_of(&self.server, &head, &body);
        }
        Err(RemoteError::refused(&self.server, &head, &body))
    }

    /// Sends a request and reads the whole response.
    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<(Parts, Bytes), RemoteError> {
        let answered = async {
            let (response, connection) = self.send(request).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_SIZE).collect().await;
            let body = body.map_err(|error| self.interrupted(&error))?.to_bytes();
            self.connections.give_back(connection);
            Ok((head, body))
        };
        let late = || RemoteError::Interrupted(format!("{} did not answer in time", self.server));
        timeout(TO_ANSWER, answered).await.map_err(|_| late())?
    }

    /// Sends a request, on an idle connection if there is one. A connection that the server has closed
    /// meanwhile is replaced, as long as nothing of the request was sent.
    async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, Connection), RemoteError> {
        while let Some(mut used) = self.connections.take() {
            match used.sender.try_send_request(request).await {
                Ok(response) => return Ok((response, used)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(self.interrupted(error.error())),
                },
            }
        }
        let mut new = self.connections.open(&self.server).await?;
        let response = new.sender.send_request(request).await;
        Ok((response.map_err(|error| self.interrupted(&error))?, new))
    }

    fn interrupted(&self, error: &dyn std::fmt::Display) -> RemoteError {
        RemoteError::Interrupted(format!("the connection to {} broke: {error}", self.server))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        key: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, RemoteError> {
        let mut request = Request::builder()
            .method(method)
            .uri(self.server.path(path))
            .header(HOST, self.server.authority())
            .header(USER_AGENT, AGENT);
        if let Some(token) = &self.token {
            let bearer = HeaderValue::try_from(format!("Bearer {}", token.reveal()));
            let mut bearer = bearer.map_err(|_| RemoteError::InvalidKey)?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        if let Some(tenant) = &self.tenant {
            request = request.header("x-tenant", tenant);
        }
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        request.map_err(|error| RemoteError::Interrupted(error.to_string()))
    }
}

fn text(body: &impl Serialize) -> Result<Bytes, RemoteError> {
    let text = serde_json::to_vec(body);
    text.map(Bytes::from).map_err(|error| RemoteError::Interrupted(error.to_string()))
}
