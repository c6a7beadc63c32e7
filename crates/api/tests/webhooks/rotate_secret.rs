//! Rotation of a secret.

use serde_json::json;

use crate::stage::{Stage, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn rotation_lets_both_sign() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let path = format!("/v1/webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = hands.client.post(&path, &json!({"overlap": "1h"})).await.is(200).json();
    assert_ne!(rotated["secret"], webhook["secret"]);
    assert!(rotated["old_secret_until"].is_string());
    let event = hands.publish("a.b", json!({})).await;
    hands.delivery(&event, "delivered").await;
    let request = receiver.requests()[0].text().to_lowercase();
    let line = request.lines().find(|line| line.starts_with("webhook-signature:")).unwrap();
    assert_eq!(line.matches("v1,").count(), 2, "{line}");
    let now = hands.client.call("POST", &path.replace("rotate-", ""), None).await;
    assert_eq!(now.status, 405);
    for (body, pointer) in
        [(json!({"overlap": "8d"}), "/overlap"), (json!({"secret": "short"}), "/secret")]
    {
        assert_eq!(hands.client.post(&path, &body).await.is(422).pointers(), [pointer]);
    }
    let at_once = hands.client.post(&path, &json!({"overlap": "0s"})).await.is(200).json();
    assert_eq!(at_once["old_secret_until"], json!(null));
}
