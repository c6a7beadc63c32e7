//! A key's scopes decide what it may do, route by route.

use gancho_access::Right;
use gancho_api::{
    route::{Needs, Route},
    router::ROUTES,
};
use serde_json::json;

use crate::{
    http::Client,
    requests::{call, name},
    stage::Stage,
};

async fn is_let_in(client: &Client, route: &Route) -> bool {
    let reply = call(client, route).await;
    assert_ne!(reply.status, 401, "{}", name(route));
    assert!(reply.status < 500, "{} {}", name(route), reply.text());
    if reply.status == 403 {
        let code = reply.code();
        assert!(
            ["missing_scope", "operator_only", "not_for_api_keys"].contains(&code.as_str()),
            "{code}"
        );
    }
    reply.status != 403
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scope_on_every_route() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    for right in Right::ALL {
        let client = stage.key("m2", &[right.name()]).await;
        for route in ROUTES {
            let expected = match route.needs {
                Needs::Operator | Needs::Person(_) => false,
                Needs::Tenant(needed) | Needs::Anyone(needed) => needed == right,
            };
            assert_eq!(is_let_in(&client, route).await, expected, "{right} {}", name(route));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_and_portal_links() {
    let stage = Stage::new().await;
    stage.tenant("m2").await;
    let link = stage.operator().post("/v1/portal-links", &json!({"tenant": "m2"})).await.is(201);
    let token = link.json()["token"].as_str().unwrap().to_owned();
    let portal = stage.anyone().with("authorization", &format!("Bearer {token}"));
    let acting = stage.operator().with("x-tenant", "m2");
    for route in ROUTES {
        let expected = match route.needs {
            Needs::Operator => false,
            Needs::Tenant(needed) | Needs::Anyone(needed) | Needs::Person(needed) => {
                needed != Right::Publish
            }
        };
        assert_eq!(is_let_in(&portal, route).await, expected, "portal {}", name(route));
        assert!(is_let_in(&acting, route).await, "{}", name(route));
        let alone = call(&stage.operator(), route).await;
        let needs_tenant = matches!(route.needs, Needs::Tenant(_) | Needs::Person(_));
        assert_eq!(alone.status == 400 && alone.code() == "tenant_required", needs_tenant);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_credentials_nothing_is_shown() {
    let stage = Stage::new().await;
    for route in ROUTES {
        let reply = call(&stage.anyone(), route).await.refused(401, "unauthenticated");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"gancho\""));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_speaks_for_its_own_tenant_only() {
    let stage = Stage::new().await;
    let own = stage.tenant("own").await;
    stage.tenant("other").await;
    for (named, status) in [("own", 200), (own.id.as_str(), 200), ("other", 403), ("nobody", 403)] {
        let reply = own.client.with("x-tenant", named).get("/v1/webhooks").await;
        assert_eq!(reply.status, status, "{named}");
    }
    let other = own.client.with("x-tenant", "other").get("/v1/webhooks").await;
    let nobody = own.client.with("x-tenant", "nobody").get("/v1/webhooks").await;
    assert_eq!(other.without_request_id(), nobody.without_request_id());
    stage
        .operator()
        .with("x-tenant", "nobody")
        .get("/v1/webhooks")
        .await
        .refused(404, "unknown_tenant");
}
