//! faults.md B1, B4, 11: receipts can be shown, found from their deliveries and dead letters, and sent again.

use serde_json::{Value, json};

use crate::{
    http::Client,
    ingest::receive::{SECRET, acme, headers, post},
    stage::{Stage, eventually, ids, receiver},
};

/// Creates another source of this name, which signs as `acme` does.
async fn source(stage: &Stage, partner: &str, draft: Value) {
    let mut draft = draft;
    draft["partner"] = json!(partner);
    stage.operator().post("/v1/sources", &draft).await.is(201);
    let key = json!({"scheme": "hmac", "secret": SECRET});
    stage.operator().put(&format!("/v1/sources/{partner}/keys/k1"), &key).await.is(200);
}

async fn receipt(stage: &Stage, partner: &str, status: &str) -> Value {
    let path = format!("/v1/sources/{partner}/receipts?status={status}");
    eventually(|| async {
        let page = stage.operator().get(&path).await.is(200).json();
        page["data"].as_array().unwrap().first().cloned()
    })
    .await
}

async fn detail(client: &Client, row: &Value) -> Value {
    let (partner, id) = (row["partner"].as_str().unwrap(), row["id"].as_str().unwrap());
    client.get(&format!("/v1/sources/{partner}/receipts/{id}")).await.is(200).json()
}

fn once() -> Value {
    json!({"schedule": []})
}

