//! A proxy that the operator configured: CONNECT for https, the whole URL for http.

use gancho_egress::{Client, Policy, Proxy, Settings};
use gancho_testkit::receiver::{Receiver, Step};

use crate::stage::{AMPLE, Scripted, code, post, reason, settings, status};

fn through(receiver: &Receiver) -> Client {
    let proxy = Proxy {
        host: "127.0.0.1".to_owned(),
        port: receiver.port(),
        authorization: Some("Basic abc".parse().unwrap()),
    };
    Client::new(Settings {
        policy: Policy { allow_http: true, ..Policy::default() },
        proxy: Some(proxy),
        resolver: Some(Scripted::new(|_| panic!("the proxy resolves"))),
        ..settings()
    })
    .unwrap()
}

#[tokio::test]
async fn plain_http_goes_with_the_whole_url() {
    let proxy =
        Receiver::plain(|_| [Step::ReadRequest, Step::ok()].into_iter().cycle().take(4).collect());
    let proxy = proxy.await.unwrap();
    let client = through(&proxy);
    for _ in 0..2 {
        let url = "http://hooks.example.com:8080/a?b".parse().unwrap();
        assert_eq!(status(&post(&client, &url, AMPLE).await), 200);
    }
    assert_eq!(proxy.accepted(), 1);
    let text = proxy.requests()[0].text();
    assert!(text.starts_with("POST http://hooks.example.com:8080/a?b HTTP/1.1\r\n"), "{text}");
    assert!(text.contains("host: hooks.example.com:8080\r\n"), "{text}");
    assert!(text.contains("proxy-authorization: Basic abc\r\n"), "{text}");
}

#[tokio::test]
async fn https_goes_through_a_tunnel() {
    let refusing = |_| vec![Step::ReadRequest, Step::send("HTTP/1.1 403 Forbidden\r\n\r\n")];
    let proxy = Receiver::plain(refusing).await.unwrap();
    let url = "https://hooks.example.com/a".parse().unwrap();
    let outcome = post(&through(&proxy), &url, AMPLE).await;
    assert_eq!(code(&outcome), "CONNECT_FAILED");
    assert_eq!(reason(&outcome), "the proxy answered 403 to CONNECT");
    let text = proxy.requests()[0].text();
    assert_eq!(
        text,
        "CONNECT hooks.example.com:443 HTTP/1.1\r\nhost: hooks.example.com:443\r\n\
         proxy-authorization: Basic abc\r\n\r\n"
    );

    let opening = |_| vec![Step::ReadRequest, Step::send("HTTP/1.1 200 OK\r\n\r\nplain text")];
    let proxy = Receiver::plain(opening).await.unwrap();
    assert_eq!(code(&post(&through(&proxy), &url, AMPLE).await), "TLS_FAILED");
}

#[tokio::test]
async fn a_proxy_does_not_open_private_urls() {
    let proxy = Receiver::plain(|_| vec![Step::ReadRequest, Step::ok()]).await.unwrap();
    for url in ["http://127.0.0.1/", "http://169.254.169.254/", "http://localhost/"] {
        let outcome = post(&through(&proxy), &url.parse().unwrap(), AMPLE).await;
        assert_eq!(code(&outcome), "ADDRESS_BLOCKED");
    }
    assert_eq!(proxy.accepted(), 0);
}
