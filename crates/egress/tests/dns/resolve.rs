//! The real resolver against a name server that answers as the test says.

use std::{net::IpAddr, time::Duration};

use gancho_egress::{AddressPolicy, Client, Policy, Settings};
use gancho_testkit::{
    dns::{NameServer, Reply},
    receiver::{Receiver, Step},
};

use crate::stage::{AMPLE, code, post, reason, settings, status};

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn script(name: &str) -> Reply {
    let many: Vec<IpAddr> = (1..=40).map(|last| IpAddr::from([127, 0, 0, last])).collect();
    match name.split('.').next().unwrap() {
        "good" => Reply::addresses(&ips(&["127.0.0.2"])),
        "alias" => Reply::Addresses { aliases: 3, addresses: ips(&["127.0.0.2"]) },
        "private" => Reply::addresses(&ips(&["10.0.0.1"])),
        "six" => Reply::addresses(&ips(&["::1"])),
        "mapped" => Reply::addresses(&ips(&["::ffff:10.0.0.1"])),
        "mixed" => Reply::addresses(&ips(&["127.0.0.2", "::1"])),
        "hidden" => Reply::Addresses { aliases: 7, addresses: ips(&["169.254.169.254"]) },
        "many" => Reply::addresses(&many),
        "none" => Reply::addresses(&[]),
        "another" => Reply::OfAnother(ips(&["127.0.0.2"])),
        "failing" => Reply::Failure,
        "silent" => Reply::Silence,
        _ => Reply::NoSuchName,
    }
}

async fn stage() -> (NameServer, Receiver, Client) {
    let server = NameServer::start(script).await.unwrap();
    let closing = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let receiver = Receiver::on("127.0.0.2:0".parse().unwrap(), None, move |_| {
        vec![Step::ReadRequest, Step::send(closing)]
    });
    let receiver = receiver.await.unwrap();
    let allow = vec!["127.0.0.0/24".parse().unwrap()];
    let addresses = AddressPolicy { allow, ..AddressPolicy::default() };
    let client = Client::new(Settings {
        policy: Policy { addresses, allow_http: true, ..Policy::default() },
        resolver: None,
        nameservers: vec![server.address()],
        resolve_timeout: Duration::from_millis(400),
        ..settings()
    });
    (server, receiver, client.unwrap())
}

#[tokio::test]
async fn names_and_what_becomes_of_them() {
    let (server, receiver, client) = stage().await;
    for (name, expected) in [
        ("good", "200"),
        ("alias", "200"),
        ("private", "ADDRESS_BLOCKED"),
        ("six", "ADDRESS_BLOCKED"),
        ("mapped", "ADDRESS_BLOCKED"),
        ("mixed", "ADDRESS_BLOCKED"),
        ("hidden", "ADDRESS_BLOCKED"),
        ("many", "DNS_FAILED"),
        ("none", "DNS_FAILED"),
        ("another", "DNS_FAILED"),
        ("failing", "DNS_FAILED"),
        ("silent", "DNS_FAILED"),
        ("unknown", "DNS_FAILED"),
    ] {
        let url = format!("http://{name}.example.com:{}/", receiver.port()).parse().unwrap();
        let outcome = post(&client, &url, AMPLE).await;
        match expected {
            "200" => assert_eq!(status(&outcome), 200, "{name}"),
            _ => assert_eq!(code(&outcome), expected, "{name}: {}", reason(&outcome)),
        }
        assert!(outcome.latency < Duration::from_secs(3), "{name}: {:?}", outcome.latency);
    }
    assert_eq!(receiver.accepted(), 2);
    assert!(server.questions() > 0);
}

/// One query for A and one for AAAA; search domains are not tried.
#[tokio::test]
async fn one_lookup_is_two_questions() {
    let (server, receiver, client) = stage().await;
    for attempt in 1..=20 {
        let url = format!("http://good.example.com:{}/", receiver.port()).parse().unwrap();
        assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
        assert_eq!(server.questions(), 2 * attempt);
    }
}
