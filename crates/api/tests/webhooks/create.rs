//! Webhooks: created, changed and deleted, and what is refused.

use serde_json::json;

use crate::stage::Stage;

async fn life(stage: &Stage, prefix: &str) {
    let hands = stage.tenant(&format!("life{}", prefix.len())).await;
    let all = format!("{prefix}/webhooks");
    let draft =
        json!({"url": "http://127.0.0.1:9999/hook", "events": ["invoice.*", "user.created"]});
    let made = hands.client.post(&all, &draft).await.is(201).json();
    assert_eq!(made["tenant_id"], hands.id);
    assert_eq!(made["events"], json!(["invoice.*", "user.created"]));
    assert_eq!((&made["is_active"], &made["profile"]), (&json!(true), &json!("standard")));
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let one = format!("{all}/{}", made["id"].as_str().unwrap());

    let shown = hands.client.get(&one).await.is(200).json();
    assert_eq!(shown.get("secret"), None);
    assert_eq!(shown["created_at"], made["created_at"]);

    let change = json!({"name": "Billing", "timeout": "3s", "metadata": {"k": [1.0]},
        "headers": {"X-Team": "a"}, "retry": {"schedule": ["1s", "5m"]}, "max_in_flight": 3,
        "rate_limit": {"count": 5, "per": "1s"}, "ordering": "per_subject"});
    let changed = hands.client.patch(&one, &change).await.is(200).json();
    assert_eq!(changed["retry"], json!({"schedule": ["1s", "5m"]}));
    assert_eq!(changed["headers"], json!({"X-Team": "••••"}));
    assert_eq!((&changed["timeout"], &changed["ordering"]), (&json!("3s"), &json!("per_subject")));
    assert_eq!(changed["url"], draft["url"]);
    let unset = json!({"retry": null, "timeout": null, "rate_limit": null, "max_in_flight": null});
    let unset = hands.client.patch(&one, &unset).await.is(200).json();
    assert_eq!((&unset["retry"], &unset["timeout"]), (&json!(null), &json!(null)));
    assert_eq!(unset["name"], "Billing");

    let whole = json!({"url": "http://127.0.0.1:9999/other", "events": ["*"]});
    let replaced = hands.client.put(&one, &whole).await.is(200).json();
    assert_eq!((&replaced["name"], &replaced["headers"]), (&json!(""), &json!({})));
    assert_eq!(replaced["url"], whole["url"]);
    let listed = hands.client.get(&all).await.is(200).json();
    assert_eq!(listed["data"], json!([replaced]));

    hands.client.delete(&one).await.is(204);
    hands.client.get(&one).await.refused(404, "not_found");
    hands.client.delete(&one).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn both_forms_of_the_path() {
    let stage = Stage::new().await;
    life(&stage, "/v1").await;
    life(&stage, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    life(&Stage::postgres().await, "/v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_reported_all_at_once() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let draft = json!({"url": "ftp://x", "events": ["*", "a b"], "profile": "none",
        "headers": {"Host": "evil"}, "timeout": "1y"});
    let reply = hands.client.post("/v1/webhooks", &draft).await.is(422);
    let mut pointers = reply.pointers();
    pointers.sort();
    assert_eq!(pointers, ["/events/1", "/profile", "/timeout", "/url"]);
    for retry in
        [json!({}), json!({"schedule": ["1s"], "base": "1s"}), json!({"base": "1s", "max": "2s"})]
    {
        let draft = json!({"url": "http://127.0.0.1:9999/", "events": ["*"], "retry": retry});
        assert_eq!(hands.client.post("/v1/webhooks", &draft).await.is(422).pointers(), ["/retry"]);
    }
}
