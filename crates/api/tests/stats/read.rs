//! From a published event to the figures of a plot, on both stores.

use serde_json::{Value, json};

use crate::{
    http::Client,
    stage::{Hands, Stage, dead_letter, eventually, receiver},
};

/// Waits until this many were accepted and all of them have ended, and returns the totals.
async fn totals(client: &Client, path: &str, accepted: u64) -> Value {
    let reply = eventually(|| async {
        let stats = client.get(path).await.is(200).json();
        let of = |name: &str| stats["totals"][name].as_u64().unwrap();
        let has_ended = of("delivered") + of("dead_letters") == accepted;
        (of("accepted") == accepted && has_ended).then_some(stats)
    });
    let stats = reply.await;
    let bins = stats["bins"].as_array().unwrap();
    for name in ["accepted", "attempts", "failed_attempts", "delivered", "dead_letters"] {
        let sum: u64 = bins.iter().map(|bin| bin[name].as_u64().unwrap()).sum();
        assert_eq!(stats["totals"][name], sum, "{name} of the bins");
    }
    stats["totals"].clone()
}

/// Publishes two events that are delivered, and one that is refused permanently. Returns both webhooks.
async fn send(hands: &Hands, good: &str, bad: &str) -> (String, String) {
    let only = json!({"url": good, "events": ["good.*"]});
    let good = hands.webhook_with(only).await["id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        let event = hands.publish("good.one", json!({})).await;
        hands.delivery(&event, "delivered").await;
    }
    let (bad, _) = dead_letter(hands, bad).await;
    (good, bad["id"].as_str().unwrap().to_owned())
}

async fn figures_of_all_kinds(stage: &Stage) {
    let (_good, good) = receiver(200).await;
    let (_bad, bad) = receiver(500).await;
    let [acme, globex] = [stage.tenant("acme").await, stage.tenant("globex").await];
    let (fine, failing) = send(&acme, &good, &bad).await;
    let theirs = globex.webhook(&good).await["id"].as_str().unwrap().to_owned();
    globex.publish("a.b", json!({})).await;

    let own = totals(&acme.client, "/v1/stats?range=1h", 3).await;
    assert_eq!(own["delivered"], 2);
    assert_eq!(own["delivered_at_first_attempt"], 2);
    assert_eq!(own["dead_letters"], 1);
    let failed = own["failed_attempts"].as_u64().unwrap();
    assert_eq!(own["attempts"], 2 + failed);
    assert!(failed >= 1 && own["response_time"]["p50_ms"].as_f64().unwrap() > 0.0, "{own}");
    assert!(own["delivery_time"]["p99_ms"].as_f64() >= own["delivery_time"]["p50_ms"].as_f64());
    for range in ["15m", "6h", "24h", "7d", "30d"] {
        let same = totals(&acme.client, &format!("/v1/stats?range={range}"), 3).await;
        assert_eq!(same, own, "{range}");
    }
    let acting = stage.operator().with("x-tenant", "acme");
    assert_eq!(totals(&acting, "/v1/stats", 3).await, own);
    assert_eq!(totals(&stage.operator(), "/v1/stats", 4).await["delivered"], 3);
    totals(&acme.client, "/v1/stats?lane=webhook", 3).await;
    totals(&acme.client, "/v1/stats?lane=email", 0).await;

    let of_fine = totals(&acme.client, &format!("/v1/webhooks/{fine}/stats"), 2).await;
    assert_eq!((&of_fine["success_share"], &of_fine["failed_attempts"]), (&json!(1.0), &json!(0)));
    let of_failing = totals(&acme.client, &format!("/v1/webhooks/{failing}/stats"), 1).await;
    assert_eq!((&of_failing["success_share"], &of_failing["delivered"]), (&json!(0.0), &json!(0)));
    let by_query = format!("/v1/stats?webhook_id={fine}&range=15m");
    assert_eq!(totals(&acme.client, &by_query, 2).await, of_fine);
    pages_of_webhooks(stage, &acme, [&fine, &failing], &theirs).await;
    let tenants = stage.operator().get("/v1/stats/tenants?range=1h").await.is(200).json();
    let of = |slug: &str| {
        let rows = tenants["data"].as_array().unwrap();
        rows.iter().find(|row| row["slug"] == slug).unwrap()["totals"].clone()
    };
    assert_eq!(of("acme"), own);
    assert_eq!((&of("globex")["accepted"], &of("globex")["delivered"]), (&json!(1), &json!(1)));
    let one = stage.operator().get("/v1/stats/tenants?limit=1").await.is(200).json();
    assert_eq!(one["data"].as_array().unwrap().len(), 1);
    assert!(one["next_cursor"].is_string(), "{one}");
    acme.client.get("/v1/stats/tenants").await.refused(403, "operator_only");
    acme.client.get(&format!("/v1/webhooks/{theirs}/stats")).await.refused(404, "not_found");
}

