//! Another tenant's object gets the same response as one that does not exist, wherever it is named.

use std::{collections::BTreeMap, sync::Arc};

use gancho_api::{input::field::ResourceKind, route::Needs, router::ROUTES};
use gancho_domain::{Parcel, ParcelKind, id::ReceiptIdKind};
use gancho_store::{NewParcel, NodeId};
use serde_json::{Value, json};

use crate::{
    http::{Client, Reply},
    requests::{Place, call_with, name, places, unknown},
    stage::{Hands, Stage, dead_letter, receiver},
};

type Things = BTreeMap<ResourceKind, String>;

/// Creates one of everything that a tenant can have.
async fn things(hands: &Hands, good: &str, bad: &str) -> Things {
    let webhook = hands.webhook(good).await;
    let event = hands.publish("own.type", json!({})).await;
    let delivery = hands.delivery(&event, "delivered").await;
    let (_, dead) = dead_letter(hands, bad).await;
    let own = json!({"name": "own.secret.type"});
    hands.client.post("/v1/webhooks/events", &own).await.is(201);
    let replay = json!({"filter": {"until": "2020-01-01T00:00:00Z"}});
    let replay = hands.client.post("/v1/replays", &replay).await.is(202).json();
    let email = json!({"from": "a@example.com", "to": "b@example.com", "subject": "", "text": ""});
    let email = hands.client.post("/v1/email/send", &email).await.is(201).json();
    let secret = json!({"address": "secret@example.com"});
    hands.client.post("/v1/suppressions", &secret).await.is(201);
    let keys = hands.client.get("/v1/api-keys").await.is(200).json();
    let text = |value: &Value| value["id"].as_str().unwrap().to_owned();
    BTreeMap::from([
        (ResourceKind::ApiKey, text(&keys["data"][0])),
        (ResourceKind::Webhook, text(&webhook)),
        (ResourceKind::Event, text(&event)),
        (ResourceKind::Delivery, text(&delivery)),
        (ResourceKind::DeadLetter, text(&dead)),
        (ResourceKind::Replay, text(&replay)),
        (ResourceKind::EventType, "own.secret.type".to_owned()),
        (ResourceKind::Email, email["outboxId"].as_str().unwrap().to_owned()),
        (ResourceKind::Suppression, "secret@example.com".to_owned()),
        (ResourceKind::Tenant, hands.slug.clone()),
        (ResourceKind::Source, "their-own-source".to_owned()),
    ])
}

/// Receives a webhook of a partner.
async fn receipt(stage: &Stage) -> String {
    let (api, now) = (&stage.api, stage.api.clock.now());
    let parcel = Parcel {
        id: api.ids.make(),
        tenant: api.ids.make(),
        kind: ParcelKind::Receipt,
        event_type: "their-own-source".into(),
        subject: None,
        external_id: None,
        is_test: false,
        body: "{}".into(),
        created_at: now,
        trace: None,
        erased_at: None,
    };
    let id = parcel.id.cast::<ReceiptIdKind>().to_string();
    let new = NewParcel { parcel: Arc::new(parcel), once: None, ledger: None, deliveries: vec![] };
    api.store.accept(vec![new], NodeId(0)).await.unwrap();
    id
}

async fn matrix(stage: &Stage) {
    let (_good, good) = receiver(200).await;
    let (_bad, bad) = receiver(500).await;
    let [own, other] = [stage.tenant("own").await, stage.tenant("other").await];
    stage.operator().post("/v1/sources", &json!({"partner": "their-own-source"})).await.is(201);
    let mut theirs = things(&other, &good, &bad).await;
    theirs.insert(ResourceKind::Receipt, receipt(stage).await);
    let portal = stage.operator().post("/v1/portal-links", &json!({"tenant": "own"})).await;
    let portal = portal.is(201).json()["token"].as_str().unwrap().to_owned();
    let portal = stage.anyone().with("authorization", &format!("Bearer {portal}"));
    let acting = stage.operator().with("x-tenant", &own.slug);
    let mut seen = 0;
    for route in ROUTES {
        if route.needs == Needs::Operator {
            continue;
        }
        for (place, noun) in places(route) {
            let Some(foreign) = theirs.get(&noun) else {
                panic!("{}: the matrix knows no {noun:?}", name(route))
            };
            for client in [&own.client, &portal, &acting] {
                let foreign = call_with(client, route, &place, foreign).await;
                let nothing = call_with(client, route, &place, &unknown(noun)).await;
                assert_eq!(foreign.status, nothing.status, "{} {place:?}", name(route));
                if foreign.status != 204 {
                    assert_eq!(shape(&foreign), shape(&nothing), "{} {place:?}", name(route));
                }
                if !matches!(place, Place::Query(_)) && !is_made_by_name(noun) {
                    let hidden = [403, 404, 422].contains(&foreign.status);
                    assert!(hidden, "{} {place:?} {}", name(route), foreign.text());
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "the matrix has {seen} entries");
    // The objects themselves exist: their owner still sees all of them.
    for (noun, path) in [
        (ResourceKind::Webhook, "/v1/webhooks/"),
        (ResourceKind::Event, "/v1/events/"),
        (ResourceKind::Delivery, "/v1/deliveries/"),
        (ResourceKind::DeadLetter, "/v1/dlq/"),
        (ResourceKind::Replay, "/v1/replays/"),
        (ResourceKind::EventType, "/v1/webhooks/events/"),
        (ResourceKind::Email, "/v1/emails/"),
    ] {
        other.client.get(&format!("{path}{}", theirs[&noun])).await.is(200);
    }
    lists_hold_only_ones_own(&own.client, &theirs).await;
}

/// Whether the request creates an object by its name instead of looking it up, so that no other tenant's
/// object is affected.
fn is_made_by_name(noun: ResourceKind) -> bool {
    noun == ResourceKind::EventType
}

/// Returns the parts of a response that could reveal something.
fn shape(reply: &Reply) -> Value {
    let mut body = reply.without_request_id();
    // An object that is created by name has the given name; a dry run has its time.
    for own in ["name", "id", "created_at", "started_at", "finished_at"] {
        body.as_object_mut().map(|members| members.remove(own));
    }
    body
}

async fn lists_hold_only_ones_own(client: &Client, theirs: &Things) {
    for list in [
        "/v1/webhooks",
        "/v1/events",
        "/v1/deliveries",
        "/v1/deliveries/export",
        "/v1/dlq",
        "/v1/replays",
        "/v1/dlq/stats",
        "/v1/dlq/export",
        "/v1/webhooks/events",
        "/v1/emails",
        "/v1/suppressions",
        "/v1/stats/webhooks",
        "/v1/stats/webhooks?order=failures",
    ] {
        let text = client.get(list).await.is(200).text();
        for (noun, id) in theirs {
            assert!(!text.contains(id) || *noun == ResourceKind::Tenant, "{list} shows {id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_another_tenants_can_be_told_from_nothing() {
    matrix(&Stage::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nor_on_postgres() {
    matrix(&Stage::postgres().await).await;
}
