//! Checks a signature that a receiver rejects: which part differs.

use serde_json::{Value, json};

use crate::stage::{Stage, receiver};

#[tokio::test(flavor = "multi_thread")]
async fn the_part_that_differs_is_named() {
    let stage = Stage::new().await;
    let [hands, other] = [stage.tenant("m2").await, stage.tenant("other").await];
    let (receiver, url) = receiver(200).await;
    let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz";
    let draft = json!({"url": url, "events": ["*"], "secret": secret});
    let webhook = hands.webhook_with(draft).await;
    let event = hands.publish("a.b", json!({"k": "v", "n": 1.50})).await;
    let delivery = hands.delivery(&event, "delivered").await;
    let id = delivery["id"].as_str().unwrap();
    let request = receiver.requests()[0].text();
    let (headers, body) = request.split_once("\r\n\r\n").unwrap();
    let path = format!("/v1/deliveries/{id}/check-signature");
    let check = async |headers: &str, body: &str| {
        let pasted = json!({"headers": headers, "body": body});
        hands.client.post(&path, &pasted).await.is(200).json()
    };

    let report = check(headers, body).await;
    assert_eq!((&report["is_valid"], &report["differs"]), (&json!(true), &json!([])));
    let alone = hands.client.post(&path, &json!({"headers": headers})).await.is(200).json();
    assert_eq!(alone["is_valid"], true, "the body is taken as it was sent");

    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<Value>(body).unwrap());
    let report = check(headers, &pretty.unwrap()).await;
    assert_eq!((&report["is_valid"], &report["differs"]), (&json!(false), &json!(["body"])));
    let of_body = report["parts"].as_array().unwrap().iter().find(|part| part["part"] == "body");
    assert!(of_body.unwrap()["hint"].as_str().unwrap().contains("same JSON"), "{report}");

    let changed = |name: &str, value: &str| {
        let line = |line: &str| {
            let is_meant = line.to_ascii_lowercase().starts_with(name);
            if is_meant { format!("{name}: {value}") } else { line.to_owned() }
        };
        headers.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    for (name, value, part) in [
        ("webhook-id", "evt_another", "id"),
        ("webhook-timestamp", "1706012345", "timestamp"),
        ("webhook-signature", "v1,bm90IGEgc2lnbmF0dXJlIGF0IGFsbCwgc29ycnkgYWJvdXQ=", "secret"),
    ] {
        let report = check(&changed(name, value), body).await;
        assert_eq!(report["differs"], json!([part]), "{name}: {report}");
        assert_eq!(report["is_valid"], false);
    }

    let rotate = format!("/v1/webhooks/{}/rotate-secret", webhook["id"].as_str().unwrap());
    hands.client.post(&rotate, &json!({"overlap": "0s"})).await.is(200);
    let report = check(headers, body).await;
    assert_eq!(report["differs"], json!(["secret"]), "{report}");
    assert!(report.to_string().contains("since been rotated out"), "{report}");
    assert!(!report.to_string().contains("MDEyMzQ1"), "a secret is never shown: {report}");
    other.client.post(&path, &json!({"headers": headers})).await.refused(404, "not_found");
}
