//! Address blocks, the unit of per-address limits.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

/// An address block for limits. An IPv6 customer has at least a /64, so counting single addresses would be
/// useless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddressBlock(IpAddr);

impl AddressBlock {
    /// The first address of the block.
    pub const fn ip(self) -> IpAddr {
        self.0
    }

    /// Returns the first address of the site that the block belongs to. One customer may have a /48 of IPv6,
    /// with 65,536 blocks; an IPv4 address is a site of its own.
    pub fn site(self) -> IpAddr {
        match self.0 {
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 80 << 80)),
            four @ IpAddr::V4(_) => four,
        }
    }
}

impl From<IpAddr> for AddressBlock {
    fn from(ip: IpAddr) -> Self {
        Self(match ip.to_canonical() {
            IpAddr::V6(ip) => {
                let prefix = ip.to_bits() >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from_bits(prefix))
            }
            four @ IpAddr::V4(_) => four,
        })
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(ip) => write!(f, "{ip}"),
            IpAddr::V6(ip) => write!(f, "{ip}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_customer_is_one_block() {
        let block = |text: &str| AddressBlock::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(block("2001:db8::1"), block("2001:db8::ffff:1"));
        assert_ne!(block("2001:db8::1"), block("2001:db8:0:1::1"));
        assert_ne!(block("192.0.2.1"), block("192.0.2.2"));
        assert_eq!(block("::ffff:192.0.2.1"), block("192.0.2.1"));
        assert_eq!(block("2001:db8:1:2::3").site().to_string(), "2001:db8:1::");
        assert_eq!(block("192.0.2.1").site().to_string(), "192.0.2.1");
    }
}
