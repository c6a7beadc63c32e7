//! Certificates and handshakes, valid and invalid.

use std::{sync::Arc, time::Duration};

use gancho_domain::{Time, Verdict};
use gancho_egress::{Client, Settings, verdict};
use gancho_testkit::{
    receiver::{Receiver, Step},
    tls::{Authority, Validity, self_signed},
};
use rustls::ServerConfig;

use crate::stage::{AMPLE, NAME, code, https, post, reason, settings, status};

fn trusting(authority: &Authority) -> Client {
    let tls_timeout = Duration::from_millis(500);
    Client::new(Settings { extra_roots: vec![authority.root()], tls_timeout, ..settings() })
        .unwrap()
}

async fn serving(config: Arc<ServerConfig>) -> Receiver {
    Receiver::tls(config, |_| vec![Step::ReadRequest, Step::ok(), Step::ReadRequest, Step::ok()])
        .await
        .unwrap()
}

#[tokio::test]
async fn a_good_certificate_with_an_extra_root() {
    let authority = Authority::new().unwrap();
    let client = trusting(&authority);
    for alpn in [&["http/1.1"][..], &[]] {
        let receiver = serving(authority.server(&[NAME], Validity::Now, alpn).unwrap()).await;
        for _ in 0..2 {
            assert_eq!(status(&post(&client, &https(receiver.port()), AMPLE).await), 200);
        }
        assert_eq!(receiver.accepted(), 1, "kept");
        assert!(
            receiver.requests()[0].text().contains(&format!("host: {NAME}:{}", receiver.port()))
        );
    }
    let wild = serving(authority.server(&["*.example.com"], Validity::Now, &[]).unwrap()).await;
    assert_eq!(status(&post(&client, &https(wild.port()), AMPLE).await), 200);
    let by_address = serving(authority.server(&["127.0.0.1"], Validity::Now, &[]).unwrap()).await;
    let url = format!("https://127.0.0.1:{}/", by_address.port()).parse().unwrap();
    assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
}

#[tokio::test]
async fn bad_certificates() {
    let authority = Authority::new().unwrap();
    let stranger = Authority::new().unwrap();
    let client = trusting(&authority);
    let server = |names: &[&str], life| authority.server(names, life, &[]).unwrap();
    let cases = [
        ("expired", server(&[NAME], Validity::Over), "expired"),
        ("not yet valid", server(&[NAME], Validity::Ahead), "not valid yet"),
        ("another host", server(&["other.example.com"], Validity::Now), "not valid for name"),
        ("a wildcard too high", server(&["*.com"], Validity::Now), "not valid for name"),
        ("an address for a name", server(&["127.0.0.1"], Validity::Now), "not valid for name"),
        ("no names", server(&[], Validity::Now), "not valid for name"),
        ("self-signed", self_signed(&[NAME]).unwrap(), "UnknownIssuer"),
        ("a stranger's", stranger.server(&[NAME], Validity::Now, &[]).unwrap(), "UnknownIssuer"),
    ];
    for (case, config, expected) in cases {
        let receiver = serving(config).await;
        let outcome = post(&client, &https(receiver.port()), AMPLE).await;
        assert_eq!(code(&outcome), "TLS_FAILED", "{case}");
        assert!(reason(&outcome).contains(expected), "{case}: {}", reason(&outcome));
        assert!(receiver.requests().is_empty(), "{case}: nothing was said");
        assert!(matches!(verdict(&outcome, Time::ZERO).verdict, Verdict::Retry { .. }));
    }
}

#[tokio::test]
async fn no_tls_at_the_other_end() {
    let authority = Authority::new().unwrap();
    let client = trusting(&authority);
    // The alert of a server that supports no common version.
    let alert = vec![0x15, 3, 1, 0, 2, 2, 70];
    let long = [vec![0x16, 3, 3, 0x40, 0], vec![0x0b; 0x4000]].concat();
    for (case, steps) in [
        ("plain HTTP", vec![Step::send("HTTP/1.1 400 Bad Request\r\n\r\n"), Step::Hang]),
        ("silence", vec![Step::Hang]),
        ("closed", vec![]),
        ("reset", vec![Step::ReadBytes(5), Step::Reset]),
        ("an alert", vec![Step::Send(alert), Step::Hang]),
        ("endless records", vec![Step::Flood(long)]),
        ("drip", vec![Step::Drip(vec![0x16; 1_000], Duration::from_millis(10))]),
    ] {
        let receiver = Receiver::plain(move |_| steps.clone()).await.unwrap();
        let outcome = post(&client, &https(receiver.port()), AMPLE).await;
        assert_eq!(code(&outcome), "TLS_FAILED", "{case}");
        assert!(outcome.latency < Duration::from_secs(2), "{case}: {:?}", outcome.latency);
    }
}

/// The deadline of the request ends before the handshake's own.
#[tokio::test]
async fn a_stalled_handshake_ends_with_the_deadline() {
    let receiver = Receiver::plain(|_| vec![Step::Hang]).await.unwrap();
    let client = trusting(&Authority::new().unwrap());
    let deadline = Duration::from_millis(100);
    let outcome = post(&client, &https(receiver.port()), deadline).await;
    assert_eq!(code(&outcome), "TIMEOUT");
    assert!(outcome.latency < deadline * 3, "{:?}", outcome.latency);
}

/// HTTPS is not downgraded, and plain HTTP is not sent over TLS.
#[tokio::test]
async fn plain_http_to_a_tls_port() {
    let authority = Authority::new().unwrap();
    let receiver = serving(authority.server(&[NAME], Validity::Now, &[]).unwrap()).await;
    let url = format!("http://{NAME}:{}/", receiver.port()).parse().unwrap();
    let outcome = post(&trusting(&authority), &url, AMPLE).await;
    assert_eq!(code(&outcome), "PROTOCOL_ERROR");
}
