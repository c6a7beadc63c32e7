//! Which tenant's events of the intake are taken next.

use std::time::Duration;

use gancho_domain::{Tenant, TenantId, TenantScope};
use gancho_store::{Intake, IntakeBatch, IntakeEvent, IntakeSettings, Tenants};
use gancho_store_postgres::PostgresStore;
use gancho_testkit::postgres::{Client, fresh_database};

use crate::world::{ParcelGenerator, now, open};

const BATCH: IntakeBatch = IntakeBatch {
    max_tenants: 4,
    max_events: 10,
    max_bytes: 1 << 20,
    lease: Duration::from_secs(3_600),
};

async fn publish(client: &Client, slug: &str) {
    let sql = "select gancho.publish($1, 'a.b', '{}')";
    client.query(sql, &[&slug]).await.unwrap();
}

async fn take(store: &PostgresStore, after: Option<TenantId>) -> Vec<IntakeEvent> {
    store.take_intake(after, BATCH).await.unwrap()
}

/// However many tenants publish faster than their rate allows, or wait for a slow node.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_that_are_postponed_or_leased_hold_back_no_other() {
    let database = fresh_database().await.unwrap();
    let (store, make) = (open(&database).await, ParcelGenerator::new());
    let client = database.client().await.unwrap();
    let settings = IntakeSettings { max_bytes: 1 << 20, ..IntakeSettings::default() };
    store.describe_intake(settings).await.unwrap();
    let mut tenants = Vec::new();
    for number in 0..20 {
        let slug = format!("t{number:02}");
        let tenant = Tenant::new(make.tenant(), &slug, now());
        store.create_tenant(tenant.clone()).await.unwrap();
        tenants.push((tenant.id, slug));
    }
    let quiet = tenants.remove(10);
    let mut after = None;
    for (_, slug) in &tenants {
        publish(&client, slug).await;
    }
    let mut taken = Vec::new();
    for _ in 0..5 {
        let events = take(&store, after).await;
        after = events.last().map(|event| event.tenant);
        taken.extend(events);
    }
    assert_eq!(taken.len(), tenants.len());
    // Half are postponed, half are leased.
    for event in taken.iter().step_by(2) {
        let scope = TenantScope::internal(event.tenant);
        store.postpone_intake(scope, &[event.id], Duration::from_secs(3_600)).await.unwrap();
    }
    assert!(take(&store, after).await.is_empty());

    publish(&client, &quiet.1).await;
    let next = take(&store, after).await;
    assert_eq!(next.iter().map(|event| event.tenant).collect::<Vec<_>>(), [quiet.0]);
}
