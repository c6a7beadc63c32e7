//! A tenant with something in every table, and what is in the tables of a cell.

use std::collections::BTreeMap;

use gancho_domain::TenantId;
use gancho_store_cells::{CellStore, MoveRules, MoveStatus, MoveStep};
use gancho_store_postgres::{MOVED_TABLES, Options, PostgresStore};
use gancho_testkit::{
    postgres::{Database, fresh_database},
    wait_for,
};
use std::{sync::Arc, time::Duration};

use crate::stage::{ParcelGenerator, in_schema, setup};

/// Schemas of one database: the home cell and the cell `a`.
pub struct World {
    pub database: Database,
    pub maker: ParcelGenerator,
}

/// The content of each table.
pub type Content = BTreeMap<&'static str, (i64, String)>;

/// So that a test of one node does not wait for others.
pub fn at_once() -> MoveRules {
    MoveRules {
        announce: Duration::from_millis(20),
        linger: Duration::ZERO,
        lease: Duration::from_millis(400),
        ..MoveRules::default()
    }
}

impl World {
    pub async fn new() -> Self {
        Self { database: fresh_database().await.unwrap(), maker: ParcelGenerator::new() }
    }

    pub fn url(&self, schema: &str) -> String {
        in_schema(&self.database.url(), schema)
    }

    pub async fn node(&self, rules: MoveRules) -> Arc<CellStore> {
        let options = Options::default();
        let home = PostgresStore::connect(&self.url("home"), options.clone()).await.unwrap();
        let mut setup = setup(options);
        setup.moves = rules;
        CellStore::open(home, setup).await.unwrap()
    }

    /// Two cells, and a tenant in the home cell.
    pub async fn with_tenant(&self, store: &Arc<CellStore>) -> TenantId {
        let tenant = self.maker.tenant(store).await.unwrap();
        store.add_cell("a", &self.url("a")).await.unwrap();
        tenant
    }

    async fn one(&self, sql: &str) -> (i64, String) {
        let client = self.database.client().await.unwrap();
        let row = client.query_one(sql, &[]).await.unwrap();
        (row.get(0), row.get::<_, Option<String>>(1).unwrap_or_default())
    }

    pub async fn run(&self, sql: &str) {
        self.database.client().await.unwrap().batch_execute(sql).await.unwrap();
    }

    /// What the tenant has in a cell. Numbers of nodes differ from cell to cell.
    pub async fn content(&self, schema: &str, tenant: TenantId) -> Content {
        let id = uuid(tenant);
        let mut content = Content::new();
        for table in MOVED_TABLES {
            let row = match table.name {
                "deliveries" => {
                    "to_jsonb(t) - 'owner' - 'state' || jsonb_build_object('state', replace(state::text, '3', '2'))"
                }
                "statistics" => "to_jsonb(t) - 'node'",
                _ => "to_jsonb(t)",
            };
            let sql = format!(
                "select count(*), md5(string_agg(({row})::text, '|' order by ({row})::text))
                 from {schema}.{} t where tenant_id = '{id}'",
                table.name
            );
            content.insert(table.name, self.one(&sql).await);
        }
        let intake = format!(
            "select count(*), md5(string_agg((to_jsonb(t) - 'number' - 'taken_until')::text, '|' order by number))
             from {schema}.intake t where tenant_id = '{id}'"
        );
        content.insert("intake", self.one(&intake).await);
        let counts = format!(
            "select coalesce(sum(change), 0)::int8, md5(string_agg(code || sum, '|' order by code)) from (
                select code, sum(change), 1 as change from {schema}.dead_counts where tenant_id = '{id}'
                group by 1 having sum(change) <> 0) t"
        );
        content.insert("dead_counts", self.one(&counts).await);
        content
    }

    /// Tables of a cell in which the tenant has something.
    pub async fn left(&self, schema: &str, tenant: TenantId) -> Vec<&'static str> {
        let content = self.content(schema, tenant).await;
        content.into_iter().filter(|(_, (count, _))| *count > 0).map(|(table, _)| table).collect()
    }

    pub async fn endpoint_version(&self, schema: &str, tenant: TenantId) -> i64 {
        let id = uuid(tenant);
        let sql = format!(
            "select coalesce(max(version), 0), null from {schema}.endpoint_versions where tenant_id = '{id}'"
        );
        self.one(&sql).await.0
    }

    /// Something in every table, with characters and bytes that are easily mistaken.
    pub async fn fill(&self, schema: &str, tenant: TenantId, events: u32) {
        let id = uuid(tenant);
        let sql = FILL
            .replace("{tenant}", &id)
            .replace("{schema}", schema)
            .replace("{events}", &events.to_string());
        self.run(&sql).await;
    }
}

pub fn uuid(tenant: TenantId) -> String {
    format!("{:032x}", u128::from_be_bytes(tenant.bytes()))
}

