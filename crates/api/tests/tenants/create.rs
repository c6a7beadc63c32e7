//! Tenants: created, found, changed and listed.

use serde_json::json;

use crate::stage::Stage;

async fn life(stage: &Stage) {
    let operator = stage.operator();
    let made = operator.post("/v1/tenants", &json!({"slug": "m2"})).await.is(201).json();
    assert_eq!(made["name"], "m2");
    assert_eq!(made["plan"], "unlimited");
    assert_eq!(made["default_profile"], "standard");
    assert!(made["id"].as_str().unwrap().starts_with("ten_"));
    operator.post("/v1/tenants", &json!({"slug": "m2"})).await.refused(409, "taken");
    for path in ["/v1/tenants/m2".to_owned(), format!("/tenants/{}", made["id"].as_str().unwrap())]
    {
        assert_eq!(operator.get(&path).await.is(200).json(), made);
    }
    let change = json!({"plan": "pro", "name": "Casa", "default_profile": "saas",
        "strict_event_types": true, "publish_rate": {"count": 3, "per": "1m"}});
    let changed = operator.patch("/v1/tenants/m2", &change).await.is(200).json();
    assert_eq!(changed["publish_rate"], json!({"count": 3, "per": "1m"}));
    assert_eq!(operator.get("/v1/tenants/m2").await.json(), changed);
    let back = operator.patch("/v1/tenants/m2", &json!({"publish_rate": null})).await.is(200);
    assert_eq!(back.json()["publish_rate"], json!(null));
    let usual = json!({"events": null, "emails": null, "dead_letters": null});
    assert_eq!(back.json()["retention"], usual);
    let own = json!({"retention": {"events": "336h", "emails": "7d"}});
    let changed = operator.patch("/v1/tenants/m2", &own).await.is(200).json();
    assert_eq!(
        changed["retention"],
        json!({"events": "14d", "emails": "7d", "dead_letters": null})
    );
    let own = json!({"retention": {"emails": null, "dead_letters": "30d"}});
    let changed = operator.patch("/v1/tenants/m2", &own).await.is(200).json();
    assert_eq!(
        changed["retention"],
        json!({"events": "14d", "emails": null, "dead_letters": "30d"})
    );
    assert_eq!(operator.get("/v1/tenants/m2").await.json(), changed);
    let back = operator.patch("/v1/tenants/m2", &json!({"retention": null})).await.is(200);
    assert_eq!(back.json()["retention"], usual);
    for n in 0..5 {
        operator.post("/v1/tenants", &json!({"slug": format!("t{n}")})).await.is(201);
    }
    let first = operator.get("/v1/tenants?limit=4").await.is(200).json();
    let next = first["next_cursor"].as_str().unwrap();
    let second = operator.get(&format!("/v1/tenants?limit=4&cursor={next}")).await.is(200).json();
    assert_eq!(second["next_cursor"], json!(null));
    let slugs = |page: &serde_json::Value| {
        let rows = page["data"].as_array().unwrap().clone();
        rows.iter().map(|row| row["slug"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!([slugs(&first), slugs(&second)].concat(), ["m2", "t0", "t1", "t2", "t3", "t4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn made_found_changed_and_listed() {
    life(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    life(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_tenant() {
    let stage = Stage::new().await;
    for (body, pointer) in [
        (json!({"slug": "A"}), "/slug"),
        (json!({"slug": "a b"}), "/slug"),
        (json!({"slug": ".."}), "/slug"),
        (json!({"slug": "a", "plan": "gold"}), "/plan"),
        (json!({"slug": "a", "default_profile": "none"}), "/default_profile"),
        (json!({"slug": "a", "publish_rate": {"count": 1, "per": "1ms"}}), "/publish_rate/per"),
        (json!({"slug": "a", "publish_rate": {"count": 0, "per": "1s"}}), "/publish_rate/count"),
        (json!({"slug": "a", "retention": {"events": "59m"}}), "/retention/events"),
        (json!({"slug": "a", "retention": {"emails": "soon"}}), "/retention/emails"),
        (json!({"slug": "a", "retention": {"dead_letters": "4000d"}}), "/retention/dead_letters"),
        (json!({"slug": "a", "retention": {"receipts": "4d"}}), "/retention/receipts"),
    ] {
        let reply = stage.operator().post("/v1/tenants", &body).await.is(422);
        assert_eq!(reply.pointers(), [pointer], "{body}");
    }
    let missing = stage.operator().post("/v1/tenants", &json!({})).await;
    assert_eq!(missing.refused(422, "missing_field").pointers(), ["/slug"]);
}
