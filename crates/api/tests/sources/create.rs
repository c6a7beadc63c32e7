//! Sources: created, shown, changed and deleted, and what is refused.

use serde_json::json;

use crate::stage::Stage;

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
async fn errors_are_reported_with_their_places() {
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
