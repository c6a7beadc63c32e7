use gancho_testkit::postgres::fresh_database;

use super::*;
use crate::{Options, PostgresStore};

/// If this list misses a table, a move loses the tenant's rows in it.
#[tokio::test]
async fn every_table_with_a_tenant_moves_or_says_why_not() {
    let database = fresh_database().await.unwrap();
    let store = PostgresStore::connect(&database.url(), Options::default()).await.unwrap();
    let client = database.client().await.unwrap();
    let sql = "select c.relname::text, exists (
            select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'a_moving_tenant'),
            array(select k.attname::text from pg_index i, unnest(i.indkey) with ordinality as n(attnum, place)
                join pg_attribute k on k.attrelid = c.oid and k.attnum = n.attnum
                where i.indrelid = c.oid and i.indisprimary order by n.place)
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
        where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relname <> 'move_changes'
        order by 1";
    let mut known = 0;
    for row in client.query(sql, &[]).await.unwrap() {
        let (name, is_guarded, mut key): (String, bool, Vec<String>) =
            (row.get(0), row.get(1), row.get(2));
        let moved = MOVED_TABLES.iter().find(|table| table.name == name);
        let stays = NOT_MOVED.iter().find(|(table, _)| *table == name);
        assert!(moved.is_some() != stays.is_some(), "{name}: say whether it moves with a tenant");
        assert_eq!(is_guarded, moved.is_some(), "{name}: the trigger a_moving_tenant");
        if let Some(table) = moved {
            key.retain(|column| column != "tenant_id");
            let mut expected: Vec<&str> = table.key.to_vec();
            key.sort_unstable();
            expected.sort_unstable();
            assert_eq!(key, expected, "{name}: the key");
        }
        known += 1;
    }
    assert_eq!(known, MOVED_TABLES.len() + NOT_MOVED.len(), "a table that is named does not exist");
    drop(store);
}
