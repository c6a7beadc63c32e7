//! Search finds what exists: by its id, its external id and its name; for the operator among all tenants.

use serde_json::{Value, json};

use crate::{
    emails::submit::{email, send},
    http::Client,
    stage::{Stage, receiver},
};

async fn search(client: &Client, text: &str) -> Vec<(String, String, Value)> {
    let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let reply = client.get(&format!("/v1/search?q={text}")).await.is(200).json();
    assert_eq!(reply["is_complete"], true, "{reply}");
    let rows = reply["data"].as_array().unwrap().iter();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.map(|row| (word(row, "type"), word(row, "id"), row["tenant"].clone())).collect()
}

fn id(made: &Value) -> String {
    made["id"].as_str().unwrap().to_owned()
}

async fn everything_is_found(stage: &Stage) {
    let (_receiver, url) = receiver(200).await;
    let (acme, globex) = (stage.tenant("acme").await, stage.tenant("globex").await);
    let operator = stage.operator();
    let named = json!({"url": url, "events": ["a.b"], "name": "Billing sink"});
    let webhook = acme.webhook_with(named).await;
    let event = acme.publish("a.b", json!({})).await;
    let delivery = acme.delivery(&event, "delivered").await;
    let external = json!({"type": "never.matched", "data": {}, "external_id": "order-77"});
    let unmatched = globex.client.post("/v1/events", &external).await.is(202).json();
    let sent = send(&acme, &email("joao@example.com")).await;
    let replay = json!({"all": true});
    let replay = acme.client.post("/v1/replays", &replay).await.is(202).json();
    let keys = operator.get("/v1/tenants/acme/api-keys").await.is(200).json();
    let key = id(&keys["data"][0]);

    let of_acme = json!("acme");
    for (kind, id) in [
        ("event", id(&event)),
        ("delivery", id(&delivery)),
        ("webhook", id(&webhook)),
        ("email", sent.clone()),
        ("replay", id(&replay)),
        ("tenant", acme.id.clone()),
        ("api_key", key.clone()),
    ] {
        let found = [(kind.to_owned(), id.clone(), of_acme.clone())];
        assert_eq!(search(&operator, &id).await, found);
        assert_eq!(search(&operator, &id.to_lowercase()).await, found);
        let bare = id.split_once('_').unwrap().1;
        assert_eq!(search(&operator, bare).await, found, "{kind}");
        // A tenant finds its own objects, and none of others.
        let is_own = !matches!(kind, "tenant" | "api_key");
        assert_eq!(search(&acme.client, &id).await.len(), usize::from(is_own), "{kind}");
        assert!(search(&globex.client, &id).await.is_empty(), "{kind}");
    }

    let of_globex = json!("globex");
    let by_external_id = [("event".to_owned(), id(&unmatched), of_globex.clone())];
    assert_eq!(search(&operator, "order-77").await, by_external_id);
    assert_eq!(search(&globex.client, "order-77").await, by_external_id);
    assert!(search(&acme.client, "order-77").await.is_empty());
    // The events about an e-mail have its external id as well.
    let emails = search(&operator, "BOL-M2-2025-00123").await;
    assert!(emails.contains(&("email".to_owned(), sent, of_acme.clone())), "{emails:?}");
    for name in ["never.matched", "a.b"] {
        let found = search(&operator, name).await;
        assert_eq!(found, [("event_type".to_owned(), name.to_owned(), Value::Null)]);
    }
    assert_eq!(search(&operator, "billing").await, [("webhook".into(), id(&webhook), of_acme)]);
    assert_eq!(search(&operator, "GLOB").await, [("tenant".into(), globex.id, of_globex)]);
    assert!(search(&operator, "nothing-has-this-name").await.is_empty());

    // The operator's list of replays has those of all tenants.
    let list = operator.get("/v1/replays").await.is(200).json();
    assert_eq!(
        (&list["data"][0]["id"], &list["data"][0]["tenant"]),
        (&replay["id"], &json!("acme"))
    );
    let path = format!("/v1/replays/{}", id(&replay));
    assert_eq!(operator.get(&path).await.is(200).json()["tenant"], "acme");
    globex.client.get(&path).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_is_found_on_sqlite() {
    everything_is_found(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_is_found_on_postgres() {
    everything_is_found(&Stage::postgres().await).await;
}
