//! Event types: the catalog, tenants' own types, schemas, and which type overrides which.

use gancho_outbound::{Catalog, EventTypeError, NewEventType, Owner, PublishError};
use gancho_testkit::wait_for;
use serde_json::value::RawValue;

use crate::stage::{Stage, event, pointers};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn named(name: &str) -> NewEventType {
    NewEventType { name: name.into(), ..NewEventType::default() }
}

const SCHEMA: &str = r#"{"type":"object","missing_field":["id"],"properties":{"id":{"type":"string"},"amount":{"type":"integer","minimum":0}}}"#;

#[tokio::test]
async fn the_catalog_and_ones_own() {
    let stage = Stage::new().await;
    let built_in = stage.outbound.event_types.list(stage.scope).await.unwrap();
    assert_eq!(built_in.len(), 32);
    assert!(built_in.is_sorted_by_key(|one| one.name.clone()));
    let paid = stage.outbound.event_types.get(stage.scope, "invoice.paid").await.unwrap();
    assert_eq!(paid.catalog, Catalog::Saas);

    let own = NewEventType { description: Some("Ours.".into()), ..named("invoice.paid") };
    stage.outbound.event_types.put(stage.scope, own).await.unwrap();
    stage.outbound.event_types.put(Owner::Operator, named("order.placed")).await.unwrap();
    stage.outbound.event_types.put(Owner::Operator, named("invoice.paid")).await.unwrap();
    let paid = stage.outbound.event_types.get(stage.scope, "invoice.paid").await.unwrap();
    assert_eq!((paid.catalog, paid.description.as_str()), (Catalog::Tenant, "Ours."));
    assert!(paid.example.get().contains("inv_"), "the built-in example stays");
    let of_other = stage.outbound.event_types.get(stage.operator, "invoice.paid").await.unwrap();
    assert_eq!(of_other.catalog, Catalog::Operator, "another tenant sees the operator's");
    assert_eq!(stage.outbound.event_types.list(stage.scope).await.unwrap().len(), 33);

    let operators = stage.outbound.event_types.list(Owner::Operator).await.unwrap();
    assert_eq!(operators.len(), 33, "what is built in and its own");
    let paid = stage.outbound.event_types.get(Owner::Operator, "invoice.paid").await.unwrap();
    assert_eq!(paid.catalog, Catalog::Operator);

    stage.outbound.event_types.delete(stage.scope, "invoice.paid").await.unwrap();
    stage.outbound.event_types.delete(Owner::Operator, "invoice.paid").await.unwrap();
    assert_eq!(
        stage.outbound.event_types.get(stage.scope, "invoice.paid").await.unwrap().catalog,
        Catalog::Saas
    );
    let built_in = stage.outbound.event_types.delete(stage.scope, "invoice.paid").await;
    assert!(matches!(built_in, Err(EventTypeError::BuiltIn)));
    assert!(matches!(
        stage.outbound.event_types.delete(stage.scope, "order.placed").await,
        Err(EventTypeError::NotFound)
    ));
    assert!(matches!(
        stage.outbound.event_types.get(stage.scope, "no.such").await,
        Err(EventTypeError::NotFound)
    ));
}

#[tokio::test]
async fn a_schema_is_kept_to() {
    let stage = Stage::new().await;
    let own = NewEventType { schema: Some(raw(SCHEMA)), ..named("order.placed") };
    stage.outbound.event_types.put(stage.scope, own).await.unwrap();
    stage.publish(event("order.placed", "{\"id\":\"a\",\"amount\":3}")).await;
    let refused = stage
        .publisher
        .publish(stage.scope, &stage.tenant, event("order.placed", "{\"id\":1,\"amount\":-1}"))
        .await;
    let Err(PublishError::Faulty(errors)) = refused else { panic!("it was taken") };
    let mut errors = pointers(&errors);
    errors.sort_unstable();
    assert_eq!(errors, [("schema_mismatch", "/data/amount"), ("schema_mismatch", "/data/id")]);

    let looser =
        NewEventType { schema: Some(raw("{\"type\":\"object\"}")), ..named("order.placed") };
    stage.outbound.event_types.put(stage.scope, looser).await.unwrap();
    stage.publish(event("order.placed", "{\"id\":1}")).await;
    let archived =
        NewEventType { schema: Some(raw("false")), is_archived: true, ..named("order.placed") };
    stage.outbound.event_types.put(stage.scope, archived).await.unwrap();
    stage.publish(event("order.placed", "1")).await;
}

