//! DNS resolution: one lookup per attempt, and every address is checked.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use async_trait::async_trait;
use gancho_domain::Code;
use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolverConfig, ResolverOpts},
    net::{NetError, runtime::TokioRuntimeProvider},
};
use tokio::time::timeout;

use crate::{
    address::AllowedAddress,
    outcome::RequestError,
    settings::SetupError,
    shortage::{is_shortage, lacks_sockets},
    url_policy::Policy,
};

/// Maximum addresses of a name. A name with more is refused, because each address is checked.
const MAX_ADDRESSES: usize = 32;

/// Resolves a name, which has no trailing dot but is absolute.
#[async_trait]
pub trait Resolve: Send + Sync + 'static {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError>;
}

/// Why there is no address, as a text for the tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolveError {
    /// The name has no address, or the lookup failed.
    None(String),
    /// This node lacks a resource, such as a file handle.
    Unasked(String),
}

/// Looks the name up once and checks every address. One denied address denies them all: a name with both
/// public and private addresses is an attack or a mistake.
pub(crate) async fn look_up(
    resolver: &dyn Resolve,
    name: &str,
    port: u16,
    policy: &Policy,
    within: Duration,
) -> Result<Vec<AllowedAddress>, RequestError> {
    let failed = |why: &str| RequestError::new(Code::DNS_FAILED, format!("{name}: {why}"));
    let answers = match timeout(within, resolver.resolve(name)).await {
        Ok(Ok(answers)) => answers,
        Ok(Err(ResolveError::Unasked(why))) => return Err(RequestError::internal_failure(why)),
        Ok(Err(ResolveError::None(why))) => return Err(failed(&why)),
        Err(_) => return Err(failed("DNS lookup timed out")),
    };
    if answers.is_empty() {
        return Err(failed("the host name has no address"));
    }
    let mut judged = Vec::with_capacity(answers.len().min(MAX_ADDRESSES));
    for ip in &answers {
        match policy.admit(SocketAddr::new(*ip, port)) {
            Ok(address) => judged.push(address),
            Err(why) => {
                tracing::debug!(name, %ip, reason = why, "DNS returned a denied address");
                return Err(RequestError::blocked());
            }
        }
    }
    if judged.len() > MAX_ADDRESSES {
        return Err(failed("the host name has more than 32 addresses"));
    }
    Ok(alternate(judged))
}

/// Orders addresses: IPv6 first, then alternating, each family in its original order.
fn alternate(addresses: Vec<AllowedAddress>) -> Vec<AllowedAddress> {
    if addresses.len() < 2 {
        return addresses;
    }
    let (six, four): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|judged| judged.address().is_ipv6());
    let mut mixed = Vec::with_capacity(six.len() + four.len());
    let (mut six, mut four) = (six.into_iter(), four.into_iter());
    loop {
        let (next, other) = (six.next(), four.next());
        if next.is_none() && other.is_none() {
            return mixed;
        }
        mixed.extend(next.into_iter().chain(other));
    }
}

/// Queries DNS directly, without the C library and its threads, so that a tenant with dead name servers
/// delays no one else.
pub struct NameServers(TokioResolver);

impl NameServers {
    /// Uses the given servers, or those of the system.
    pub fn new(given: &[SocketAddr]) -> Result<Self, SetupError> {
        let setup_error = |error: NetError| SetupError::NameServers(error.to_string());
        let mut builder = if given.is_empty() {
            TokioResolver::builder_tokio().map_err(setup_error)?
        } else {
            let servers = given.iter().map(|address| {
                let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
                    .map(|mut connection| {
                        connection.port = address.port();
                        connection
                    })
                    .to_vec();
                NameServerConfig::new(address.ip(), true, connections)
            });
            let config = ResolverConfig::from_parts(None, vec![], servers.collect());
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        tune(builder.options_mut());
        builder.build().map(Self).map_err(setup_error)
    }
}

/// Limits the time of single queries: a server that does not respond to one record type must not use up the
/// whole lookup.
fn tune(options: &mut ResolverOpts) {
    options.timeout = Duration::from_millis(1_500);
    options.attempts = 1;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.cache_size = 8_192;
    options.positive_max_ttl = Some(Duration::from_secs(300));
    options.negative_max_ttl = Some(Duration::from_secs(10));
}

#[async_trait]
impl Resolve for NameServers {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        // The trailing dot makes it absolute: search domains are never used.
        match self.0.lookup_ip(format!("{name}.")).await {
            Ok(found) => Ok(found.iter().take(MAX_ADDRESSES + 1).collect()),
            Err(error) if error.is_no_records_found() => {
                Err(ResolveError::None("the host name has no address".to_owned()))
            }
            Err(error) if is_ours(&error) => {
                Err(ResolveError::Unasked(format!("this node could not query DNS: {error}")))
            }
            Err(error) => Err(ResolveError::None(format!("DNS lookup failed ({error})"))),
        }
    }
}

/// Whether the failure is a shortage of this node. The resolver makes several attempts and reports one of
/// them, so its error may not show the shortage.
fn is_ours(error: &NetError) -> bool {
    matches!(error, NetError::Io(error) if is_shortage(error)) || lacks_sockets()
}
