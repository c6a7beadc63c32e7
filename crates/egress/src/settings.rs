//! What the operator decides about deliveries.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rustls::pki_types::CertificateDer;
use thiserror::Error;

use crate::{proxy::Proxy, resolve::Resolve, url_policy::Policy};

#[derive(Clone)]
pub struct Settings {
    pub policy: Policy,
    /// All deliveries go through it, and keeping away from private addresses is then its job.
    pub proxy: Option<Proxy>,
    /// Who to ask for addresses; the machine's own servers if there is none.
    pub nameservers: Vec<SocketAddr>,
    /// Instead of asking name servers.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Trusted besides the machine's own roots.
    pub extra_roots: Vec<CertificateDer<'static>>,
    pub resolve_timeout: Duration,
    pub connect_timeout: Duration,
    pub tls_timeout: Duration,
    /// Maximum idle time of a connection.
    pub idle_timeout: Duration,
    /// A connection that is older is not used again, so that a moved name is noticed.
    pub longest_life: Duration,
    pub idle_per_destination: usize,
    pub idle_in_all: usize,
    /// Requests at once on one HTTP/2 connection.
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
    /// This machine may be reached, over plain http too.
    pub fn for_dev() -> Self {
        Self { policy: Policy::for_dev(), ..Self::default() }
    }
}

/// Why a client could not be made.
#[derive(Debug, Error)]
pub enum SetupError {
    #[error("cannot read the system's DNS configuration: {0}. hint: set `nameservers`")]
    NameServers(String),
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
