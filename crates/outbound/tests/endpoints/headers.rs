//! Each header is on the wire once, encrypted at rest, and masked when shown.

use std::collections::BTreeMap;

use gancho_outbound::{EndpointDraft, EndpointError};
use gancho_store::DeliveryFilter;
use gancho_testkit::http_request::arrived;

use crate::stage::{Stage, draft, event, ok};

async fn verdict(stage: &Stage, headers: &[(&str, &str)]) -> Vec<&'static str> {
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let draft = EndpointDraft {
        url: Some("https://example.com/".into()),
        events: Some(vec!["*".into()]),
        headers: Some(headers),
        ..EndpointDraft::default()
    };
    match stage.desk.create(stage.scope, &stage.tenant, draft).await {
        Ok(_) => Vec::new(),
        Err(EndpointError::Faulty(errors)) => {
            assert!(errors.iter().all(|error| error.pointer.starts_with("/headers")), "{errors:?}");
            errors.iter().map(|error| error.code).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn nothing_that_could_end_a_line() {
    let stage = Stage::new().await;
    for value in [
        "a\r\nX-Evil: 1",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\tb",
        "a\x7fb",
        "a\r\n folded",
        "ção",
        "a\u{ff}",
        "\u{2028}",
        " a",
        "a ",
        "\u{1b}[31m",
        "\u{0b}",
    ] {
        assert_eq!(verdict(&stage, &[("X-A", value)]).await, ["header_value"], "{value:?}");
    }
    for name in ["X\r\nY", "X\nY", "X\0", "X\t", "X\x7f", "Ação", "X\u{2011}A"] {
        assert_eq!(verdict(&stage, &[(name, "a")]).await, ["header_name"], "{name:?}");
    }
    assert_eq!(verdict(&stage, &[("X-A", "a%0d%0aX-Evil: 1")]).await, [""; 0], "it stays as it is");
    assert_eq!(verdict(&stage, &[("X-A", "")]).await, [""; 0]);
}

#[tokio::test]
async fn sizes() {
    let stage = Stage::new().await;
    for name in ["", " ", "X A", "X:", ":authority", "X A:", &"x".repeat(257)] {
        assert_eq!(verdict(&stage, &[(name, "a")]).await, ["header_name"], "{name:?}");
    }
    let at_most = "x".repeat(8 * 1024);
    assert_eq!(verdict(&stage, &[("X-A", &at_most)]).await, [""; 0]);
    assert_eq!(verdict(&stage, &[("X-A", &format!("{at_most}x"))]).await, ["header_value"]);
    let names: Vec<String> = (0..101).map(|n| format!("X-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a")).collect();
    assert_eq!(verdict(&stage, &many[..100]).await, [""; 0]);
    assert_eq!(verdict(&stage, &many).await, ["too_many"]);
    let heavy: Vec<(&str, &str)> =
        names[..8].iter().map(|name| (name.as_str(), at_most.as_str())).collect();
    assert_eq!(verdict(&stage, &heavy).await, ["too_long"]);
    assert_eq!(verdict(&stage, &heavy[..7]).await, [""; 0]);
}

#[tokio::test]
async fn framing_is_ours() {
    let stage = Stage::new().await;
    for name in [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "Proxy-Connection",
        "HTTP2-Settings",
        "Content-Encoding",
        "Content-Type",
        "User-Agent",
        "Accept-Encoding",
        "traceparent",
    ] {
        for spelled in
            [name.to_owned(), name.to_uppercase(), name.to_lowercase(), name.replace('-', "_")]
        {
            assert_eq!(verdict(&stage, &[(&spelled, "a")]).await, ["header_reserved"], "{spelled}");
        }
    }
}

#[tokio::test]
async fn none_that_looks_like_ours() {
    let stage = Stage::new().await;
    for name in [
        "webhook-id",
        "Webhook-Timestamp",
        "WEBHOOK_SIGNATURE",
        "webhook-anything",
        "X-Webhook-Event",
        "x_webhook_signature",
        "X-Gancho-Anything",
        "X-Signature",
        "X-Event-Id",
        "X-Sent-At",
        "X-Retry-Count",
    ] {
        assert_eq!(verdict(&stage, &[(name, "a")]).await, ["header_reserved"], "{name}");
    }
    assert_eq!(verdict(&stage, &[("X-Api-Key", "a"), ("x-api-key", "b")]).await, ["header_twice"]);
    assert_eq!(verdict(&stage, &[("X-Api-Key", "a"), ("X_Api_Key", "b")]).await, ["header_twice"]);
    assert_eq!(verdict(&stage, &[("X-Api-Key", "a"), ("X-Api-Keys", "b")]).await, [""; 0]);
}

/// A response can be written back: the mask keeps the value.
#[tokio::test]
async fn sent_once_and_never_shown() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let canary = "canary-7f3a";
    let headers: BTreeMap<String, String> = [
        ("Authorization", format!("Bearer {canary}")),
        ("Cookie", format!("a={canary}")),
        ("X-Api-Key", canary.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let created =
        stage.create(EndpointDraft { headers: Some(headers), ..draft(&receiver, &["*"]) }).await;
    let endpoint = stage.read(created.endpoint.id).await;
    assert!(!format!("{endpoint:?}").contains(canary));
    let sealed = endpoint.sealed_headers.as_deref().unwrap();
    assert!(!String::from_utf8_lossy(sealed).contains(canary), "it is sealed");
    let shown = stage.desk.headers(&endpoint).unwrap();
    assert_eq!(shown.keys().collect::<Vec<_>>(), ["Authorization", "Cookie", "X-Api-Key"]);
    assert!(shown.values().all(|value| value == "••••"), "{shown:?}");

    let view = stage.publish_and_end(event("a.b", "{}")).await;
    let seen = &arrived(&receiver, 1).await[0];
    assert_eq!(seen.one("authorization"), format!("Bearer {canary}"));
    assert_eq!(seen.one("x-api-key"), canary);
    for internal_failure in [
        "host",
        "content-type",
        "user-agent",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "traceparent",
        "content-length",
    ] {
        seen.one(internal_failure);
    }
    let record = String::from_utf8(view.attempts[0].request_headers.to_vec()).unwrap();
    assert!(!record.contains(canary), "{record}");
    for name in ["authorization", "cookie", "x-api-key"] {
        assert!(record.contains(&format!("{name}: ••••\n")), "{record}");
    }
    assert!(record.contains(&format!("webhook-id: {}\n", view.row.event)), "{record}");
    let rows = stage.deliveries(DeliveryFilter::default()).await;
    assert!(!format!("{rows:?}").contains(canary));
}

/// What was read can be written back: the mask keeps the value.
#[tokio::test]
async fn the_mask_keeps_a_value() {
    let stage = Stage::new().await;
    let receiver = ok().await;
    let given =
        [("X-Api-Key".to_owned(), "first".to_owned()), ("X-Other".to_owned(), "o".to_owned())];
    let created = stage
        .create(EndpointDraft { headers: Some(given.into()), ..draft(&receiver, &["*"]) })
        .await;
    let id = created.endpoint.id;
    let back = [("x-api-key".to_owned(), "••••".to_owned()), ("X-New".to_owned(), "n".to_owned())];
    let patch = EndpointDraft { headers: Some(back.into()), ..EndpointDraft::default() };
    stage.desk.change(stage.scope, id, patch, false).await.unwrap();
    stage.publish(event("a.b", "{}")).await;
    let seen = &arrived(&receiver, 1).await[0];
    assert_eq!((seen.one("x-api-key"), seen.one("x-new")), ("first", "n"));
    assert_eq!(seen.all("x-other"), [""; 0], "it was left out");

    let unknown = EndpointDraft {
        headers: Some([("X-Unknown".to_owned(), "••••".to_owned())].into()),
        ..EndpointDraft::default()
    };
    let refused = stage.desk.change(stage.scope, id, unknown, false).await;
    assert!(
        matches!(refused, Err(EndpointError::Faulty(errors)) if errors[0].code == "header_value")
    );
    let none = EndpointDraft { headers: Some(BTreeMap::new()), ..EndpointDraft::default() };
    assert_eq!(stage.desk.change(stage.scope, id, none, false).await.unwrap().sealed_headers, None);
}