pub async fn ended(store: &CellStore, tenant: TenantId, step: MoveStep) -> MoveStatus {
    wait_for("the move has ended", || async {
        let status = store.move_status(tenant).await.unwrap().unwrap();
        assert!(!status.step.has_ended() || status.step == step, "{status:?}");
        assert_eq!(status.error, None, "{status:?}");
        (status.step == step).then_some(status)
    })
    .await
}

const FILL: &str = r#"
set search_path = {schema};
insert into endpoints (tenant_id, id, name, url, events, sealed_secret, profile, is_active, in_order, created_at,
    old_secrets, metadata, updated_at, version, external_id)
select '{tenant}', md5('e{tenant}' || i)::uuid, 'it''s \ "' || i, 'https://a.test/', '{"a.b", "c\\d"}', '\x00ff27',
    'standard', true, true, i, '[]', '{}', i, i, 'x' || i
from generate_series(1, 5) i;
update endpoints set name = 'changed' where tenant_id = '{tenant}' and external_id = 'x1';
insert into pauses select 3, 0, '{tenant}', id, 1 from endpoints where tenant_id = '{tenant}' limit 1;
insert into pauses values (2, 0, '{tenant}', '00000000-0000-0000-0000-000000000000', 1);
insert into records (kind, tenant_id, key, body, version, until)
select 'it''s', '{tenant}', decode(lpad(to_hex(i), 8, '0') || '0027', 'hex'), '\x5c00', i, case when i % 2 = 0 then 4000000000000000 end
from generate_series(1, 30) i;
insert into subjects select '{tenant}', ('s' || i)::bytea, i, 0 from generate_series(1, 40) i;
insert into once_keys select '{tenant}', decode(md5('k' || i), 'hex'), '\x00', md5('p{tenant}' || i)::uuid, i, 4000000000000000
from generate_series(1, 60) i;
insert into usage values ('{tenant}', '2026-11', 5, 1), ('{tenant}', '2026-10', 7, 1);
insert into suppressions values ('{tenant}', 'a@b''c.test', 'bounce', null, 3), ('{tenant}', '\x00ff', 'bounce', 'x', 3);
insert into email_reports values ('{tenant}', gen_random_uuid(), null, 'BOUNCE', 'r', null, false, 1, 4000000000000000);
insert into replays (id, tenant_id, state, request, created_at) values (gen_random_uuid(), '{tenant}', 'completed', '{}', 1);
insert into parcels (tenant_id, id, created_at, number, kind, is_test, event_type, subject, external_id, deliveries, body)
select '{tenant}', md5('p{tenant}' || i)::uuid, 1700000000000000 + i, i, 1, false, 'a.b', 's1'::bytea, '\x00',
    array[md5('d{tenant}' || i)::uuid], decode(repeat('00ff', i % 300), 'hex')
from generate_series(1, {events}) i;
-- Those that are unfinished are due in a long time.
insert into deliveries (tenant_id, id, target_id, parcel_id, due_at, created_at, owner, attempts, lane, state, was_dead, order_key, order_number)
select '{tenant}', md5('d{tenant}' || i)::uuid, md5('e{tenant}' || (i % 5 + 1))::uuid, md5('p{tenant}' || i)::uuid,
    4000000000000000 + i, 1700000000000000 + i, i % 9, 2, 2, (array[5, 5, 5, 6, 2, 4])[i % 6 + 1], i % 6 = 3,
    case when i % 6 > 3 then 's1'::bytea end, case when i % 6 > 3 then i end
from generate_series(1, {events}) i;
insert into attempts
select '{tenant}', md5('d{tenant}' || i)::uuid, n, 500, i, 9, null, 'HTTP_500', 'it''s', '\x00', '\xff', '\x27'
from generate_series(1, {events}) i, generate_series(1, 2) n;
insert into dead_letters
select '{tenant}', id, 2, 2, 'HTTP_500', 'r', 1, extract(epoch from now()) * 1000000, 4000000000000000 + attempts
from deliveries where tenant_id = '{tenant}' and state = 6;
-- Later than those of the dead letters that are there.
update tenants set keep_dead_us = 86400000000 where tenant_id = '{tenant}';
insert into spans select '{tenant}', md5('e{tenant}' || i)::uuid, md5('f' || i)::uuid, md5('t' || i)::uuid, 2 from generate_series(1, 20) i;
insert into statistics
select l, 3600 * c, '{tenant}', case when l = 2 then md5('e{tenant}1')::uuid else '00000000-0000-0000-0000-000000000000' end, 2,
    3600 * c + 60 * m, case when l < 4 then 3 else 0 end, 0, 1, '\x01'
from generate_series(2, 5) l, generate_series(480000, 480003) c, generate_series(0, 5) m;
insert into statistics_due values (3, 3600 * 480003, 1, null) on conflict do nothing;
insert into intake (tenant_id, id, state, event_type, body, size, published_at, taken_until)
select '{tenant}', md5('i{tenant}' || i)::uuid, 2, 'a.b', '{}', 2, i, null from generate_series(1, 3) i;
"#;
