//! Fetches a short document under the same rules as a delivery, and reports whether it is complete.

use gancho_egress::{Client, Settings};
use gancho_testkit::receiver::{Receiver, Step};

use crate::stage::{AMPLE, DEADLINE, client, code, http, settings};

async fn serving(head: &str, body: &str) -> Receiver {
    let text = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    Receiver::plain(move |_| vec![Step::ReadRequest, Step::send(&text), Step::Hang]).await.unwrap()
}

#[tokio::test]
async fn what_is_short_comes_whole() {
    let receiver = serving("200 OK", "a document").await;
    let fetched = client().get(&http(receiver.port()), AMPLE, 10).await.answer.unwrap();
    assert_eq!((&fetched.body[..], fetched.is_whole), (&b"a document"[..], true));
    let text = receiver.requests()[0].text();
    assert!(text.starts_with("GET /hook?a=b HTTP/1.1\r\n"), "{text}");
    assert!(!text.to_ascii_lowercase().contains("content-length"), "{text}");
    assert!(text.ends_with("\r\n\r\n"), "{text}");
}

#[tokio::test]
async fn what_is_longer_or_breaks_off_is_not() {
    let receiver = serving("200 OK", "a document").await;
    let fetched = client().get(&http(receiver.port()), AMPLE, 9).await.answer.unwrap();
    assert_eq!((&fetched.body[..], fetched.is_whole), (&b"a documen"[..], false));
    for steps in [
        vec![Step::ReadRequest, Step::send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")],
        vec![
            Step::ReadRequest,
            Step::send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
            Step::Hang,
        ],
    ] {
        let receiver = Receiver::plain(move |_| steps.clone()).await.unwrap();
        let fetched = client().get(&http(receiver.port()), DEADLINE, 100).await.answer.unwrap();
        assert_eq!((&fetched.body[..], fetched.is_whole), (&b"half"[..], false));
    }
}

#[tokio::test]
async fn redirects_are_answers_and_the_guard_stands() {
    let elsewhere = serving("200 OK", "secret").await;
    let to = format!("302 Found\r\nlocation: http://127.0.0.1:{}/", elsewhere.port());
    let receiver = serving(&to, "").await;
    let fetched = client().get(&http(receiver.port()), AMPLE, 100).await.answer.unwrap();
    assert_eq!((fetched.status, elsewhere.accepted()), (302, 0));
    let strict = Settings { policy: gancho_egress::Policy::default(), ..settings() };
    let strict = Client::new(strict).unwrap();
    let outcome = strict.get(&http(elsewhere.port()), AMPLE, 100).await;
    assert_eq!((code(&outcome), elsewhere.accepted()), ("ADDRESS_BLOCKED", 0));
}

#[tokio::test]
async fn any_method_with_a_body_and_headers() {
    let receiver = serving("200 OK\r\netag: \"1\"", "").await;
    let url = http(receiver.port());
    for method in ["PUT", "DELETE", "HEAD"] {
        let mut request = http::Request::new(bytes::Bytes::from_static(b"abc"));
        *request.method_mut() = method.parse().unwrap();
        request.headers_mut().insert("x-own", "1".parse().unwrap());
        let client = client();
        let answer = client.send(request, &url, AMPLE, 10).await.answer.unwrap();
        assert_eq!(answer.status, 200);
        assert!(String::from_utf8_lossy(&answer.headers).contains("etag: \"1\""));
        let sent = receiver.requests().last().unwrap().text().to_ascii_lowercase();
        assert!(sent.starts_with(&method.to_ascii_lowercase()), "{sent}");
        assert!(sent.contains("x-own: 1") && sent.ends_with("abc"), "{sent}");
    }
}
