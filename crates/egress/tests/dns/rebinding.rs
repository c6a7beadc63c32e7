//! Names that resolve to another address each time. The tests check not what the client says, but whether a
//! connection arrived where none may arrive.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use gancho_domain::{Time, Verdict};
use gancho_egress::{AddressPolicy, Client, Outcome, Policy, Settings, verdict};
use gancho_testkit::receiver::{Receiver, Step};

use crate::stage::{AMPLE, NAME, Scripted, code, post, reason, settings, status};

const PUBLIC: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const PRIVATE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
const PRIVATE_SIX: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Listeners on one port of three addresses: one is allowed, two are not.
struct Street {
    public: Receiver,
    private: Receiver,
    private_six: Receiver,
}

impl Street {
    async fn build() -> Self {
        // Responses close the connection, so that each delivery has to connect.
        let script = |_| {
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            vec![Step::ReadRequest, Step::send(answer)]
        };
        loop {
            let public = Receiver::on(SocketAddr::new(PUBLIC, 0), None, script).await.unwrap();
            let port = public.port();
            let private = Receiver::on(SocketAddr::new(PRIVATE, port), None, script).await;
            let private_six = Receiver::on(SocketAddr::new(PRIVATE_SIX, port), None, script).await;
            if let (Ok(private), Ok(private_six)) = (private, private_six) {
                return Self { public, private, private_six };
            }
        }
    }

    fn url(&self) -> url::Url {
        format!("http://{NAME}:{}/", self.public.port()).parse().unwrap()
    }

    fn intrusions(&self) -> usize {
        self.private.accepted() + self.private_six.accepted()
    }
}

/// Allows only the one address; the tables deny the rest of loopback.
fn guarded(resolver: Arc<Scripted>) -> Client {
    let addresses =
        AddressPolicy { allow: vec!["127.0.0.2/32".parse().unwrap()], ..AddressPolicy::default() };
    let policy = Policy { addresses, allow_http: true, ..Policy::default() };
    Client::new(Settings { policy, resolver: Some(resolver), ..settings() }).unwrap()
}

/// Returns every mix of allowed and denied addresses.
fn flips(lookup: usize) -> Vec<IpAddr> {
    let mapped = |ip: [u8; 4]| IpAddr::V6(Ipv4Addr::from(ip).to_ipv6_mapped());
    match lookup % 8 {
        0 | 2 => vec![PUBLIC],
        1 => vec![PRIVATE],
        3 => vec![PUBLIC, PRIVATE],
        4 => vec![PRIVATE_SIX, PUBLIC],
        5 => vec![mapped([127, 0, 0, 3])],
        6 => vec![mapped([127, 0, 0, 2])],
        _ => vec![PUBLIC, PUBLIC, PUBLIC, PRIVATE_SIX],
    }
}

fn may_pass(lookup: usize) -> bool {
    matches!(lookup % 8, 0 | 2 | 6)
}

#[tokio::test]
async fn a_thousand_flips_reach_nothing_private() {
    let street = Street::build().await;
    let resolver = Scripted::new(flips);
    let client = guarded(resolver.clone());
    let mut delivered = 0;
    for attempt in 0..1_000 {
        let outcome = post(&client, &street.url(), AMPLE).await;
        assert_eq!(resolver.lookups(), attempt + 1, "one lookup per attempt");
        if may_pass(attempt) {
            assert_eq!(status(&outcome), 200);
            delivered += 1;
        } else {
            assert_blocked(&outcome);
        }
    }
    assert_eq!(street.intrusions(), 0, "nothing private was reached");
    assert_eq!(street.public.accepted(), delivered);
}

/// The same without the guard: the listeners do notice, so the test above can fail.
#[tokio::test]
async fn without_the_guard_the_same_flips_get_through() {
    let street = Street::build().await;
    let policy = Policy { allow_http: true, ..Policy::for_dev() };
    let resolver = Some(Scripted::new(flips) as Arc<_>);
    let client = Client::new(Settings { policy, resolver, ..settings() }).unwrap();
    for _ in 0..16 {
        assert_eq!(status(&post(&client, &street.url(), AMPLE).await), 200);
    }
    assert!(street.intrusions() >= 6, "{}", street.intrusions());
}

