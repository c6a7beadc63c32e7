//! Erased content is in no response any more, is not delivered any more, and the action is recorded.

use serde_json::{Value, json};

use crate::stage::{Stage, eventually, receiver};

const CANARY: &str = "canary-of-ana";

async fn event(stage: &Stage) {
    let (acme, globex) = (stage.tenant("acme").await, stage.tenant("globex").await);
    let (hooks, url) = receiver(200).await;
    acme.webhook_with(json!({"url": url, "events": ["*"]})).await;
    let event = acme.publish("order.paid", json!({"name": CANARY})).await;
    acme.delivery(&event, "delivered").await;
    let event = event["id"].as_str().unwrap();
    let body = json!({"event_id": event});
    globex.client.post("/v1/erasures", &body).await.refused(404, "not_found");
    let path = format!("/v1/events/{event}");
    assert_eq!(acme.client.get(&path).await.is(200).json()["erased_at"], Value::Null);

    let report = eventually(async || {
        let reply = acme.client.post("/v1/erasures", &body).await;
        (reply.status == 200).then(|| reply.json())
    })
    .await;
    assert_eq!((&report["erased"], &report["next_cursor"]), (&json!(1), &Value::Null));
    let shown = acme.client.get(&path).await.is(200).json();
    assert_eq!(shown["data"], Value::Null);
    assert!(shown["erased_at"].is_string() && !shown.to_string().contains(CANARY), "{shown}");
    let delivery = shown["deliveries"][0]["id"].as_str().unwrap().to_owned();
    let delivery = format!("/v1/deliveries/{delivery}");
    let text = acme.client.get(&delivery).await.is(200).json().to_string();
    assert!(!text.contains(CANARY), "{text}");
    let again = acme.client.post("/v1/erasures", &body).await.is(200).json();
    assert_eq!((&again["erased"], &again["already_erased"]), (&json!(0), &json!(1)));

    // A retry delivers nothing.
    let before = hooks.requests().len();
    acme.client.post(&format!("{delivery}/retry"), &json!({})).await;
    let ended = eventually(async || {
        let shown = acme.client.get(&delivery).await.is(200).json();
        (shown["last_error_code"] == "ERASED").then_some(shown)
    })
    .await;
    assert_eq!(ended["status"], "failed");
    assert_eq!(hooks.requests().len(), before);
    let acts = stage.operator().get("/v1/audit?operation=eraseContent").await.is(200).json();
    assert!(acts["data"].as_array().unwrap().len() >= 2, "{acts}");
    assert!(!acts.to_string().contains(CANARY), "{acts}");
    let act = &acts["data"][0];
    assert!(path.ends_with(act["resource"].as_str().unwrap()), "{act}");
    assert!(act["tenant_id"].is_string(), "{act}");
}

fn in_a_day(stage: &Stage) -> String {
    let now = stage.api.clock.now();
    (now + std::time::Duration::from_secs(24 * 60 * 60)).to_string()
}

async fn subject_and_address(stage: &Stage) {
    let acme = stage.tenant("acme").await;
    let publish = async |subject: &str| {
        let later = in_a_day(stage);
        let body =
            json!({"type": "order.paid", "data": CANARY, "subject": subject, "deliver_at": later});
        acme.client.post("/v1/events", &body).await.is(202).json()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (_hooks, url) = receiver(200).await;
    acme.webhook_with(json!({"url": url, "events": ["order.*"]})).await;
    let events = [publish("order-1").await, publish("order-2").await, publish("order-1").await];
    let report =
        acme.client.post("/v1/erasures", &json!({"subject": "order-1"})).await.is(200).json();
    assert_eq!((&report["erased"], &report["canceled"]), (&json!(2), &json!(2)), "{report}");
    for (event, is_erased) in events.iter().zip([true, false, true]) {
        let shown = acme.client.get(&format!("/v1/events/{event}")).await.is(200).json();
        assert_eq!(shown["erased_at"].is_string(), is_erased, "{shown}");
        assert_eq!(shown["subject"].is_null(), is_erased, "{shown}");
    }

    let send = async |to: &str| {
        let body = json!({"from": "shop@example.com", "to": to, "subject": CANARY, "text": "to ana@example.com"});
        acme.client.post("/v1/email/send", &body).await.is(201).json()["outboxId"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let emails = [send("Ana <ana@example.com>").await, send("bob@example.com").await];
    for email in &emails {
        let path = format!("/v1/emails/{email}");
        eventually(async || {
            let shown = acme.client.get(&path).await.is(200).json();
            (shown["status"] == "SENT" || shown["status"] == "FAILED").then_some(())
        })
        .await;
    }
    let body = json!({"email_address": "ANA@Example.com"});
    let report = acme.client.post("/v1/erasures", &body).await.is(200).json();
    assert_eq!(report["erased"], 1, "{report}");
    let shown = acme.client.get(&format!("/v1/emails/{}", emails[0])).await.is(200).json();
    assert!(shown["erasedAt"].is_string() && !shown.to_string().contains(CANARY), "{shown}");
    let other = acme.client.get(&format!("/v1/emails/{}", emails[1])).await.is(200).json();
    assert_eq!((&other["erasedAt"], &other["subject"]), (&Value::Null, &json!(CANARY)));
    acme.client.get("/v1/emails").await.is(200);

    for body in [json!({}), json!({"subject": "a", "email_address": "a@b.co"})] {
        acme.client.post("/v1/erasures", &body).await.refused(422, "invalid_field");
    }
    let body = json!({"subject": "order-1", "cursor": "AAAA"});
    acme.client.post("/v1/erasures", &body).await.refused(400, "bad_cursor");
    let body = json!({"subject": "order-1"});
    stage.operator().post("/v1/erasures", &body).await.refused(400, "tenant_required");
}

/// A search may read everybody's parcels for some seconds. Each tenant has its own slots.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_runs_few_searches_at_a_time() {
    let stage = Stage::new().await;
    let (acme, globex) = (stage.tenant("acme").await, stage.tenant("globex").await);
    let tenant = Some(acme.id.parse().unwrap());
    let running: Vec<_> =
        (0..2).map(|_| stage.api.erasure_searches.take(tenant).ok().unwrap()).collect();
    for body in [json!({"subject": "order-1"}), json!({"email_address": "ana@example.com"})] {
        let refused = acme.client.post("/v1/erasures", &body).await;
        refused.refused(429, "rate_limited");
        globex.client.post("/v1/erasures", &body).await.is(200);
    }
    drop(running);
    acme.client.post("/v1/erasures", &json!({"subject": "order-1"})).await.is(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_erased() {
    event(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_erased_on_postgres() {
    event(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_and_an_address_are_erased() {
    subject_and_address(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_and_an_address_are_erased_on_postgres() {
    subject_and_address(&Stage::postgres().await).await;
}
