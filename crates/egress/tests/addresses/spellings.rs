//! The spelling of an address does not change the decision about it.

use gancho_egress::{AddressPolicy, Policy, UrlError};

fn refused(url: &str) -> UrlError {
    match Policy::default().parse(url) {
        Ok(url) => panic!("taken: {url}"),
        Err(refused) => refused,
    }
}

/// Loopback, private networks and metadata services, in every form that some parser accepts.
#[rustfmt::skip]
const DENIED_HOSTS: &[&str] = &[
    // Loopback and `0.0.0.0`, in every notation of IPv4.
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "127.0.0.0", "0", "0.0.0.0", "0.0",
    "0x7f000001", "0X7F000001", "0x7f.1", "0x7f.0.1", "0x7F.0x0.0x0.0x1", "0177.0.0.1", "0177.1",
    "0177.0.1", "017700000001", "2130706433", "127.0.0.1.", "0x7f.1.", "2130706433.", "1２7.0.0.1",
    "１２７.０.０.１", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "①②⑦.⓪.⓪.①", "%31%32%37.0.0.1",
    "%31%32%37%2E0%2e0.1", "127.0.0.%31", "0x7f.0x000001", "00000177.1", "0x0000007f.1", "127.0x1",
    "127.0.0.0x", "127.0.01", "127.00000.1",
    // Private, link-local, shared, reserved and multicast networks, and metadata services.
    "10.0.0.1", "10.255.255.255", "10.1", "0xa000001", "012.1", "167772161", "172.16.0.1",
    "172.31.255.255", "172.16.1", "2886729729", "192.168.0.1", "192.168.1", "192.168.65535",
    "3232235521", "0xc0a80001", "0300.0250.0.1", "169.254.169.254", "169.254.43518", "2852039166",
    "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.16689662", "169.254.170.2",
    "169.254.170.23", "100.64.0.1", "100.100.100.200", "100.127.255.255", "192.0.0.192",
    "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
    "168.63.129.16", "2822734096", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "4294967295", "0xffffffff",
    // The same in IPv6, also mapped and compatible.
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:0001]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
    "[fe80::1]", "[fec0::1]", "[fc00::1]", "[fdff::1]", "[fd00:ec2::254]", "[fd00:ec2::23]",
    "[fd20:ce::254]", "[ff02::1]", "[ff0e::1]", "[100::1]", "[5f00::1]", "[3fff::1]",
    "[2001:db8::1]", "[2001:DB8::]", "[4000::1]", "[1::]",
    // IPv4 inside IPv6: NAT64, 6to4, Teredo and ISATAP.
    "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2002:7f00:1::1]", "[2001:0:7f00:1::]", "[2001::1]",
    "[2001:0:a00:1:0:0:f5ff:fffe]", "[2001:470::5efe:7f00:1]", "[2001:470::5efe:127.0.0.1]",
    "[2001:470::200:5efe:a9fe:a9fe]",
];

#[test]
#[rustfmt::skip]
fn denied_addresses_in_every_spelling() {
    for host in DENIED_HOSTS {
        for url in [format!("https://{host}/"), format!("HTTPS://{host}:8443/a?b")] {
            assert_eq!(refused(&url), UrlError::Address, "{url}");
        }
        let open = Policy { allow_http: true, ..Policy::default() };
        assert_eq!(open.parse(&format!("http://{host}/")), Err(UrlError::Address), "{host}");
    }
}

