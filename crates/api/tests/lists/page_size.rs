//! Pages have a size, and lists only their own order.

use gancho_api::{route::Needs, router::ROUTES};

use crate::{
    requests::{name, path, unknown},
    stage::Stage,
};

#[tokio::test(flavor = "multi_thread")]
async fn limits_and_orders_that_are_not_taken() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let mut lists = 0;
    // On SQLite there are no cells.
    let routes = ROUTES.iter().filter(|route| !route.path.starts_with("/cells"));
    for route in routes.filter(|route| route.query.iter().any(|field| field.name == "limit")) {
        lists += 1;
        let client = match route.needs {
            Needs::Operator => stage.operator(),
            _ => hands.client.clone(),
        };
        let path =
            path(route, |part, noun| if part == "tenant" { "m2".into() } else { unknown(noun) });
        for query in [
            "limit=-1",
            "limit=0",
            "limit=501",
            "limit=1000000000",
            "limit=18446744073709551616",
            "limit=",
            "limit=ten",
            "limit=1.5",
            "limit=%2B5",
            "limit=1&limit=2",
            "offset=1",
            "page=2",
            "sort=secret",
            "order_by=tenant_id",
            "fields=secret",
            "limit[]=1",
            "Limit=1",
        ] {
            let reply = client.get(&format!("{path}?{query}")).await;
            assert_eq!(reply.status, 422, "{} {query} {}", name(route), reply.text());
        }
        for good in ["limit=1", "limit=500"] {
            let reply = client.get(&format!("{path}?{good}")).await;
            assert!([200, 404].contains(&reply.status), "{} {good} {}", name(route), reply.text());
        }
    }
    assert!(lists >= 9, "{lists}");
}
