//! The address guard: decides which IP addresses may be connected to.
//!
//! IPv4 has a table of denied ranges; IPv6 has a list of allowed ranges (2000::/3 without its special
//! ranges), which needs no update when new special ranges are defined. Addresses that contain an IPv4 address
//! are checked by that address.
//!
//! [`connect`](crate::connect) opens connections only to an [`AllowedAddress`], and only
//! [`AddressPolicy::admit`] creates one: an address that was not checked cannot be dialed, however it was
//! written or resolved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv6Net};

/// The error for every denied address. It is the same for all of them, so that a tenant cannot map the
/// operator's network.
pub const BLOCKED: &str = "the address is not allowed";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling {
    Allowed,
    /// The reason, for the operator's log and for tests; tenants see [`BLOCKED`].
    Denied(&'static str),
}

/// The operator's additions to the tables.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    /// Networks that are always allowed. This list takes precedence.
    pub allow: Vec<IpNet>,
    /// Networks that are denied, such as this machine's own public addresses.
    pub deny: Vec<IpNet>,
    /// NAT64 prefixes of the operator's network.
    pub nat64: Vec<Nat64>,
}

/// An address that the policy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedAddress(SocketAddr);

impl AllowedAddress {
    /// The address of the operator's own proxy, from the settings, never from a tenant.
    pub(crate) fn proxy(address: SocketAddr) -> Self {
        Self(address)
    }

    pub fn address(self) -> SocketAddr {
        self.0
    }
}

impl AddressPolicy {
    pub fn check(&self, ip: IpAddr) -> Ruling {
        let ip = ip.to_canonical();
        if self.allow.iter().any(|network| network.contains(&ip)) {
            return Ruling::Allowed;
        }
        if self.deny.iter().any(|network| network.contains(&ip)) {
            return Ruling::Denied("denied by the operator");
        }
        match ip {
            IpAddr::V4(ip) => judge_v4(ip),
            IpAddr::V6(ip) => match self.nat64.iter().find(|prefix| prefix.0.contains(&ip)) {
                Some(prefix) => match prefix.inner(ip) {
                    Some(inner) => self.check(inner.into()),
                    None => Ruling::Denied("not a translated IPv4 address"),
                },
                None => judge_v6(ip),
            },
        }
    }

    pub fn admit(&self, address: SocketAddr) -> Result<AllowedAddress, &'static str> {
        self.admit_in(address, false)
    }

    /// Checks an address. In development, loopback addresses are allowed as well.
    pub(crate) fn admit_in(
        &self,
        address: SocketAddr,
        dev: bool,
    ) -> Result<AllowedAddress, &'static str> {
        let ruling = match address.ip().to_canonical() {
            ip if dev && ip.is_loopback() => Ruling::Allowed,
            ip => self.check(ip),
        };
        match ruling {
            // Mapped addresses are dialed in the form that was checked.
            Ruling::Allowed => {
                Ok(AllowedAddress(SocketAddr::new(address.ip().to_canonical(), address.port())))
            }
            Ruling::Denied(why) => Err(why),
        }
    }
}

/// A NAT64 prefix (RFC 6052), with one of its lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nat64(Ipv6Net);

impl TryFrom<Ipv6Net> for Nat64 {
    type Error = String;

    fn try_from(prefix: Ipv6Net) -> Result<Self, String> {
        match prefix.prefix_len() {
            32 | 40 | 48 | 56 | 64 | 96 => Ok(Self(prefix.trunc())),
            _ => Err(format!(
                "{prefix} is not a NAT64 prefix: the length must be 32, 40, 48, 56, 64 or 96"
            )),
        }
    }
}

impl Nat64 {
    /// Returns the embedded IPv4 address. For prefixes shorter than /96 it skips octet 8, which must be zero.
    fn inner(self, ip: Ipv6Addr) -> Option<Ipv4Addr> {
        let octets = ip.octets();
        let mut at = usize::from(self.0.prefix_len() / 8);
        if self.0.prefix_len() < 96 && octets[8] != 0 {
            return None;
        }
        let mut inner = [0; 4];
        for octet in &mut inner {
            if at == 8 {
                at = 9;
            }
            *octet = octets[at];
            at += 1;
        }
        Some(inner.into())
    }
}

#[rustfmt::skip]
const DENIED_V4: [([u8; 4], u32, &str); 19] = [
    ([0, 0, 0, 0],        8, "this network"),
    ([10, 0, 0, 0],       8, "private"),
    ([100, 64, 0, 0],    10, "shared by a carrier"),
    ([127, 0, 0, 0],      8, "loopback"),
    ([168, 63, 129, 16], 32, "platform service of a cloud"),
    ([169, 254, 0, 0],   16, "link-local and metadata"),
    ([172, 16, 0, 0],    12, "private"),
    ([192, 0, 0, 0],     24, "protocol assignments"),
    ([192, 0, 2, 0],     24, "documentation"),
    ([192, 31, 196, 0],  24, "AS112"),
    ([192, 52, 193, 0],  24, "AMT relays"),
    ([192, 88, 99, 0],   24, "6to4 relays"),
    ([192, 168, 0, 0],   16, "private"),
    ([192, 175, 48, 0],  24, "AS112"),
    ([198, 18, 0, 0],    15, "benchmarks"),
    ([198, 51, 100, 0],  24, "documentation"),
    ([203, 0, 113, 0],   24, "documentation"),
    ([224, 0, 0, 0],      4, "multicast"),
    ([240, 0, 0, 0],      4, "reserved and broadcast"),
];

/// Denied ranges inside 2000::/3, the only allowed part of IPv6.
#[rustfmt::skip]
const DENIED_V6: [([u16; 3], u32, &str); 5] = [
    ([0x2001, 0, 0],           23, "protocol assignments and Teredo"),
    ([0x2001, 0x0db8, 0],      32, "documentation"),
    ([0x2002, 0, 0],           16, "6to4"),
    ([0x2620, 0x004f, 0x8000], 48, "AS112"),
    ([0x3fff, 0, 0],           20, "documentation"),
];

fn judge_v4(ip: Ipv4Addr) -> Ruling {
    let bits = ip.to_bits();
    for (network, length, why) in DENIED_V4 {
        if (bits ^ u32::from_be_bytes(network)) >> (32 - length) == 0 {
            return Ruling::Denied(why);
        }
    }
    Ruling::Allowed
}

fn judge_v6(ip: Ipv6Addr) -> Ruling {
    let bits = ip.to_bits();
    if bits >> 125 != 0b001 {
        return Ruling::Denied("not a global unicast address");
    }
    for ([first, second, third], length, why) in DENIED_V6 {
        let network = u128::from(first) << 112 | u128::from(second) << 96 | u128::from(third) << 80;
        if (bits ^ network) >> (128 - length) == 0 {
            return Ruling::Denied(why);
        }
    }
    // ISATAP has an IPv4 address in its last 32 bits, with any prefix.
    if (bits >> 32) as u32 & !0x0200_0000 == 0x0000_5efe {
        return judge_v4(Ipv4Addr::from_bits(bits as u32));
    }
    Ruling::Allowed
}
