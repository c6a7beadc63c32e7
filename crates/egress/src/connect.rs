//! Opens a connection. [`dial`] is the only place that connects, and it takes only addresses that were
//! checked.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use gancho_domain::Code;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    address::AllowedAddress,
    outcome::RequestError,
    proxy::Proxy,
    resolve::{NameServers, Resolve, ResolveError, look_up},
    settings::{Settings, SetupError},
    shortage::{is_shortage, lacks_ports},
    tls,
    url_policy::{Policy, Target, TargetHost},
};

pub(crate) struct Connector {
    resolver: Arc<dyn Resolve>,
    tls: TlsConnector,
    proxy: Option<Proxy>,
    resolve_timeout: Duration,
    connect_timeout: Duration,
    tls_timeout: Duration,
}

pub(crate) struct OpenConnection {
    pub(crate) stream: Stream,
    /// The peer's address; `None` behind a proxy.
    pub(crate) peer: Option<IpAddr>,
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Result<Self, SetupError> {
        Ok(Self {
            resolver: match &settings.resolver {
                Some(resolver) => resolver.clone(),
                None => Arc::new(NameServers::new(&settings.nameservers)?),
            },
            tls: tls::connector(&settings.extra_roots)?,
            proxy: settings.proxy.clone(),
            resolve_timeout: settings.resolve_timeout,
            connect_timeout: settings.connect_timeout,
            tls_timeout: settings.tls_timeout,
        })
    }

    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Resolves once, checks the addresses, dials one of them and starts TLS.
    pub(crate) async fn open(
        &self,
        target: Target<'_>,
        policy: &Policy,
    ) -> Result<OpenConnection, RequestError> {
        let (stream, peer) = if let Some(proxy) = &self.proxy {
            (self.through(proxy, target).await?, None)
        } else {
            let stream = self.straight(target, policy).await?;
            let peer = stream.peer_addr().map_err(|error| unconnected(&error.into()))?;
            (stream, Some(peer.ip()))
        };
        let stream = if target.https {
            let stream = tls::shake_hands(&self.tls, target.host, stream, self.tls_timeout).await?;
            Stream::Tls(Box::new(stream))
        } else {
            Stream::Plain(stream)
        };
        Ok(OpenConnection { stream, peer })
    }

    async fn straight(
        &self,
        target: Target<'_>,
        policy: &Policy,
    ) -> Result<TcpStream, RequestError> {
        let addresses = match target.host {
            TargetHost::Address(judged) => vec![judged],
            TargetHost::Name(name) => {
                look_up(&*self.resolver, name, target.port, policy, self.resolve_timeout).await?
            }
        };
        dial(&addresses, self.connect_timeout).await.map_err(|error| unconnected(&error))
    }

    async fn through(&self, proxy: &Proxy, target: Target<'_>) -> Result<TcpStream, RequestError> {
        let unknown = |why| {
            RequestError::new(
                Code::CONNECT_FAILED,
                format!("the proxy's host name could not be resolved: {why}"),
            )
        };
        let addresses = match proxy.host.parse::<IpAddr>() {
            Ok(ip) => vec![ip],
            Err(_) => match timeout(self.resolve_timeout, self.resolver.resolve(&proxy.host)).await
            {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(ResolveError::Unasked(why))) => {
                    return Err(RequestError::internal_failure(why));
                }
                Ok(Err(ResolveError::None(why))) => return Err(unknown(why)),
                Err(_) => return Err(unknown("DNS lookup timed out".to_owned())),
            },
        };
        let addresses: Vec<_> = addresses
            .into_iter()
            .map(|ip| AllowedAddress::proxy(SocketAddr::new(ip, proxy.port)))
            .collect();
        let mut stream =
            dial(&addresses, self.connect_timeout).await.map_err(|error| match error {
                DialError::Ours(_) => unconnected(&error),
                DialError::Theirs(error) => {
                    let reason = format!("cannot connect to the proxy: {error}");
                    RequestError::new(Code::CONNECT_FAILED, reason)
                }
            })?;
        if target.https {
            proxy.tunnel(&mut stream, target, self.connect_timeout).await?;
        }
        Ok(stream)
    }
}

/// Maximum number of addresses to try, and the minimum time for each of them.
const MAX_CONNECT_ATTEMPTS: usize = 8;
const MIN_CONNECT_TIME: Duration = Duration::from_millis(250);

/// Why there is no connection.
enum DialError {
    /// This node lacks a resource. At least one address could not be tried, so nothing is known about the
    /// target.
    Ours(io::Error),
    Theirs(io::Error),
}

impl From<io::Error> for DialError {
    fn from(error: io::Error) -> Self {
        if is_shortage(&error) { Self::Ours(error) } else { Self::Theirs(error) }
    }
}

/// Tries one address after the other.
async fn dial(addresses: &[AllowedAddress], within: Duration) -> Result<TcpStream, DialError> {
    let until = Instant::now() + within;
    let tries = addresses.len().min(MAX_CONNECT_ATTEMPTS);
    let mut last = io::Error::other("no address to connect to");
    let mut portless = None;
    for (tried, judged) in addresses.iter().take(MAX_CONNECT_ATTEMPTS).enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let share = (left / (tries - tried) as u32).max(MIN_CONNECT_TIME).min(left);
        match timeout(share, TcpStream::connect(judged.address())).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) if is_shortage(&error) => return Err(DialError::Ours(error)),
            // Another address may have free ports.
            Ok(Err(error)) if lacks_ports(&error, judged.address()) => portless = Some(error),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "no answer in time"),
        }
    }
    Err(portless.map_or(DialError::Theirs(last), DialError::Ours))
}

fn unconnected(error: &DialError) -> RequestError {
    match error {
        DialError::Ours(error) => RequestError::internal_failure(format!(
            "this node could not open a connection: {error}"
        )),
        DialError::Theirs(error) => {
            let reason = format!("could not connect: {error}");
            RequestError::new(Code::CONNECT_FAILED, reason)
        }
    }
}
