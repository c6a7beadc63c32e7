//! Portal links: their access, and how they are revoked.

use serde_json::json;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_portal_link_is_one_tenants_and_reads_and_manages() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let operator = stage.operator();
    let link =
        operator.post("/v1/portal-links", &json!({"tenant": "m2", "expires_in": "10m"})).await;
    let link = link.is(201).json();
    assert_eq!(link["tenant_id"], hands.id);
    assert_eq!(link["scopes"], json!(["read", "manage"]));
    let token = link["token"].as_str().unwrap();
    assert!(link["url"].as_str().unwrap().ends_with(token));
    let portal = stage.anyone().with("authorization", &format!("Bearer {token}"));
    portal.get("/v1/webhooks").await.is(200);
    portal
        .post("/v1/events", &json!({"type": "a.b", "data": 1}))
        .await
        .refused(403, "missing_scope");
    for (body, status) in [
        (json!({"tenant": "nobody"}), 404),
        (json!({"tenant": "m2", "expires_in": "25h"}), 422),
        (json!({"tenant": "m2", "expires_in": "0s"}), 422),
        (json!({}), 422),
    ] {
        operator.post("/v1/portal-links", &body).await.is(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn portal_links_are_revoked_for_a_tenant_as_a_whole() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    stage.tenant("other").await;
    let link = async |tenant: &str| {
        let made = stage.operator().post("/v1/portal-links", &json!({"tenant": tenant})).await;
        let token = made.is(201).json()["token"].as_str().unwrap().to_owned();
        stage.anyone().with("authorization", &format!("Bearer {token}"))
    };
    let (first, second, other) = (link("m2").await, link("m2").await, link("other").await);
    first.get("/v1/webhooks").await.is(200);
    stage.operator().delete("/v1/tenants/m2/portal-links").await.is(204);
    for revoked in [first, second] {
        revoked.get("/v1/webhooks").await.refused(401, "invalid_credentials");
    }
    other.get("/v1/webhooks").await.is(200);
    link("m2").await.get("/v1/webhooks").await.is(200);
}