/// A long text is checked on another thread, with the same result.
#[tokio::test]
async fn long_data_is_judged_too() {
    let stage = Stage::new().await;
    let own = NewEventType { schema: Some(raw(SCHEMA)), ..named("order.placed") };
    stage.outbound.event_types.put(stage.scope, own).await.unwrap();
    for (id, taken) in [("\"x\"", true), ("7", false)] {
        let data = format!("{{\"id\":{id},\"text\":\"{}\"}}", "x".repeat(100_000));
        let mut new = event("order.placed", "");
        new.data = data.into();
        let answer = stage.publisher.publish(stage.scope, &stage.tenant, new).await;
        assert_eq!(answer.is_ok(), taken);
    }
}

#[tokio::test]
async fn strict_tenants_publish_what_is_registered() {
    let mut stage = Stage::new().await;
    stage.publish(event("made.up", "{}")).await;
    stage.tenant.strict_event_types = true;
    stage.publish(event("invoice.paid", "{}")).await;
    let refused = stage.publisher.publish(stage.scope, &stage.tenant, event("made.up", "{}")).await;
    let Err(PublishError::Faulty(errors)) = refused else { panic!("it was taken") };
    assert_eq!(pointers(&errors), [("unknown_event_type", "/type")]);
    stage.outbound.event_types.put(stage.scope, named("made.up")).await.unwrap();
    stage.publish(event("made.up", "{}")).await;
    let archived = NewEventType { is_archived: true, ..named("made.up") };
    stage.outbound.event_types.put(stage.scope, archived).await.unwrap();
    let refused = stage.publisher.publish(stage.scope, &stage.tenant, event("made.up", "{}")).await;
    assert!(refused.is_err(), "archived is as if it were not registered");
}

#[tokio::test]
async fn types_that_are_refused() {
    let stage = Stage::new().await;
    let put = async |new: NewEventType| match stage.outbound.event_types.put(stage.scope, new).await
    {
        Err(EventTypeError::Faulty(errors)) => errors,
        other => panic!("{other:?}"),
    };
    let errors = put(NewEventType {
        name: "a..b".into(),
        description: Some("x".repeat(2_001)),
        schema: Some(raw("{\"type\":\"strange\"}")),
        ..NewEventType::default()
    })
    .await;
    assert_eq!(
        pointers(&errors),
        [
            ("malformed", "/name"),
            ("too_long", "/description"),
            ("schema_malformed", "/schema/type")
        ]
    );
    assert_eq!(pointers(&put(named("webhook.own")).await), [("reserved_event_type", "/name")]);
    let errors = put(NewEventType {
        example: Some(raw("{\"id\":7}")),
        schema: Some(raw(SCHEMA)),
        ..named("order.placed")
    })
    .await;
    assert_eq!(pointers(&errors), [("schema_mismatch", "/example/id")]);
    let long = format!("{{\"title\":\"{}\"}}", "x".repeat(64 * 1024));
    let errors = put(NewEventType { schema: Some(raw(&long)), ..named("order.placed") }).await;
    assert_eq!(pointers(&errors), [("too_long", "/schema")]);
}

/// Another node's change is seen within seconds, and an unchanged schema is not compiled again.
#[tokio::test]
async fn another_nodes_change_is_seen_soon() {
    let stage = Stage::new().await;
    let other = gancho_outbound::EventTypes::new(stage.store.clone());
    assert!(stage.outbound.event_types.get(stage.scope, "order.placed").await.is_err());
    other.put(stage.scope, named("order.placed")).await.unwrap();
    wait_for("the other's change", || async {
        stage.outbound.event_types.get(stage.scope, "order.placed").await.ok()
    })
    .await;
}
