//! Keys of sources: imported, listed, and never shown.

use serde_json::json;

use crate::{
    ingest::receive::{SECRET, acme},
    stage::{Stage, ids, receiver},
};

#[tokio::test(flavor = "multi_thread")]
async fn keys_never_show_their_secrets() {
    let stage = Stage::new().await;
    let (_core, url) = receiver(200).await;
    acme(&stage, &url).await;
    let operator = stage.operator();
    let put = json!({"scheme": "hmac", "secret": "another secret of length", "replaces": "k1"});
    let reply = operator.put("/v1/sources/acme/keys/k2", &put).await.is(200);
    assert!(!reply.text().contains("another"));
    let list = operator.get("/v1/sources/acme/keys").await.is(200);
    assert!(!list.text().contains(SECRET) && !list.text().contains("another"));
    let keys = list.json()["data"].clone();
    assert_eq!((&keys[0]["key_id"], &keys[1]["key_id"]), (&json!("k1"), &json!("k2")));
    assert!(keys[0]["not_after"].is_string() && keys[1]["not_after"].is_null());
    assert_eq!(keys[0]["is_valid"], true);
    for (odd, pointer) in [
        (json!({"scheme": "hmac"}), "/secret"),
        (json!({"scheme": "ed25519", "publicKey": "AA=="}), "/publicKey"),
        (json!({"scheme": "hmac", "secret": "short"}), "/secret"),
        (
            json!({"scheme": "hmac", "secret": SECRET, "not_before": "2026-01-02T00:00:00Z", "not_after": "2026-01-01T00:00:00Z"}),
            "/not_after",
        ),
    ] {
        let refused = operator.put("/v1/sources/acme/keys/k3", &odd).await.is(422);
        assert_eq!(refused.pointers(), [pointer]);
    }
    operator.put("/v1/sources/nobody/keys/k1", &put).await.refused(404, "not_found");
    operator.delete("/v1/sources/acme/keys/k2").await.is(204);
    operator.delete("/v1/sources/acme/keys/k2").await.refused(404, "not_found");

    // Two sources may have keys with the same id.
    for operation in ["putSourceKey", "deleteSourceKey"] {
        let query = format!("/v1/audit?operation={operation}&resource=acme/k2");
        let acts = operator.get(&query).await.is(200).json();
        assert_eq!(acts["data"][0]["resource"], "acme/k2", "{acts}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_imported_and_lists_have_pages() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    let entries = json!({"entries": {
        "webhook:partner:acme:key:k1": {"scheme": "hmac", "algo": "sha256", "secret": SECRET},
        "webhook:partner:beta:key:k1": {"scheme": "hmac", "algo": "sha256", "secret": SECRET},
        "webhook:partner:beta:key:k2": {"scheme": "hmac", "algo": "sha256", "secret": SECRET},
    }});
    let done = operator.post("/v1/source-keys/import", &entries).await.is(200).json();
    assert_eq!(done, json!({"sources": 2, "keys": 3}));
    let odd =
        json!({"entries": {"webhook:partner:a/b:key:k1": {"scheme": "hmac", "secret": SECRET}}});
    let refused = operator.post("/v1/source-keys/import", &odd).await.is(422);
    assert_eq!(refused.pointers(), ["/entries/webhook:partner:a~1b:key:k1"]);
    assert!(!refused.text().contains(SECRET));
    let first = operator.get("/v1/sources?limit=1").await.is(200);
    let cursor = first.json()["next_cursor"].as_str().unwrap().to_owned();
    let second = operator.get(&format!("/v1/sources?limit=1&cursor={cursor}")).await.is(200);
    assert_ne!(ids(&first), ids(&second));
    assert!(second.json()["next_cursor"].is_null());
}
