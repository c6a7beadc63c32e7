//! Tenants, as the operator keeps them.

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

#[tokio::test(flavor = "multi_thread")]
async fn plan_limits_name_the_limit_the_use_and_the_reset() {
    let stage = Stage::new().await;
    let hands = stage.tenant_with(json!({"slug": "small", "plan": "few"})).await;
    let draft = json!({"url": "http://127.0.0.1:9999/", "events": ["*"]});
    hands.client.post("/v1/webhooks", &draft).await.is(201);
    let refused = hands.client.post("/v1/webhooks", &draft).await.refused(403, "plan_limit").json();
    assert_eq!(
        (&refused["plan"], &refused["limit"], &refused["used"]),
        (&json!("few"), &json!(1), &json!(1))
    );
    for _ in 0..2 {
        hands.publish("a.b", json!({})).await;
    }
    let event = json!({"type": "a.b", "data": {}});
    let refused = hands.client.post("/v1/events", &event).await.refused(403, "plan_limit").json();
    assert_eq!((&refused["limit"], &refused["used"]), (&json!(2), &json!(2)));
    assert!(refused["resets_at"].as_str().unwrap().ends_with("-01T00:00:00.000Z"));
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_too_fast_is_told_when_to_come_back() {
    let stage = Stage::new().await;
    let hands =
        stage.tenant_with(json!({"slug": "fast", "publish_rate": {"count": 2, "per": "1h"}})).await;
    let event = json!({"type": "a.b", "data": {}});
    let first = hands.client.post("/v1/events", &event).await.is(202);
    assert_eq!(first.header("ratelimit-limit"), Some("2"));
    assert_eq!(first.header("ratelimit-remaining"), Some("1"));
    hands.client.post("/v1/events", &event).await.is(202);
    let refused = hands.client.post("/v1/events", &event).await.refused(429, "rate_limited");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1_800).contains(&wait), "{wait}");
    assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
}

// faults.md B10
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_too_fast_is_told_when_to_come_back() {
    let stage = Stage::new().await;
    let hands =
        stage.tenant_with(json!({"slug": "fast", "publish_rate": {"count": 3, "per": "1h"}})).await;
    let event = json!({"type": "a.b", "data": {}});
    let batch = json!({"events": [event, event]});
    let reply = hands.client.post("/v1/events/batch", &batch).await.is(202);
    assert_eq!(reply.header("ratelimit-limit"), Some("3"));
    assert_eq!(
        (reply.header("ratelimit-remaining"), reply.header("retry-after")),
        (Some("1"), None)
    );
    for (accepted, left) in [(1, "0"), (0, "0")] {
        let reply = hands.client.post("/v1/events/batch", &batch).await.is(202);
        assert_eq!(reply.json()["accepted"], accepted, "{}", reply.text());
        assert_eq!(reply.json()["results"][1]["status"], 429);
        assert_eq!(reply.header("ratelimit-limit"), Some("3"));
        assert_eq!(reply.header("ratelimit-remaining"), Some(left));
        let seconds = |name: &str| reply.header(name).unwrap().parse::<u64>().unwrap();
        assert!((1..=1_200).contains(&seconds("retry-after")), "{}", seconds("retry-after"));
        assert!((3_000..=3_600).contains(&seconds("ratelimit-reset")));
    }
}
