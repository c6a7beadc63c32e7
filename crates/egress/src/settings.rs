//! The operator's settings of deliveries.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rustls::pki_types::CertificateDer;
use thiserror::Error;

use crate::{proxy::Proxy, resolve::Resolve, url_policy::Policy};

#[derive(Clone)]
pub struct Settings {
    pub policy: Policy,
    /// The proxy of all deliveries. It is then responsible for refusing private addresses.
    pub proxy: Option<Proxy>,
    /// DNS servers; the system's if empty.
    pub nameservers: Vec<SocketAddr>,
    /// A resolver to use instead of DNS.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Root certificates in addition to the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub resolve_timeout: Duration,
    pub connect_timeout: Duration,
    pub tls_timeout: Duration,
    /// Maximum idle time of a connection.
    pub idle_timeout: Duration,
    /// Maximum age of a connection, so that DNS changes take effect.
    pub longest_life: Duration,
    pub idle_per_destination: usize,
    pub idle_in_all: usize,
    /// Maximum number of concurrent requests on one HTTP/2 connection.
    pub streams_per_connection: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            proxy: None,
            nameservers: Vec::new(),
            resolver: None,
            extra_roots: Vec::new(),
            resolve_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            tls_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            longest_life: Duration::from_secs(300),
            idle_per_destination: 64,
            idle_in_all: 2_048,
            streams_per_connection: 100,
        }
    }
}

impl Settings {
    /// For development: allows loopback addresses and plain http.
    pub fn for_dev() -> Self {
        Self { policy: Policy::for_dev(), ..Self::default() }
    }
}

/// Why a client could not be created.
#[derive(Debug, Error)]
pub enum SetupError {
    #[error("cannot read the system's DNS configuration: {0}. hint: set `nameservers`")]
    NameServers(String),
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
