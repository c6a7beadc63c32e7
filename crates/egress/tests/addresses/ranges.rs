//! The tables of the guard, at the edges of every range and against a second implementation.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gancho_egress::{AddressPolicy, Nat64, Ruling};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use proptest::prelude::*;

/// The policy as text, independent of the code's own tables.
const DENIED_V4: [&str; 19] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "168.63.129.16/32",
];
const ALLOWED_V6: &str = "2000::/3";
const DENIED_V6: [&str; 5] =
    ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "2620:4f:8000::/48"];

fn expected(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            !DENIED_V4.iter().any(|range| range.parse::<Ipv4Net>().unwrap().contains(&ip))
        }
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            expected(ip.to_ipv4_mapped().unwrap().into())
        }
        IpAddr::V6(ip) => {
            let inside = ALLOWED_V6.parse::<Ipv6Net>().unwrap().contains(&ip)
                && !DENIED_V6.iter().any(|range| range.parse::<Ipv6Net>().unwrap().contains(&ip));
            let segments = ip.segments();
            let isatap = segments[5] == 0x5efe && (segments[4] == 0 || segments[4] == 0x200);
            let last = Ipv4Addr::from_bits(u32::from(segments[6]) << 16 | u32::from(segments[7]));
            inside && (!isatap || expected(last.into()))
        }
    }
}

fn allowed(ip: IpAddr) -> bool {
    AddressPolicy::default().check(ip) == Ruling::Allowed
}

fn judged(text: &str) -> bool {
    allowed(text.parse().unwrap())
}

#[test]
fn the_edges_of_every_range() {
    let mut checked = 0;
    for range in DENIED_V4 {
        let range: Ipv4Net = range.parse().unwrap();
        let (first, last) = (range.network().to_bits(), range.broadcast().to_bits());
        for inside in [first, last, first.midpoint(last)] {
            assert!(!allowed(Ipv4Addr::from_bits(inside).into()), "{range} {inside:x}");
            let mapped = Ipv4Addr::from_bits(inside).to_ipv6_mapped();
            assert!(!allowed(mapped.into()), "{mapped}");
        }
        for outside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten() {
            let ip = Ipv4Addr::from_bits(outside).into();
            assert_eq!(allowed(ip), expected(ip), "{ip} beside {range}");
            checked += usize::from(allowed(ip));
        }
    }
    assert!(checked >= 30, "most neighbors are allowed: {checked}");

    for range in DENIED_V6.iter().chain(&["::/3", "4000::/2", "8000::/1"]) {
        let range: Ipv6Net = range.parse().unwrap();
        let (first, last) = (range.network().to_bits(), range.broadcast().to_bits());
        for inside in [first, last, first.midpoint(last)] {
            assert!(!allowed(Ipv6Addr::from_bits(inside).into()), "{range} {inside:x}");
        }
        for outside in [first.checked_sub(1), last.checked_add(1)].into_iter().flatten() {
            let ip = Ipv6Addr::from_bits(outside).into();
            assert_eq!(allowed(ip), expected(ip), "{ip} beside {range}");
        }
    }
    for public in ["1.1.1.1", "8.8.8.8", "168.63.129.15", "168.63.129.17", "2606:4700::1111"] {
        assert!(judged(public), "{public}");
    }
}

#[test]
fn metadata_services_and_embedded_addresses() {
    let denied = [
        "169.254.169.254",
        "169.254.170.2",
        "169.254.170.23",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::ffff:a9fe:a9fe",
        "::ffff:0:127.0.0.1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "ff02::1",
        "100::1",
        "5f00::1",
        "3fff::1",
        "2001:db8::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::808:808",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::",
        "2002:808:808::1",
        "2001:0:7f00:1::80ff:fffe",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:470::5efe:7f00:1",
        "2001:470::200:5efe:a00:1",
    ];
    for text in denied {
        assert!(!judged(text), "{text}");
    }
    assert!(judged("::ffff:8.8.8.8"));
    assert!(judged("2001:470::5efe:808:808"), "ISATAP of a public address");
}

