use gancho_testkit::postgres::fresh_database;

use super::*;
use crate::{Options, PostgresStore};

const FILL: &str = "
insert into statistics
select l, 3600 * c, md5('tenant' || n)::uuid, md5('target' || e)::uuid, 2, 3600 * c, 1, 0, 1, '\\x01'
from generate_series(2, 3) l, generate_series(480000, 480009) c, generate_series(1, 500) n, generate_series(1, 10) e;
insert into records (kind, tenant_id, key, body, version)
select 'kind ' || k, md5('tenant' || n)::uuid, decode(md5(i::text), 'hex'), '', 1
from generate_series(1, 5) k, generate_series(1, 500) n, generate_series(1, 20) i;
analyze statistics;
analyze records;";

/// The keys of these tables do not begin with the tenant.
#[tokio::test]
async fn parts_are_found_without_reading_what_others_have() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let client = database.client().await.unwrap();
    client.batch_execute(FILL).await.unwrap();
    let row = client.query_one("select md5('tenant77')::uuid", &[]).await.unwrap();
    let tenant: Uuid = row.get(0);
    for (name, parts) in [("statistics", 20), ("records", 5)] {
        let table = *MOVED_TABLES.iter().find(|table| table.name == name).unwrap();
        let (mut after, mut found) = (None, 0);
        loop {
            let sql = last_key_of(tenant, table, after.as_deref());
            assert!(pages_read(&client, &sql).await < 300, "{name} {after:?}");
            let row = client.query_opt(&sql, &[]).await.unwrap();
            after = row.map(|row| row.get::<_, String>(0));
            if after.is_none() {
                break;
            }
            found += 1;
        }
        assert_eq!(found, parts, "{name}");
        let some = some_of(name).replace("$1", &format!("'{tenant}'")).replace("$2", "5000");
        assert!(pages_read(&client, &some).await < 500, "{name}");
        let rows = client.query(&some, &[]).await.unwrap().len();
        assert_eq!(rows, if name == "records" { 100 } else { 200 });
    }
    drop(store);
}

/// The server last counted the rows when the tenant had none, as where a tenant arrives.
const ARRIVE: &str = "
alter table once_keys set (autovacuum_enabled = off);
insert into once_keys select md5('tenant' || n)::uuid, decode(md5(n::text), 'hex'), '', gen_random_uuid(), 0, 0
from generate_series(1, 1000) n;
analyze once_keys;
insert into once_keys select md5('arrives')::uuid, decode(md5(n::text), 'hex'), '', gen_random_uuid(), 0, 0
from generate_series(1, 20000) n;";

#[tokio::test]
async fn changed_rows_are_found_by_their_keys_whatever_the_server_expects() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let client = database.client().await.unwrap();
    client.batch_execute(ARRIVE).await.unwrap();
    let sql = "select md5('arrives')::uuid, jsonb_agg(jsonb_build_object('tenant_id', md5('arrives')::uuid,
        'key', decode(md5((n * 1000)::text), 'hex')))::text from generate_series(1, 10) n";
    let row = client.query_one(sql, &[]).await.unwrap();
    let (tenant, keys): (Uuid, String) = (row.get(0), row.get(1));
    let table = *MOVED_TABLES.iter().find(|table| table.name == "once_keys").unwrap();
    let select = changed_rows(tenant, table, &keys, &["key".to_owned()], 0);
    let delete = delete_changed(tenant, table, &keys, 0);
    assert_eq!(client.query(&select, &[]).await.unwrap().len(), 10);
    for sql in [&select, &delete] {
        assert!(pages_read(&client, sql).await < 150, "{sql}");
    }
    assert_eq!(client.query(&select, &[]).await.unwrap().len(), 0, "explained and carried out");
    drop(store);
}

/// Returns the pages read from tables with thousands of pages.
async fn pages_read(client: &tokio_postgres::Client, sql: &str) -> u64 {
    let explain = format!("explain (analyze, buffers, timing off, costs off) {sql}");
    let plan = client.query(&explain, &[]).await.unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let buffers = plan.iter().find(|line| line.contains("Buffers:")).unwrap();
    let count = |word: &str| -> u64 {
        let rest = buffers.split_once(word).map_or("", |(_, rest)| rest);
        rest.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    count("hit=") + count("read=")
}
