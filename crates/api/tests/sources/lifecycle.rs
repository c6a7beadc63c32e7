//! Sources and their keys over the API: what is shown, what is not, and what is refused.

use serde_json::json;

use crate::{
    ingest::receive::{SECRET, acme},
    stage::{Stage, ids, receiver},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_made_shown_changed_and_deleted() {
    let stage = Stage::new().await;
    let operator = stage.operator();
    let made = operator.post("/v1/sources", &json!({"partner": "acme"})).await.is(201).json();
    assert!(made["id"].as_str().unwrap().starts_with("src_"));
    assert_eq!(made["targets"], json!(["http://127.0.0.1:9458/core/hooks/ingest"]));
    assert_eq!((&made["preset"], &made["is_active"]), (&json!("partner"), &json!(true)));
    let secret = made["dispatch_secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));
    operator.post("/v1/sources", &json!({"partner": "acme"})).await.refused(409, "taken");
    let shown = operator.get("/v1/sources/acme").await.is(200);
    assert!(!shown.text().contains(secret));
    assert_eq!(shown.json()["counts"], json!({"received": 0, "repeats": 0, "clashes": 0}));
    let change = json!({
        "preset": {"generic": {"header": "X-Sig", "encoding": "hex"}},
        "targets": ["https://one.example/", "https://two.example/"],
        "schema": {"type": "object"},
        "rate_limit": {"count": 10, "per": "1s"},
        "retry": {"schedule": ["1s", "5m"]},
        "event_id_pointer": "/id",
        "is_active": false,
    });
    let changed = operator.patch("/v1/sources/acme", &change).await.is(200).json();
    for (name, value) in change.as_object().unwrap() {
        assert_eq!(&changed[name], value, "{name}");
    }
    let unset =
        json!({"schema": null, "rate_limit": null, "retry": null, "event_id_pointer": null});
    let changed = operator.patch("/v1/sources/acme", &unset).await.is(200).json();
    for name in unset.as_object().unwrap().keys() {
        assert!(changed[name].is_null(), "{name}");
    }
    operator.delete("/v1/sources/acme").await.is(204);
    operator.get("/v1/sources/acme").await.refused(404, "not_found");
    operator.get("/v1/sources/no/such").await.refused(404, "no_route");
}

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

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_told_with_their_places() {
    let stage = Stage::new().await;
    let odd = json!({
        "partner": "acme",
        "preset": "paypal",
        "targets": ["ftp://x"],
        "schema": {"$ref": "http://169.254.169.254/"},
    });
    let refused = stage.operator().post("/v1/sources", &odd).await.is(422);
    let pointers = refused.pointers();
    for pointer in ["/preset", "/targets/0", "/schema"] {
        assert!(pointers.iter().any(|at| at == pointer), "{pointers:?}");
    }
    let refused = stage.operator().post("/v1/sources", &json!({"partner": "a/b"})).await.is(422);
    assert_eq!(refused.pointers(), ["/partner"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_is_read_anew() {
    let stage = Stage::new().await;
    let reply = stage.operator().post("/v1/_reload", &json!({})).await.is(200).json();
    assert_eq!(reply["policy_hash"].as_str().unwrap().len(), 64);
    stage.anyone().post("/_reload", &json!({})).await.refused(401, "unauthenticated");
    let list = stage.operator().get("/v1/rejections").await.is(200).json();
    assert_eq!(list["data"], json!([]));
}