/// Text that parsers disagree about is refused.
#[test]
#[rustfmt::skip]
fn ambiguous_hosts_are_not_urls() {
    let hosts = [
        // Numbers that are not an IPv4 address, or only to some parsers.
        "0o177.0.0.1", "256.0.0.1", "1.1.1.256", "1.1.1.1.1", "0x100000000", "4294967296",
        "127.0.0.1%00", "127.0.0.1%0d%0a", "127.0.0.1%20", "127.0.0.1%2f", "08.0.0.1", "0x7g.1",
        "1.2.3.4x5.6", "99999999999", "example.com%00.good.com",
        // Brackets, zones and malformed IPv6.
        "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%lo]", "[127.0.0.1]", "::1", "[::1]extra",
        "[::1", "::1]", "[]", "[:::1]", "[1:2:3:4:5:6:7:8:9]", "[::ffff:127.0.0.1.1]",
        "[::ffff:0x7f.1]", "",
    ];
    for host in hosts {
        let got = refused(&format!("https://{host}/"));
        let fine = matches!(got, UrlError::NotAUrl(_) | UrlError::Name(_));
        assert!(fine, "{host}: {got:?}");
    }
}

#[test]
#[rustfmt::skip]
fn parser_splits_userinfo_and_fragments() {
    for url in [
        "https://good@127.0.0.1/", "https://good:80@127.0.0.1", "https://user:pass@example.com/",
        "https://:pass@example.com/", "https://user@example.com/",
        "https://good.com:443@127.0.0.1/", "https://127.0.0.1@example.com/",
        "https://example.com%40@127.0.0.1/",
    ] {
        assert_eq!(refused(url), UrlError::UserInfo, "{url}");
    }
    for url in [
        "https:///127.0.0.1", "https:127.0.0.1", "https:/127.0.0.1", r"https:\\127.0.0.1",
        r"https://127.0.0.1:443\@good.com/", r"https://127.0.0.1\good.com", "https:////127.0.0.1/",
    ] {
        assert_eq!(refused(url), UrlError::Address, "{url}");
    }
    for url in [
        "https://example.com#@127.0.0.1/", "https://example.com/#", "https://example.com/a#b",
        r"https://example.com/\#", "https://example.com/#@evil",
    ] {
        assert_eq!(refused(url), UrlError::Fragment, "{url}");
    }
    for url in [
        "https://1.1.1.1 &@127.0.0.1#", "https://exa\tmple.com/", "https://127.0.0.1\n/",
        " https://example.com/", "https://example.com/ ", "https://example.com/\r\nx: y",
        "https://example.com/a b", "https://example.com/\u{a0}", "https://example\u{0}.com/",
        "ht\ntps://example.com/", "https://example.com/\u{85}",
    ] {
        assert_eq!(refused(url), UrlError::Blanks, "{url:?}");
    }
}

#[test]
#[rustfmt::skip]
fn schemes() {
    for scheme in [
        "file", "ftp", "gopher", "dict", "data", "javascript", "ws", "wss", "unix", "ldap", "tftp",
        "jar", "mailto", "blob", "httpss", "about", "FILE",
    ] {
        let got = refused(&format!("{scheme}://example.com/"));
        assert_eq!(got, UrlError::Scheme(scheme.to_lowercase()), "{scheme}");
    }
    assert_eq!(refused("http://example.com/"), UrlError::PlainHttp);
    assert_eq!(refused("HTTP://example.com/"), UrlError::PlainHttp);
    assert_eq!(refused("http://8.8.8.8/"), UrlError::PlainHttp);
    assert_eq!(
        Policy::default().parse("HTTPS://EXAMPLE.com").unwrap().as_str(),
        "https://example.com/"
    );
    let open = Policy { allow_http: true, ..Policy::default() };
    assert!(open.parse("http://example.com/").is_ok());
    for text in ["", "example.com", "//example.com/", "/hook", "https://", "https:", "http"] {
        assert!(matches!(refused(text), UrlError::NotAUrl(_)), "{text}");
    }
    assert_eq!(refused(&format!("https://example.com/{}", "a".repeat(2_048))), UrlError::TooLong);
}

