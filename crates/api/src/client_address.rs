//! The address that limits apply to: the peer of the connection, or the client that a trusted proxy names.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use gancho_domain::AddressBlock;
use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

/// The networks of proxies whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl Default for TrustedProxies {
    /// Proxies on this machine.
    fn default() -> Self {
        let four = IpNet::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let four = IpNet::new(four.addr(), 8).unwrap_or(four).trunc();
        Self::new([four, IpNet::from(IpAddr::V6(Ipv6Addr::LOCALHOST))])
    }
}

/// The address of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress {
    pub block: AddressBlock,
    /// The address of a proxy that does not name its client: many clients may share it.
    pub is_shared: bool,
}

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Headers that proxies add to forwarded requests.
static FORWARDING_HEADERS: [HeaderName; 6] = [
    X_FORWARDED_FOR,
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    header::FORWARDED,
    header::VIA,
    HeaderName::from_static("x-real-ip"),
];

/// Whether a proxy forwarded the request.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDING_HEADERS.iter().any(|name| headers.contains_key(name))
}

impl TrustedProxies {
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(networks.into_iter().collect())
    }

    pub fn has(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.0.iter().any(|network| network.contains(&ip))
    }

    /// Returns the peer, or for a trusted proxy the last address in `X-Forwarded-For` that is not itself a
    /// trusted proxy. Addresses further to the left can be forged.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        if !self.has(peer) {
            return ClientAddress { block: peer.into(), is_shared: false };
        }
        let lines = headers.get_all(&X_FORWARDED_FOR).iter().rev();
        let hops = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        for hop in hops {
            match address(hop.trim()) {
                Some(ip) if self.has(ip) => {}
                Some(ip) => return ClientAddress { block: ip.into(), is_shared: false },
                None => break,
            }
        }
        ClientAddress { block: peer.into(), is_shared: true }
    }
}

/// An address, with or without a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.split(']').next());
    bare.unwrap_or(text)
        .parse()
        .ok()
        .or_else(|| text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, lines: &[&str]) -> (String, bool) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        }
        let found = TrustedProxies::default().client(peer.parse().unwrap(), &headers);
        (found.block.ip().to_string(), found.is_shared)
    }

    #[test]
    fn a_proxy_is_believed_and_nobody_else() {
        let direct = |text: &str| (text.to_owned(), false);
        assert_eq!(client("192.0.2.7", &["203.0.113.9"]), direct("192.0.2.7"));
        assert_eq!(client("127.0.0.1", &["203.0.113.9"]), direct("203.0.113.9"));
        assert_eq!(client("::ffff:127.0.0.1", &["203.0.113.9:4711"]), direct("203.0.113.9"));
        // The client forged the first one.
        assert_eq!(client("127.0.0.1", &["10.0.0.1, 203.0.113.9"]), direct("203.0.113.9"));
        assert_eq!(client("127.0.0.1", &["10.0.0.1", "203.0.113.9"]), direct("203.0.113.9"));
        assert_eq!(client("127.0.0.1", &["203.0.113.9, 127.0.0.2"]), direct("203.0.113.9"));
        assert_eq!(client("::1", &["[2001:db8:1:2:3::4]:80"]), direct("2001:db8:1:2::"));
        for silent in [&[][..], &[""], &["unknown"], &["203.0.113.9, ?"], &["127.0.0.5"]] {
            assert_eq!(client("127.0.0.1", silent), ("127.0.0.1".to_owned(), true), "{silent:?}");
        }
    }
}