async fn shown(stage: &Stage) {
    let (_bad, bad) = receiver(503).await;
    let (_good, good) = receiver(200).await;
    source(stage, "acme", json!({"targets": [bad, good], "retry": once()})).await;
    let body = br#"{"event_id": "ord-1", "amount": 42.00}"#;
    let mut sent = headers(body);
    sent.extend([
        ("authorization", "Bearer hush".to_owned()),
        ("cookie", "hush".to_owned()),
        ("x-partner-note", "first".to_owned()),
        ("x-partner-note", "second".to_owned()),
    ]);
    let sent: Vec<_> = sent.iter().map(|(name, value)| (*name, value.as_str())).collect();
    stage.partner().send("POST", "/webhooks/acme", &sent, Some(body)).await.is(204);
    let row = eventually(|| async {
        let row = receipt(stage, "acme", "dlq").await;
        (row["attempts"] == 2).then_some(row)
    })
    .await;
    let operator = stage.operator();
    let (id, path) = (row["id"].as_str().unwrap(), "/v1/sources/acme/receipts/");
    let whole = operator.get(&format!("{path}{id}")).await.is(200);
    assert!(whole.text().contains(r#"{"event_id": "ord-1", "amount": 42.00}"#), "byte for byte");
    assert!(!whole.text().contains("hush"));
    let shown = whole.json();
    assert_eq!(
        shown["context"],
        json!({
            "webhook": {"verified": true, "partner": "acme", "key_id": "k1"},
            "req": {"path": "/webhooks/acme", "method": "POST"},
        })
    );
    let seen = &shown["headers"];
    assert_eq!((&seen["authorization"], &seen["cookie"]), (&json!("••••"), &json!("••••")));
    assert_eq!(
        (&seen["x-partner-note"], &seen["x-key-id"]),
        (&json!("first, second"), &json!("k1"))
    );
    assert!(seen["x-signature"].as_str().unwrap().starts_with("hmac-sha256="));
    for name in ["status", "attempts", "last_error", "event_id", "ts_received", "size"] {
        assert_eq!(shown[name], row[name], "{name}");
    }
    let deliveries = shown["deliveries"].as_array().unwrap();
    assert_eq!(deliveries.len(), 2);
    for (delivery, (url, status, answer)) in
        deliveries.iter().zip([(&bad, "failed", 503), (&good, "delivered", 200)])
    {
        assert_eq!((&delivery["target_url"], &delivery["status"]), (&json!(url), &json!(status)));
        let log = delivery["attempt_log"].as_array().unwrap();
        assert_eq!((log.len(), &log[0]["response_status"]), (1, &json!(answer)));
        assert_eq!(log[0]["request_headers"]["x-gancho-receipt-id"], id);
        let listed = row["deliveries"].as_array().unwrap();
        let listed = listed.iter().find(|one| one["id"] == delivery["id"]).unwrap();
        assert_eq!((&listed["status"], &listed["attempt_log"]), (&json!(status), &json!(null)));
    }
    operator.get(&format!("{path}rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV")).await.refused(404, "not_found");
}

/// A secret that a sender puts into its bodies is not shown.
async fn without_secrets(stage: &Stage) {
    let (_bad, bad) = receiver(500).await;
    source(stage, "graph", json!({"preset": "microsoft", "target_url": bad, "retry": once()}))
        .await;
    let body = json!({"value": [{"clientState": SECRET, "resource": "users/1"}]});
    stage.partner().post("/webhooks/graph", &body).await.is(204);
    let row = receipt(stage, "graph", "dlq").await;
    let shown = detail(&stage.operator(), &row).await;
    assert_eq!(shown["payload"]["value"][0], json!({"clientState": "••••", "resource": "users/1"}));
    let delivery = shown["deliveries"][0]["id"].as_str().unwrap();
    for path in [format!("/v1/deliveries/{delivery}"), "/v1/dlq?partner=graph".to_owned()] {
        let text = stage.operator().get(&path).await.is(200).text();
        assert!(text.contains("users/1") && !text.contains(SECRET), "{text}");
    }
}

async fn sent_again(stage: &Stage) {
    let (first, one) = receiver(200).await;
    let (second, two) = receiver(200).await;
    acme(stage, &one).await;
    post(&stage.partner(), "/webhooks/acme", br#"{"event_id":"e1"}"#).await.is(204);
    let row = receipt(stage, "acme", "dispatched").await;
    let operator = stage.operator();
    let retry = format!("/v1/sources/acme/receipts/{}/retry", row["id"].as_str().unwrap());
    operator.call("POST", &retry, None).await.is(202);
    // Until it has ended, because one in flight is not sent again.
    eventually(|| async {
        let log = detail(&operator, &row).await["deliveries"][0]["attempt_log"].clone();
        (log.as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    assert_eq!(first.requests().len(), 2);
    // To the current targets: the one that it was sent to, and one that was added later.
    operator.patch("/v1/sources/acme", &json!({"targets": [one, two]})).await.is(200);
    let accepted = operator.post(&retry, &json!({})).await.is(202).json();
    assert_eq!(accepted["deliveries"].as_array().unwrap().len(), 2);
    eventually(|| async {
        (first.requests().len() == 3 && second.requests().len() == 1).then_some(())
    })
    .await;
    let ids: Vec<String> = [&first, &second]
        .iter()
        .flat_map(|core| core.requests())
        .map(|request| {
            let text = request.text().to_ascii_lowercase();
            text.lines().find(|line| line.starts_with("webhook-id: ")).unwrap().to_owned()
        })
        .collect();
    assert_eq!(ids, vec![format!("webhook-id: {}", row["id"].as_str().unwrap().to_lowercase()); 4]);
    let done = receipt(stage, "acme", "dispatched").await;
    let log = &detail(&operator, &done).await["deliveries"];
    let counts: Vec<usize> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["attempt_log"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [3, 1]);
    let missing = "/v1/sources/acme/receipts/rcp_01ARZ3NDEKTSV4RRFFQ69G5FAV/retry";
    operator.call("POST", missing, None).await.refused(404, "not_found");
}

/// faults.md B1 and 11 by filter: receipts that were given up, and ids that were received twice, reach the
/// corrected target.
async fn sent_again_by_filter(stage: &Stage) {
    let (_bad, bad) = receiver(500).await;
    let (good, url) = receiver(200).await;
    source(stage, "acme", json!({"target_url": bad, "retry": once()})).await;
    let partner = stage.partner();
    for n in 0..4 {
        let body = format!(r#"{{"event_id":"e{}","n":{n}}}"#, n / 2);
        post(&partner, "/webhooks/acme", body.as_bytes()).await.is(204);
    }
    let operator = stage.operator();
    let stats = eventually(|| async {
        let stats = operator.get("/v1/dlq/stats?partner=acme").await.is(200).json();
        (stats["total"] == 4).then_some(stats)
    })
    .await;
    assert_eq!(stats["by_code"], json!({"HTTP_500": 2, "ID_CLASH": 2}));
    operator.patch("/v1/sources/acme", &json!({"target_url": url})).await.is(200);
    let retry = "/v1/sources/acme/receipts/retry";
    operator.post(retry, &json!({})).await.refused(422, "missing_field");
    let counted = json!({"status": "dlq", "event_id": "e1", "dry_run": true});
    assert_eq!(operator.post(retry, &counted).await.is(202).json()["total"], 2);
    let job =
        operator.post(retry, &json!({"status": "dlq", "event_id": "e1"})).await.is(202).json();
    let path = format!("/v1/replays/{}", job["id"].as_str().unwrap());
    let done = eventually(|| async {
        Some(operator.get(&path).await.is(200).json()).filter(|job| job["state"] == "done")
    })
    .await;
    assert_eq!((&done["done"], &done["failed"]), (&json!(2), &json!(0)));
    let bodies = || {
        let mut bodies: Vec<String> = good
            .requests()
            .iter()
            .map(|request| request.text().split("\r\n\r\n").nth(1).unwrap().to_owned())
            .collect();
        bodies.sort();
        bodies
    };
    let wanted = |n: u32| format!(r#"{{"event_id":"e{}","n":{n}}}"#, n / 2);
    eventually(|| async { (bodies() == [wanted(2), wanted(3)]).then_some(()) }).await;
    operator.post("/v1/dlq/replay", &json!({"partner": "acme"})).await.is(202);
    eventually(|| async { (bodies().len() == 4).then_some(()) }).await;
    eventually(|| async {
        (operator.get("/v1/dlq/stats").await.is(200).json()["total"] == 0).then_some(())
    })
    .await;
}

async fn found_by_its_delivery(stage: &Stage) {
    let (_good, good) = receiver(200).await;
    let (_bad, bad) = receiver(500).await;
    source(stage, "acme", json!({"target_url": good})).await;
    source(stage, "beta", json!({"target_url": bad, "retry": once()})).await;
    let hands = stage.tenant("acme").await;
    hands.webhook(&good).await;
    let event = hands.publish("a.b", json!({"n": 1})).await;
    let of_tenant = hands.delivery(&event, "delivered").await;
    for n in 0..7 {
        let path = if n % 3 == 0 { "/webhooks/beta" } else { "/webhooks/acme" };
        post(&stage.partner(), path, format!(r#"{{"n":{n}}}"#).as_bytes()).await.is(204);
    }
    let operator = stage.operator();
    let all = "/v1/deliveries?lane=dispatch";
    let rows = eventually(|| async {
        let rows = operator.get(all).await.is(200).json()["data"].as_array().unwrap().clone();
        let ended = |row: &Value| row["status"] == "delivered" || row["status"] == "failed";
        (rows.len() == 7 && rows.iter().all(ended)).then_some(rows)
    })
    .await;
    let partners: Vec<&str> = rows.iter().map(|row| row["partner"].as_str().unwrap()).collect();
    assert_eq!(partners, ["beta", "acme", "acme", "beta", "acme", "acme", "beta"], "newest first");
    let mut paged = Vec::new();
    let mut next = String::new();
    loop {
        let page = operator.get(&format!("{all}&limit=2{next}")).await.is(200);
        paged.extend(ids(&page));
        match page.json()["next_cursor"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    let whole: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(paged, whole);
    for (query, count) in
        [("&partner=beta", 3), ("&partner=acme", 4), ("&status=failed", 3), ("&status=pending", 0)]
    {
        assert_eq!(ids(&operator.get(&format!("{all}{query}")).await.is(200)).len(), count);
    }
    operator.get(&format!("{all}&partner=nobody")).await.refused(404, "not_found");

    let row = &rows[0];
    assert_eq!((&row["lane"], &row["target_url"]), (&json!("dispatch"), &json!(bad)));
    assert!(row["receipt_id"].as_str().unwrap().starts_with("rcp_"));
    for absent in ["webhook_id", "event_id", "event_type", "outbox_id"] {
        assert!(row.get(absent).is_none(), "{absent}");
    }
    let path = format!("/v1/deliveries/{}", row["id"].as_str().unwrap());
    let one = operator.get(&path).await.is(200).json();
    assert_eq!((&one["payload"], &one["partner"]), (&json!({"n": 6}), &json!("beta")));
    assert_eq!(one["attempt_log"].as_array().unwrap().len(), 1);
    operator.call("POST", &format!("{path}/retry"), None).await.is(202);
    eventually(|| async {
        (operator.get(&path).await.is(200).json()["attempts"] == 2).then_some(())
    })
    .await;

    // The operator also finds a tenant's; a tenant finds only its own.
    let own = format!("/v1/deliveries/{}", of_tenant["id"].as_str().unwrap());
    let mut found = operator.get(&own).await.is(200).json();
    let members = found.as_object_mut().unwrap();
    assert_eq!(members.remove("tenant"), Some(json!("acme")), "whose it is");
    assert!(members.remove("tenant_id").is_some());
    assert_eq!(found, hands.client.get(&own).await.is(200).json());
    assert_eq!(found["webhook_id"], of_tenant["webhook_id"]);
    hands.client.get(&path).await.refused(404, "not_found");
    hands.client.call("POST", &format!("{path}/retry"), None).await.refused(404, "not_found");
    assert!(ids(&hands.client.get(all).await.is(200)).is_empty());
    hands.client.get(&format!("{all}&partner=beta")).await.refused(403, "operator_only");
    let webhooks = operator.get("/v1/deliveries").await.is(200);
    assert_eq!(ids(&webhooks), [of_tenant["id"].as_str().unwrap()], "without what was received");
    operator.get("/v1/deliveries?partner=beta").await.refused(422, "invalid_field");
}

async fn dead_letters_name_the_partner(stage: &Stage) {
    let (_bad, bad) = receiver(500).await;
    // A tenant of the same name is a separate one.
    let hands = stage.tenant("beta").await;
    crate::stage::dead_letter(&hands, &bad).await;
    source(stage, "beta", json!({"target_url": bad, "retry": once()})).await;
    post(&stage.partner(), "/webhooks/beta", br#"{"n":1}"#).await.is(204);
    let row = receipt(stage, "beta", "dlq").await;
    let operator = stage.operator();
    let letter = operator.get("/v1/dlq?partner=beta").await.is(200).json()["data"][0].clone();
    for (name, value) in [
        ("lane", json!("dispatch")),
        ("partner", json!("beta")),
        ("tenant_id", json!(null)),
        ("subject_id", row["id"].clone()),
        ("target_id", json!(null)),
        ("target_url", json!(bad)),
        ("original_data", json!({"n": 1})),
    ] {
        assert_eq!(letter[name], value, "{name}");
    }
    let export = operator.get("/v1/dlq/export?partner=beta").await.is(200).text();
    assert_eq!(serde_json::from_str::<Value>(&export).unwrap(), letter);
    let stats = operator.get("/v1/dlq/stats").await.is(200).json();
    assert_eq!(stats["by_partner"], json!({"beta": 1}));
    assert_eq!(stats["by_tenant"], json!({(hands.id.as_str()): 1}));
    let both = operator.get("/v1/dlq?partner=beta&tenant=beta").await;
    both.refused(422, "invalid_field");
    hands.client.get("/v1/dlq?partner=beta").await.refused(403, "operator_only");
    assert_eq!(hands.client.get("/v1/dlq/stats").await.is(200).json()["by_partner"], json!({}));
    let metrics = operator.get("/metrics").await.is(200).text();
    for line in [
        r#"gancho_dead_letters_by_tenant{partner="beta"} 1"#,
        r#"gancho_dead_letters_by_tenant{tenant="beta"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    let share = r#"tenant_jobs_processed_total{lane="dispatch",partner="beta"}"#;
    assert!(metrics.contains(share) && !metrics.contains("tenant=\"ten_"), "{metrics}");

    // Also after the source was deleted.
    operator.delete("/v1/sources/beta").await.is(204);
    let left = operator.get("/v1/dlq?lane=dispatch").await.is(200).json()["data"][0].clone();
    assert_eq!((&left["partner"], &left["target_url"]), (&json!("beta"), &json!(null)));
    let stats = operator.get("/v1/dlq/stats?lane=dispatch").await.is(200).json();
    assert_eq!((&stats["by_partner"], &stats["by_tenant"]), (&json!({"beta": 1}), &json!({})));
    let found = operator.get("/v1/dlq?partner=beta").await.is(200).json();
    assert_eq!(found["data"][0]["id"], left["id"]);
    operator.get("/v1/dlq?partner=gamma").await.refused(404, "not_found");
    let replay = format!("/v1/dlq/{}/replay", left["id"].as_str().unwrap());
    let refused = operator.post(&replay, &json!({})).await.refused(409, "conflict");
    assert!(refused.text().contains("the source of this dead letter was deleted"));
}

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&crate::stage::Stage::new().await).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&crate::stage::Stage::postgres().await).await;
            })*
        }
    };
}

on_both!(
    shown,
    without_secrets,
    sent_again,
    sent_again_by_filter,
    found_by_its_delivery,
    dead_letters_name_the_partner,
);