#[test]
#[rustfmt::skip]
fn ports() {
    // Ports of services that are not webhook receivers.
    let bad = [
        0, 1, 7, 9, 22, 23, 25, 53, 79, 110, 111, 135, 139, 143, 161, 389, 445, 465, 514, 587, 636,
        873, 993, 1023, 1719, 1720, 1723, 2049, 2375, 2376, 3306, 3389, 3659, 4045, 4190, 5060,
        5061, 5432, 5672, 5900, 5984, 6000, 6379, 6566, 6665, 6669, 6679, 6697, 9042, 9092, 9200,
        9300, 10080, 10250, 11211, 27017,
    ];
    for port in bad {
        assert_eq!(refused(&format!("https://example.com:{port}/")), UrlError::Port(port));
        let set = Policy { allow_ports: vec![port], ..Policy::default() };
        assert_eq!(set.parse(&format!("https://example.com:{port}/")).is_ok(), port != 0);
    }
    for port in [80, 443, 1024, 3000, 8000, 8080, 8443, 9000, 65_535] {
        assert!(Policy::default().parse(&format!("https://example.com:{port}/")).is_ok(), "{port}");
    }
    for port in ["65536", "-1", "+80", "8o", "0x50", "１", "443443", "80:80"] {
        let got = refused(&format!("https://example.com:{port}/"));
        assert!(matches!(got, UrlError::NotAUrl(_)), "{port}: {got:?}");
    }
    assert_eq!(refused("https://example.com: 80/"), UrlError::Blanks);
    let canonical = Policy::default().parse("https://example.com:00443/").unwrap();
    assert_eq!(canonical.as_str(), "https://example.com/");
}

#[test]
#[rustfmt::skip]
fn names_that_are_not_public() {
    // Local names and special domains, also written with look-alike characters, and malformed names.
    let long_label = format!("{}.com", "a".repeat(64));
    let long_name = format!("{}com", "a23456789.".repeat(26));
    let names = [
        "localhost", "LOCALHOST", "LocalHost", "localhost.", "a.localhost", "a.b.localhost.",
        "metadata.google.internal", "METADATA.google.internal.", "instance-data", "metadata",
        "kubernetes", "kubernetes.default.svc", "a.svc.cluster.local", "printer.local",
        "router.home.arpa", "1.0.0.127.in-addr.arpa", "abcdef.onion", "vault", "vault.", "db.corp",
        "nas.lan", "nas.home", "wiki.intranet", "x.private", "x.localdomain", "x.invalid", "x.alt",
        "local\u{ad}host", "loca\u{200b}lhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ｌｏｃａｌｈｏｓｔ", "localho\u{17f}t",
        "a.loca\u{ad}lhost", "metadata.google.interna\u{2113}", "x.\u{212a}.local",
        "%6c%6f%63%61%6c%68%6f%73%74", "l%6fcalhost", "ℓocalhost", "xn--80ak", "a..example.com",
        ".example.com", "example.com..", "..", ".", "a_b", "exa!mple.com", "exa$mple.com",
        "exa'mple.com", "(a).com", "a,b.com", "a;b.com", "a=b.com", "a*b.com", "*.example.com",
        "a~b.com", "xn--localhost-.", "xn--localhost-", long_label.as_str(), long_name.as_str(),
    ];
    for name in names {
        let got = refused(&format!("https://{name}/"));
        let fine = matches!(got, UrlError::Name(_) | UrlError::NotAUrl(_));
        assert!(fine, "{name}: {got:?}");
    }
}