fn assert_blocked(outcome: &Outcome) {
    assert_eq!(code(outcome), "ADDRESS_BLOCKED");
    assert_eq!(reason(outcome), "the address is not allowed");
    let concluded = verdict(outcome, Time::ZERO).verdict;
    assert!(matches!(concluded, Verdict::Retry { .. }), "the DNS may be mended");
}

/// An open, a closed and a filtered private port look alike, and so do all private addresses.
#[tokio::test]
async fn refusals_tell_nothing_about_the_network() {
    let street = Street::build().await;
    let open = street.public.port();
    for address in
        [PRIVATE, PRIVATE_SIX, "10.0.0.1".parse().unwrap(), "169.254.169.254".parse().unwrap()]
    {
        let client = guarded(Scripted::new(move |_| vec![address]));
        for port in [open, 8443] {
            let named =
                post(&client, &format!("http://{NAME}:{port}/").parse().unwrap(), AMPLE).await;
            assert_blocked(&named);
            let host = SocketAddr::new(address, port);
            let literal = post(&client, &format!("http://{host}/").parse().unwrap(), AMPLE).await;
            assert_eq!(code(&literal), "ADDRESS_BLOCKED");
            assert_eq!(reason(&literal), reason(&named));
            let concluded = verdict(&literal, Time::ZERO).verdict;
            assert!(matches!(concluded, Verdict::Never { .. }), "a literal stays what it is");
        }
    }
    assert_eq!(street.intrusions(), 0);
}

/// An open connection is not used again once the policy denies its peer.
#[tokio::test]
async fn a_kept_connection_is_judged_by_the_policy_of_today() {
    let kept = |_| vec![Step::ReadRequest, Step::ok(), Step::ReadRequest, Step::ok(), Step::Hang];
    let receiver = Receiver::on(SocketAddr::new(PUBLIC, 0), None, kept).await.unwrap();
    let resolver = Scripted::new(|_| vec![PUBLIC]);
    let client = guarded(resolver.clone());
    let url = format!("http://{NAME}:{}/", receiver.port()).parse().unwrap();
    assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
    assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
    assert_eq!((receiver.accepted(), resolver.lookups()), (1, 1), "kept, and not asked again");

    client.set_policy(Policy { allow_http: true, ..Policy::default() });
    assert_blocked(&post(&client, &url, AMPLE).await);
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(client.kept_connections(), 0);
}

#[tokio::test]
async fn odd_answers_of_the_resolver() {
    let url = |port| format!("http://{NAME}:{port}/").parse().unwrap();
    let receiver = Receiver::on(SocketAddr::new(PUBLIC, 0), None, |_| vec![]).await.unwrap();
    let none = guarded(Scripted::new(|_| vec![]));
    assert_eq!(code(&post(&none, &url(receiver.port()), AMPLE).await), "DNS_FAILED");
    for count in [33, 1_000] {
        let many = guarded(Scripted::new(move |_| vec![PUBLIC; count]));
        assert_eq!(code(&post(&many, &url(receiver.port()), AMPLE).await), "DNS_FAILED");
        let mixed = guarded(Scripted::new(move |_| [vec![PUBLIC; count], vec![PRIVATE]].concat()));
        assert_eq!(code(&post(&mixed, &url(receiver.port()), AMPLE).await), "ADDRESS_BLOCKED");
    }
    assert_eq!(receiver.accepted(), 0);
}

/// The first addresses are dead, the last one responds.
#[tokio::test]
async fn addresses_are_tried_in_turn() {
    let street = Street::build().await;
    let policy = Policy { allow_http: true, ..Policy::for_dev() };
    let dead = |last| IpAddr::V4(Ipv4Addr::new(127, 0, 9, last));
    let resolver = Scripted::new(move |_| vec![dead(1), dead(2), dead(3), PUBLIC]);
    let client = Client::new(Settings { policy, resolver: Some(resolver), ..settings() }).unwrap();
    assert_eq!(status(&post(&client, &street.url(), AMPLE).await), 200);
    assert_eq!(street.public.accepted(), 1);
}
