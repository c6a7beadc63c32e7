//! A pause may have a reason. The audit log has it, for those who may read it.

use serde_json::{Value, json};

use crate::stage::{Stage, receiver};

const REASON: &str = "moving <b>their</b> \"servers\" & more";

async fn reasons_are_recorded(stage: &Stage) {
    let (_receiver, url) = receiver(200).await;
    let hands = stage.tenant("m2").await;
    let webhook = hands.webhook(&url).await;
    let operator = stage.operator();
    let of_webhook = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    let newest = |operation: &'static str| {
        let operator = operator.clone();
        async move {
            let path = format!("/v1/audit?limit=1&operation={operation}");
            operator.get(&path).await.is(200).json()["data"][0].clone()
        }
    };
    for (path, operation) in [
        ("/v1/queues/email", "pauseQueue"),
        ("/v1/tenants/m2", "pauseTenant"),
        (&of_webhook, "pauseWebhook"),
    ] {
        let acting =
            if path == of_webhook { operator.with("x-tenant", "m2") } else { operator.clone() };
        let pause = format!("{path}/pause");
        acting.post(&pause, &json!({"reason": REASON})).await.is(204);
        assert_eq!(newest(operation).await["reason"], REASON, "{operation}");
        // The reason is optional, and what is not a text is ignored.
        for body in [json!({}), json!({"reason": null}), json!({"reason": "  "})] {
            acting.post(&pause, &body).await.is(204);
            assert_eq!(newest(operation).await["reason"], Value::Null, "{body}");
        }
        acting.call("POST", &pause, None).await.is(204);
        let longest = "é".repeat(200);
        acting.post(&pause, &json!({"reason": longest})).await.is(204);
        assert_eq!(newest(operation).await["reason"], longest);
        for wrong in [json!("x".repeat(201)), json!("two\nlines"), json!(7)] {
            acting.post(&pause, &json!({"reason": wrong})).await.refused(422, "invalid_field");
        }
        // A refused action is recorded without its reason.
        let refused = newest(operation).await;
        assert_eq!((&refused["outcome"], &refused["reason"]), (&json!("refused"), &Value::Null));
        acting.post(&format!("{path}/resume"), &json!({})).await.is(204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_may_say_why() {
    reasons_are_recorded(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres_too() {
    reasons_are_recorded(&Stage::postgres().await).await;
}

/// The operator's reasons are for users of the operator; a tenant's are for the tenant.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_its_own_reasons_and_not_the_operators() {
    let stage = Stage::new().await;
    let (_receiver, url) = receiver(200).await;
    let hands = stage.tenant("m2").await;
    let webhook = hands.webhook(&url).await;
    let pause = format!("/v1/webhooks/{}/pause", webhook["id"].as_str().unwrap());
    hands.client.post(&pause, &json!({"reason": "our own words"})).await.is(204);
    let operator = stage.operator();
    let theirs = json!({"reason": "secret words"});
    operator.post("/v1/tenants/m2/pause", &theirs).await.is(204);
    let seen = hands.client.get("/v1/audit").await.is(200);
    assert!(!seen.text().contains("secret words"), "{}", seen.text());
    let seen = seen.json();
    assert_eq!(seen["data"][0]["operation"], "pauseTenant");
    assert_eq!(seen["data"][0]["reason"], Value::Null);
    assert_eq!(seen["data"][1]["reason"], "our own words");
    let all = operator.get("/v1/audit").await.is(200).text();
    assert!(all.contains("secret words") && all.contains("our own words"), "{all}");
}