#[test]
fn names_are_kept_in_one_form() {
    let canonical = [
        ("https://EXAMPLE.com/", "https://example.com/"),
        ("https://example.com./", "https://example.com/"),
        ("https://example.com.:8443/a", "https://example.com:8443/a"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
        ("https://MÜNCHEN.example./", "https://xn--mnchen-3ya.example/"),
        ("https://xn--mnchen-3ya.example/", "https://xn--mnchen-3ya.example/"),
        ("https://exam\u{ad}ple.com/", "https://example.com/"),
        ("https://ｅｘａｍｐｌｅ.com/", "https://example.com/"),
        ("https://example。com/", "https://example.com/"),
        ("https://ex%61mple.com/", "https://example.com/"),
        ("https://\u{212a}.example/", "https://k.example/"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://localhost.example.com/", "https://localhost.example.com/"),
        ("https://mylocal.com/", "https://mylocal.com/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://134744072/", "https://8.8.8.8/"),
        ("https://[2606:4700:0:0::1111]/", "https://[2606:4700::1111]/"),
        ("https://[::ffff:8.8.8.8]/", "https://[::ffff:808:808]/"),
        ("https://example.com/a/../b?c=d%20e", "https://example.com/b?c=d%20e"),
        ("https://example.com/|^`{}", "https://example.com/|^%60%7B%7D"),
    ];
    for (written, kept) in canonical {
        let url = Policy::default().parse(written).unwrap();
        assert_eq!(url.as_str(), kept, "{written}");
        assert_eq!(Policy::default().parse(kept), Ok(url), "{written} twice");
    }
}

#[test]
#[rustfmt::skip]
fn an_operator_can_open_what_is_closed() {
    let policy = Policy {
        addresses: AddressPolicy {
            allow: vec!["10.0.0.0/8".parse().unwrap()],
            ..Default::default()
        },
        allow_names: vec!["cluster.local".to_owned(), "receiver".to_owned()],
        ..Policy::default()
    };
    for fine in [
        "https://10.1.2.3/", "https://167772161/", "https://[::ffff:10.1.1.1]/",
        "https://receiver/", "https://a.svc.cluster.local/", "https://cluster.local/",
        "https://x.receiver/",
    ] {
        assert!(policy.parse(fine).is_ok(), "{fine}");
    }
    for closed in [
        "https://11.local/", "https://192.168.1.1/", "https://notcluster.local/",
        "https://myreceiver/", "https://localhost/", "http://10.1.2.3/",
    ] {
        assert!(policy.parse(closed).is_err(), "{closed}");
    }
}

#[test]
#[rustfmt::skip]
fn development_opens_this_machine_and_no_other() {
    let dev = Policy::for_dev();
    for fine in [
        "http://127.0.0.1:8080/", "http://localhost:3000/", "http://a.localhost/", "http://[::1]/",
        "https://127.8.9.1/", "http://0x7f.1/", "http://[::ffff:127.0.0.1]/",
        "http://localhost.:80/",
    ] {
        assert!(dev.parse(fine).is_ok(), "{fine}: {:?}", dev.parse(fine));
    }
    for closed in [
        "http://10.0.0.1/", "https://169.254.169.254/", "http://example.com/", "http://0.0.0.0/",
        "http://[::]/", "http://notlocalhost/", "http://localhost:22/", "http://8.8.8.8/",
    ] {
        assert!(dev.parse(closed).is_err(), "{closed}");
    }
}

#[test]
#[rustfmt::skip]
fn refusals_say_what_to_do() {
    for url in [
        "http://example.com/", "ftp://a.b/", "https://a@b.c/", "https://vault/", "x",
        "https://127.1/", "https://a.b:22/", "https://a.b/#",
    ] {
        assert!(refused(url).to_string().contains("hint: "), "{url}");
    }
}

/// The operator's own service may be anywhere; its client reaches no other name or port.
#[test]
fn what_the_operator_has_set_is_reached_wherever_it_is() {
    for url in
        ["http://minio:9000/", "http://10.0.0.7:5432/", "https://s3.internal/", "http://[fd00::1]/"]
    {
        let url = url.parse().unwrap();
        assert!(Policy::default().check(&url).is_err(), "{url}");
        assert!(Policy::for_operators(&url).check(&url).is_ok(), "{url}");
    }
    let minio = Policy::for_operators(&"http://minio:9000/".parse().unwrap());
    for other in ["http://redis:9000/", "http://minio:6379/", "ftp://minio:9000/"] {
        assert!(minio.check(&other.parse().unwrap()).is_err(), "{other}");
    }
}
