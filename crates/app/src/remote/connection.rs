//! Connections to the server: TCP, and TLS over it if the URL says so. Idle ones are reused.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gancho_egress::tls::client_config;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;
use url::Host;

use super::{RemoteError, ServerUrl, UnreachableCause};

const TO_CONNECT: Duration = Duration::from_secs(5);

/// Certificate authorities to trust in addition to the system's.
#[derive(Debug, Clone, Default)]
pub struct TrustedRoots(pub Vec<CertificateDer<'static>>);

pub struct Connection {
    pub sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes, and ends with the connection.
    _driver: AbortOnDropHandle<()>,
}

pub struct Connections {
    idle: Mutex<Vec<Connection>>,
    /// `None` for plain HTTP.
    tls: Option<Result<Arc<ClientConfig>, rustls::Error>>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connections {
    pub fn new(server: &ServerUrl, trust: &TrustedRoots) -> Self {
        let tls = server.is_tls.then(|| client_config(&trust.0).map(Arc::new));
        Self { idle: Mutex::default(), tls }
    }

    /// Returns an idle connection.
    pub fn take(&self) -> Option<Connection> {
        self.idle.lock().pop()
    }

    /// Takes back a connection whose response was read to its end.
    pub fn give_back(&self, connection: Connection) {
        if !connection.sender.is_closed() {
            self.idle.lock().push(connection);
        }
    }

    pub async fn open(&self, server: &ServerUrl) -> Result<Connection, RemoteError> {
        let failed =
            |why: UnreachableCause| RemoteError::Unreachable { server: server.to_string(), why };
        let opened = timeout(TO_CONNECT, self.stream(server)).await;
        let stream = opened.unwrap_or(Err(UnreachableCause::Timeout)).map_err(failed)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(UnreachableCause::Other(error.to_string())))?;
        let driver = tokio::spawn(async move { drop(driver.await) });
        Ok(Connection { sender, _driver: AbortOnDropHandle::new(driver) })
    }

    async fn stream(&self, server: &ServerUrl) -> Result<Box<dyn Stream>, UnreachableCause> {
        let port = server.port;
        let stream = match &server.host {
            Host::Ipv4(ip) => TcpStream::connect((*ip, port)).await?,
            Host::Ipv6(ip) => TcpStream::connect((*ip, port)).await?,
            Host::Domain(name) => {
                let found = tokio::net::lookup_host((name.as_str(), port)).await;
                let found: Vec<_> = found.map_err(|_| UnreachableCause::UnknownHost)?.collect();
                TcpStream::connect(&found[..]).await?
            }
        };
        stream.set_nodelay(true)?;
        let Some(config) = &self.tls else { return Ok(Box::new(stream)) };
        let tls = |error: &dyn std::fmt::Display| UnreachableCause::Tls(error.to_string());
        let config = config.as_ref().map_err(|error| tls(error))?;
        let name = match &server.host {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|error| tls(&error))?
            }
            Host::Ipv4(ip) => ServerName::IpAddress((*ip).into()),
            Host::Ipv6(ip) => ServerName::IpAddress((*ip).into()),
        };
        let connector = TlsConnector::from(config.clone());
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|error| UnreachableCause::of_tls(&error))?;
        Ok(Box::new(stream))
    }
}