async fn pages_of_webhooks(stage: &Stage, acme: &Hands, own: [&str; 2], theirs: &str) {
    let ids = |list: &Value| -> Vec<String> {
        let rows = list["data"].as_array().unwrap().iter();
        rows.map(|row| row["webhook_id"].as_str().unwrap().to_owned()).collect()
    };
    let [fine, failing] = own;
    let all = acme.client.get("/v1/stats/webhooks").await.is(200).json();
    assert_eq!(ids(&all), [failing, fine], "newest first");
    let row = &all["data"][1];
    assert_eq!(
        (&row["totals"]["delivered"], row["bins"].as_array().unwrap().len()),
        (&json!(2), 24)
    );
    assert_eq!((row["tenant_id"].as_str(), row["name"].is_string()), (Some(&*acme.id), true));
    let first = acme.client.get("/v1/stats/webhooks?limit=1").await.is(200).json();
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = format!("/v1/stats/webhooks?limit=1&cursor={cursor}");
    assert_eq!(ids(&acme.client.get(&second).await.is(200).json()), [fine]);

    let named = |ids: &[&str]| format!("/v1/stats/webhooks?webhook_ids={}", ids.join(","));
    let both = acme.client.get(&named(&[fine, theirs, failing])).await.is(200).json();
    assert_eq!(ids(&both), [fine, failing], "as named, without another tenant's");
    assert_eq!((&both["data"][0], &both["next_cursor"]), (row, &json!(null)));
    let of_all = stage.operator().get(&named(&[theirs, failing])).await.is(200).json();
    assert_eq!(ids(&of_all), [theirs, failing]);
    let many = vec![fine; 101];
    for refused in [named(&many), named(&["x"]), named(&[fine]) + "&limit=1"] {
        acme.client.get(&refused).await.refused(422, "invalid_field");
    }

    let worst = acme.client.get("/v1/stats/webhooks?order=failures").await.is(200).json();
    assert_eq!(ids(&worst), [failing]);
    let of_all = stage.operator().get("/v1/stats/webhooks").await.is(200).json();
    assert_eq!(ids(&of_all), [failing], "without {theirs}, which works");
    assert_eq!(of_all["data"][0]["tenant_id"], acme.id);
    let newest = stage.operator().get("/v1/stats/webhooks?order=newest").await.is(200).json();
    assert!(newest["data"].as_array().unwrap().len() >= 2, "those of all tenants: {newest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_counted_wherever_it_belongs() {
    figures_of_all_kinds(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn and_on_postgres() {
    figures_of_all_kinds(&Stage::postgres().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_without_deliveries_is_all_zeros() {
    let stage = Stage::new().await;
    let stats = stage.operator().get("/v1/stats").await.is(200).json();
    assert_eq!((&stats["range"], &stats["step"]), (&json!("24h"), &json!("15m")));
    let bins = stats["bins"].as_array().unwrap();
    assert_eq!(bins.len(), 96);
    assert!(bins.iter().all(|bin| bin["accepted"] == 0 && bin["success_share"].is_null()));
    assert_eq!(bins[0]["at"], stats["since"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_and_steps_that_do_not_fit_are_refused_with_a_hint() {
    let stage = Stage::new().await;
    for (query, hint) in [
        ("range=2h", "`range` must be one of"),
        ("range=15m&step=1h", "use a shorter step"),
        ("range=7d&step=5m", "use `step=1h` or longer"),
        ("range=30d&step=1h", "use a longer step"),
    ] {
        let refused = stage.operator().get(&format!("/v1/stats?{query}")).await;
        let refused = refused.refused(422, "invalid_field");
        assert!(refused.text().contains(hint), "{query}: {}", refused.text());
    }
    let webhook = "webhook_id=wh_01HZZZZZZZZZZZZZZZZZZZZZZZ";
    stage.operator().get(&format!("/v1/stats?{webhook}")).await.refused(400, "tenant_required");
}
