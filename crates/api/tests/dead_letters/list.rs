//! Dead letters: listed, counted, exported and removed.

use serde_json::{Value, json};

use crate::stage::{Stage, dead_letter, ids, receiver};

async fn life(stage: &Stage) {
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (_bad, url) = receiver(500).await;
    let (webhook, dead) = dead_letter(&hands, &url).await;
    dead_letter(&other, &url).await;
    let row = hands.client.get("/v1/dlq").await.is(200).json()["data"][0].clone();
    for (name, value) in [
        ("id", &dead["id"]),
        ("lane", &json!("webhook")),
        ("tenant_id", &json!(hands.id)),
        ("subject_id", &dead["event_id"]),
        ("target_id", &webhook["id"]),
        ("original_data", &json!({"n": 1})),
        ("failed_attempts", &json!(1)),
        ("last_failure_code", &json!("HTTP_500")),
        ("last_provider_code", &json!("500")),
    ] {
        assert_eq!(&row[name], value, "{name}");
    }
    for time in ["last_failure_timestamp", "enqueued_at", "moved_to_dlq_at", "expires_at"] {
        assert!(row[time].as_str().unwrap().ends_with('Z'), "{time}");
    }
    assert!(!row["last_failure_reason"].as_str().unwrap().is_empty());
    let one = format!("/v1/dlq/{}", dead["id"].as_str().unwrap());
    assert_eq!(hands.client.get(&one).await.is(200).json(), row);
    counted(stage, &hands.id).await;

    let export = hands.client.get("/v1/dlq/export").await.is(200);
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> =
        export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, [row]);
    assert_eq!(stage.operator().get("/v1/dlq/export").await.text().lines().count(), 2);

    hands.client.delete(&one).await.is(204);
    hands.client.get(&one).await.refused(404, "not_found");
    let delivery = format!("/v1/deliveries/{}", dead["id"].as_str().unwrap());
    assert_eq!(hands.client.get(&delivery).await.is(200).json()["status"], "failed");
    purged(stage).await;
}

async fn counted(stage: &Stage, own: &str) {
    let all = stage.operator().get("/v1/dlq/stats").await.is(200).json();
    assert_eq!((&all["total"], &all["by_lane"]), (&json!(2), &json!({"webhook": 2})));
    assert_eq!(all["by_code"], json!({"HTTP_500": 2}));
    assert_eq!(all["by_tenant"][own], 1);
    let one = stage.operator().get("/v1/dlq/stats?tenant=m2&code=HTTP_500").await.is(200).json();
    assert_eq!(one["total"], 1);
    for query in ["code=TIMEOUT", "lane=email", "since=2999-01-01T00:00:00Z"] {
        let none = stage.operator().get(&format!("/v1/dlq?{query}")).await.is(200);
        assert!(ids(&none).is_empty(), "{query}");
    }
    stage.operator().get("/v1/dlq?tenant=nobody").await.refused(404, "unknown_tenant");
}

async fn purged(stage: &Stage) {
    let operator = stage.operator();
    operator.delete("/v1/dlq").await.refused(422, "missing_field");
    let none = operator.delete("/v1/dlq?code=TIMEOUT").await.is(200).json();
    assert_eq!(none, json!({"purged": 0, "has_more": false}));
    let all = operator.delete("/v1/dlq?all=true").await.is(200).json();
    assert_eq!(all["purged"], 1);
    assert_eq!(operator.get("/v1/dlq/stats").await.is(200).json()["total"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_counted_exported_and_removed() {
    life(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    life(&Stage::postgres().await).await;
}
