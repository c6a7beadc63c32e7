//! The schema of the tables.

use gancho_domain::TenantScope;
use gancho_store::{Deliveries, Nodes};
use gancho_store_postgres::{Options, PostgresStore};
use gancho_testkit::postgres::{Client, fresh_database};

use crate::world::{ParcelGenerator, accept, claim, now};

async fn tables_in(client: &Client, schema: &str) -> i64 {
    let sql = "select count(*) from pg_tables where schemaname = $1";
    client.query_one(sql, &[&schema]).await.unwrap().get(0)
}

async fn open(url: &str) -> std::sync::Arc<PostgresStore> {
    PostgresStore::connect(url, Options::default()).await.unwrap()
}

/// Two gateways in one database, beside tables of another program.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_is_set_is_used_for_everything() {
    let database = fresh_database().await.unwrap();
    let client = database.client().await.unwrap();
    client.batch_execute("create table schema_migrations (version text)").await.unwrap();
    let make = ParcelGenerator::new();
    let (tenant, target) = (make.tenant(), make.target());
    let mut stores = Vec::new();
    for schema in ["hooks", "Web%20hooks"] {
        let store = open(&format!("{}&schema={schema}", database.url())).await;
        let node = store.join("a", now()).await.unwrap();
        accept(&store, make.event(tenant, target), node).await;
        assert_eq!(claim(&store, node).await.jobs.len(), 1);
        stores.push(store);
    }
    assert_eq!(tables_in(&client, "public").await, 1, "the other program's");
    let [first, second] =
        [tables_in(&client, "hooks").await, tables_in(&client, "Web hooks").await];
    assert!(first > 20 && first == second, "{first} {second}");
    let functions = "select string_agg(n.nspname, ',' order by n.nspname) from pg_proc p
        join pg_namespace n on n.oid = p.pronamespace where p.proname = 'publish'";
    let functions: String = client.query_one(functions, &[]).await.unwrap().get(0);
    assert_eq!(functions, "Web hooks,hooks");
    // Each sees only its own.
    for store in &stores {
        let filter = gancho_store::EventFilter::default();
        let page = gancho_store::PageRequest::first(10);
        let rows = store.events(TenantScope::internal(tenant), filter, page).await.unwrap().rows;
        assert_eq!(rows.len(), 1);
    }
}

/// The function's schema has a name that many roles have, and then it is first in the search path.
#[tokio::test(flavor = "multi_thread")]
async fn tables_stay_where_they_are_when_a_schema_comes_before_them() {
    let database = fresh_database().await.unwrap();
    drop(open(&database.url()).await);
    let client = database.client().await.unwrap();
    let before = tables_in(&client, "public").await;
    let set = format!("alter database {} set search_path = gancho, public", database.name());
    client.batch_execute(&set).await.unwrap();
    let store = open(&database.url()).await;
    store.join("a", now()).await.unwrap();
    assert_eq!(tables_in(&client, "gancho").await, 0);
    assert_eq!(tables_in(&client, "public").await, before);
    let nodes: i64 =
        client.query_one("select count(*) from public.nodes", &[]).await.unwrap().get(0);
    assert_eq!(nodes, 1);
}