/// Each layout of RFC 6052, with the examples of its section 2.4 for other addresses.
#[test]
fn operator_named_nat64_prefixes_are_decoded() {
    let inside = |octets: [u8; 4]| {
        let [a, b, c, d] = octets.map(u16::from);
        [
            ("2001:470::/32", [0x2001, 0x470, a << 8 | b, c << 8 | d, 0, 0, 0, 0]),
            ("2001:470:100::/40", [0x2001, 0x470, 0x100 | a, b << 8 | c, d, 0, 0, 0]),
            ("2001:470:122::/48", [0x2001, 0x470, 0x122, a << 8 | b, c, d << 8, 0, 0]),
            ("2001:470:122:300::/56", [0x2001, 0x470, 0x122, 0x300 | a, b, c << 8 | d, 0, 0]),
            ("2001:470:122:344::/64", [0x2001, 0x470, 0x122, 0x344, a, b << 8 | c, d << 8, 0]),
            ("2001:470:122:344::/96", [0x2001, 0x470, 0x122, 0x344, 0, 0, a << 8 | b, c << 8 | d]),
            ("64:ff9b::/96", [0x64, 0xff9b, 0, 0, 0, 0, a << 8 | b, c << 8 | d]),
        ]
    };
    let rule = |prefix: &str, segments: [u16; 8]| {
        let nat64 = Nat64::try_from(prefix.parse::<Ipv6Net>().unwrap()).unwrap();
        let policy = AddressPolicy { nat64: vec![nat64], ..AddressPolicy::default() };
        policy.check(Ipv6Addr::from(segments).into()) == Ruling::Allowed
    };
    for (prefix, segments) in inside([8, 8, 4, 4]) {
        assert!(rule(prefix, segments), "{prefix} {segments:x?}");
    }
    for denied in [[127, 0, 0, 1], [10, 1, 2, 3], [169, 254, 169, 254], [192, 168, 33, 1]] {
        for (prefix, segments) in inside(denied) {
            assert!(!rule(prefix, segments), "{prefix} {segments:x?}");
        }
    }
    let mut bent = inside([8, 8, 4, 4])[4];
    bent.1[4] |= 0x100;
    assert!(!rule(bent.0, bent.1), "octet 8 must be zero");
    for length in [0, 31, 33, 65, 95, 97, 128] {
        let prefix = Ipv6Net::new("2001:470::".parse().unwrap(), length).unwrap();
        assert!(Nat64::try_from(prefix).is_err(), "{prefix}");
    }
}

#[test]
fn the_operators_lists_go_before_the_tables() {
    let nets = |texts: &[&str]| texts.iter().map(|text| text.parse::<IpNet>().unwrap()).collect();
    let policy = AddressPolicy {
        allow: nets(&["10.1.0.0/16", "fd00::/8"]),
        deny: nets(&["8.8.8.0/24", "10.1.0.0/24"]),
        nat64: vec![],
    };
    let is_allowed = |text: &str| policy.check(text.parse().unwrap()) == Ruling::Allowed;
    for allowed in ["10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "fd12::1", "10.1.0.7", "8.8.9.0"]
    {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for denied in ["10.0.255.255", "10.2.0.0", "fe00::1", "8.8.8.8", "::ffff:8.8.8.8"] {
        assert!(!is_allowed(denied), "{denied}");
    }
}

/// Random addresses are nearly always public, so most are taken from near a range's edge.
fn any_address() -> impl Strategy<Value = IpAddr> {
    let ranges: Vec<IpNet> = DENIED_V4
        .iter()
        .chain(&DENIED_V6)
        .chain(&[ALLOWED_V6, "::/96", "::ffff:0:0/96", "64:ff9b::/96", "fe80::/10"])
        .map(|range| range.parse().unwrap())
        .collect();
    let near = (prop::sample::select(ranges), any::<bool>(), -3_i128..=3).prop_map(
        |(range, first, step)| {
            let edge = if first { range.network() } else { range.broadcast() };
            match edge {
                IpAddr::V4(ip) => {
                    Ipv4Addr::from_bits(ip.to_bits().wrapping_add(step as u32)).into()
                }
                IpAddr::V6(ip) => {
                    Ipv6Addr::from_bits(ip.to_bits().wrapping_add(step as u128)).into()
                }
            }
        },
    );
    let mapped = any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).to_ipv6_mapped().into());
    let isatap = (any::<u64>(), any::<bool>(), any::<u32>()).prop_map(|(prefix, local, inner)| {
        let middle = if local { 0x0200_5efe_u128 } else { 0x5efe };
        let prefix = u128::from(prefix >> 3 | 1 << 61) << 64;
        Ipv6Addr::from_bits(prefix | middle << 32 | u128::from(inner)).into()
    });
    prop_oneof![
        4 => near,
        2 => any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        1 => any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits).into()),
        1 => any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits >> 3 | 1 << 125).into()),
        1 => mapped,
        1 => isatap,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn agrees_with_a_second_opinion(ip in any_address()) {
        prop_assert_eq!(allowed(ip), expected(ip), "{}", ip);
    }
}
