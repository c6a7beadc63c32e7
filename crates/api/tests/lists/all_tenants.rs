//! Lists of the operator over all tenants: every row once, with its tenant.

use serde_json::{Value, json};

use crate::{
    http::Client,
    stage::{Stage, receiver},
};

/// Returns all rows of a list, page by page.
async fn all(client: &Client, list: &str) -> Vec<Value> {
    let (mut rows, mut path) = (Vec::new(), list.to_owned());
    loop {
        let page = client.get(&path).await.is(200).json();
        rows.extend(page["data"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { return rows };
        path = format!("{list}&cursor={next}");
    }
}

fn pairs(rows: &[Value], name: &str) -> Vec<(String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.iter().map(|row| (text(row, "tenant"), text(row, name))).collect()
}

async fn lists_of_all(stage: &Stage) {
    let (_receiver, url) = receiver(200).await;
    let tenants = [stage.tenant("acme").await, stage.tenant("globex").await];
    let (mut events, mut webhooks) = (Vec::new(), Vec::new());
    let text = |made: &Value| made["id"].as_str().unwrap().to_owned();
    for hands in &tenants {
        webhooks.push((hands.slug.clone(), text(&hands.webhook(&url).await)));
    }
    for n in 0..7 {
        let hands = &tenants[n % 2];
        let event = hands.publish("a.b", json!({"n": n})).await;
        hands.delivery(&event, "delivered").await;
        events.push((hands.slug.clone(), text(&event)));
    }
    events.reverse();
    webhooks.reverse();
    let operator = stage.operator();
    assert_eq!(pairs(&all(&operator, "/v1/deliveries?limit=3").await, "event_id"), events);
    assert_eq!(pairs(&all(&operator, "/v1/events?limit=3").await, "id"), events);
    assert_eq!(pairs(&all(&operator, "/v1/webhooks?limit=1").await, "id"), webhooks);
    let delivered = all(&operator, "/v1/deliveries?limit=2&status=delivered&event_type=a.b").await;
    assert_eq!(delivered.len(), 7);
    assert!(all(&operator, "/v1/deliveries?limit=2&status=failed").await.is_empty());

    // An object of one tenant is found without naming the tenant.
    let (slug, event) = &events[0];
    let found = all(&operator, &format!("/v1/deliveries?limit=5&event_id={event}")).await;
    assert_eq!(pairs(&found, "event_id"), [(slug.clone(), event.clone())]);
    let (slug, webhook) = &webhooks[0];
    let found = all(&operator, &format!("/v1/deliveries?limit=2&webhook_id={webhook}")).await;
    assert!(found.len() == 3 && found.iter().all(|row| row["tenant"] == **slug), "{found:?}");
    assert_eq!(operator.get(&format!("/v1/events/{event}")).await.is(200).json()["id"], **event);
    let one = operator.get(&format!("/v1/webhooks/{webhook}")).await.is(200).json();
    assert_eq!(one["id"], **webhook);
    for unknown in
        ["/v1/events/evt_01HZZZZZZZZZZZZZZZZZZZZZZZ", "/v1/webhooks/wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"]
    {
        operator.get(unknown).await.refused(404, "not_found");
    }
    for list in ["/v1/deliveries", "/v1/events"] {
        let path = format!("{list}?external_id=x");
        operator.get(&path).await.refused(400, "tenant_required");
    }

    // A tenant's list has no tenant column, and accepts no cursor of the operator's.
    let own = tenants[0].client.get("/v1/deliveries?limit=1").await.is(200).json();
    assert!(own["data"][0].get("tenant").is_none(), "{own}");
    for list in ["/v1/deliveries?limit=1", "/v1/events?limit=1", "/v1/webhooks?limit=1"] {
        let page = operator.get(list).await.is(200).json();
        let path = format!("{list}&cursor={}", page["next_cursor"].as_str().unwrap());
        tenants[0].client.get(&path).await.refused(400, "bad_cursor");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_once_with_its_tenant() {
    lists_of_all(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    lists_of_all(&Stage::postgres().await).await;
}
