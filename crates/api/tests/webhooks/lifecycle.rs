//! Webhooks: made, changed, tried out, rotated, paused and removed.

use serde_json::json;

use crate::{
    http::Client,
    stage::{Stage, eventually, receiver},
};

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
async fn pages_follow_each_other() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(hands.webhook(&format!("http://127.0.0.1:9999/{n}")).await["id"].clone());
    }
    made.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/webhooks?limit=3".to_owned();
    loop {
        let page = hands.client.get(&path).await.is(200).json();
        seen.extend(page["data"].as_array().unwrap().iter().map(|row| row["id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/webhooks?limit=3&cursor={next}");
    }
    assert_eq!(seen, made);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_are_told_all_at_once() {
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

async fn test_call(client: &Client, id: &str) {
    let outcome =
        client.call("POST", &format!("/v1/webhooks/{id}/test"), None).await.is(200).json();
    assert_eq!(outcome["success"], true);
    assert_eq!(
        (&outcome["response_status"], &outcome["response_body"]),
        (&json!(200), &json!("ok"))
    );
    assert!(outcome["latency_ms"].as_f64().unwrap() > 0.0);
    let body = json!({"webhook_id": id, "event_type": "agent.request.completed"});
    let outcome = client.post("/v1/webhooks/test", &body).await.is(200).json();
    assert_eq!(outcome["event_type"], "agent.request.completed");
    assert_eq!(outcome["status"], "delivered");
    let path = format!("/v1/deliveries/{}", outcome["delivery_id"].as_str().unwrap());
    assert_eq!(client.get(&path).await.is(200).json()["is_test"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_goes_the_real_way() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let id = webhook["id"].as_str().unwrap();
    test_call(&hands.client, id).await;
    let path = format!("/v1/webhooks/{id}");
    hands.client.patch(&path, &json!({"is_active": false})).await.is(200);
    hands.client.post(&format!("{path}/test"), &json!({})).await.refused(409, "conflict");
    let body = json!({"webhook_id": "wh_01HZZZZZZZZZZZZZZZZZZZZZZZ"});
    hands.client.post("/v1/webhooks/test", &body).await.refused(404, "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn rotation_lets_both_sign() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let path = format!("/v1/webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    let rotated = hands.client.post(&path, &json!({"overlap": "1h"})).await.is(200).json();
    assert_ne!(rotated["secret"], webhook["secret"]);
    assert!(rotated["old_secret_until"].is_string());
    let event = hands.publish("a.b", json!({})).await;
    hands.delivery(&event, "delivered").await;
    let request = receiver.requests()[0].text().to_lowercase();
    let line = request.lines().find(|line| line.starts_with("webhook-signature:")).unwrap();
    assert_eq!(line.matches("v1,").count(), 2, "{line}");
    let now = hands.client.call("POST", &path.replace("rotate-", ""), None).await;
    assert_eq!(now.status, 405);
    for (body, pointer) in
        [(json!({"overlap": "8d"}), "/overlap"), (json!({"secret": "short"}), "/secret")]
    {
        assert_eq!(hands.client.post(&path, &body).await.is(422).pointers(), [pointer]);
    }
    let at_once = hands.client.post(&path, &json!({"overlap": "0s"})).await.is(200).json();
    assert_eq!(at_once["old_secret_until"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_webhook_waits() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    // faults.md C6: the pause is seen wherever the webhook is.
    let is_paused = async |expected: bool| {
        let shown = hands.client.get(&path).await.is(200).json();
        let listed = hands.client.get("/v1/webhooks").await.is(200).json();
        let name = json!({"name": "still the same"});
        let changed = hands.client.call("PATCH", &path, Some(&name)).await.is(200).json();
        for webhook in [&shown, &listed["data"][0], &changed] {
            assert_eq!(webhook["is_paused"], expected, "{webhook}");
        }
    };
    assert_eq!(webhook["is_paused"], false);
    is_paused(false).await;
    hands.client.post(&format!("{path}/pause"), &json!({})).await.is(204);
    is_paused(true).await;
    let started = std::time::Instant::now();
    let refused = hands.client.call("POST", &format!("{path}/test"), None).await;
    assert!(refused.refused(409, "conflict").text().contains("resume"));
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    let queues = stage.operator().get("/v1/queues").await.is(200).json();
    assert_eq!(queues["paused_webhooks"], json!([webhook["id"]]));
    let event = hands.publish("a.b", json!({})).await;
    let waits = hands.delivery(&event, "pending").await;
    assert_eq!(waits["waiting_for"], json!({"reason": "webhook_resume", "until": null}));
    let of_event = format!("/v1/events/{}", event["id"].as_str().unwrap());
    let of_event = hands.client.get(&of_event).await.is(200).json();
    assert_eq!(of_event["deliveries"][0]["waiting_for"], waits["waiting_for"]);
    assert_eq!(receiver.accepted(), 0);
    hands.client.call("POST", &format!("{path}/resume"), None).await.is(204);
    is_paused(false).await;
    let ended = hands.delivery(&event, "delivered").await;
    assert_eq!(ended["waiting_for"], json!(null));
    let health = hands.client.get(&path).await.is(200).json()["health"].clone();
    assert_eq!(
        (&health["state"], &health["circuit_breaker"]),
        (&json!("prompt"), &json!("closed"))
    );
    eventually(|| async { (receiver.requests().len() == 1).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_says_what_holds_its_deliveries() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (_receiver, url) = receiver(200).await;
    let webhook = hands.webhook(&url).await;
    assert_eq!(webhook["paused_by"], json!(null));
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let operator = stage.operator();
    // The closest one is named.
    for (what, level) in
        [("/v1/queues/webhook", "lane"), ("/v1/tenants/m2", "tenant"), (path.as_str(), "webhook")]
    {
        let by = if level == "webhook" { &hands.client } else { &operator };
        by.post(&format!("{what}/pause"), &json!({})).await.is(204);
        let shown = hands.client.get(&path).await.is(200).json();
        assert_eq!(shown["paused_by"], level);
        assert_eq!(shown["is_paused"], level == "webhook");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_rate_in_memory_says_so() {
    let stage = Stage::new().await;
    let hands = stage.tenant("m2").await;
    let (receiver, url) = receiver(200).await;
    let body = json!({"url": url, "events": ["*"], "rate_limit": {"count": 1, "per": "1h"}});
    let webhook = hands.webhook_with(body).await;
    let first = hands.publish("a.b", json!({})).await;
    hands.delivery(&first, "delivered").await;
    for _ in 0..3 {
        let event = hands.publish("a.b", json!({})).await;
        let waits = hands.delivery(&event, "pending").await;
        assert_eq!(waits["waiting_for"]["reason"], "rate_limit", "{waits}");
        assert!(waits["waiting_for"]["until"].is_string(), "{waits}");
    }
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let health = hands.client.get(&path).await.is(200).json()["health"].clone();
    assert_eq!(health["state"], "prompt", "a limited rate is not slowness: {health}");
    assert_eq!(receiver.accepted(), 1);
}

/// faults.md 8: pause, publish, delete: nothing stays pending, and nothing stays paused.
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_webhook_that_is_deleted_leaves_nothing_pending() {
    for stage in [Stage::new().await, Stage::postgres().await] {
        let hands = stage.tenant("m2").await;
        let (receiver, url) = receiver(200).await;
        let webhook = hands.webhook(&url).await;
        let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
        hands.client.call("POST", &format!("{path}/pause"), None).await.is(204);
        let mut events = Vec::new();
        for n in 0..7 {
            events.push(hands.publish("a.b", json!(n)).await);
        }
        hands.client.call("DELETE", &path, None).await.is(204);
        for event in &events {
            let delivery = hands.delivery(event, "failed").await;
            assert_eq!(delivery["last_error_code"], "TARGET_GONE", "{delivery}");
        }
        let queues = stage.operator().get("/v1/queues").await.is(200).json();
        assert_eq!(queues["paused_webhooks"], json!([]));
        hands.client.call("POST", &format!("{path}/resume"), None).await.refused(404, "not_found");
        assert_eq!(receiver.accepted(), 0);
    }
}
