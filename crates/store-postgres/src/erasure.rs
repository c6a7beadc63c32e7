//! Deletes a tenant with all its data; `content` erases single parcels.

mod content;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{Lane, ParcelId, TenantId, TenantScope, Time};
use gancho_store::{
    ContentErasure, DeletedTenant, EraseStep, Erasure, Result, SubjectScan, upkeep::Cutoff,
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::{
    PostgresStore,
    prune::HAS_ENDED,
    rows::{self, uuid},
    session::{Transaction, execute, query, query_in_index_order},
    states::{DEAD, LEASED, PENDING, Sql, WAITING},
    tx_error::{TxError, store_error},
};

const DELETE: &str = "
with gone as (delete from tenants where tenant_id = $1 returning slug)
insert into deleted_tenants (tenant_id, slug, deleted_at) select $1, slug, $2 from gone";

/// The deliveries that have not ended and may be held by no node, by the indexes of unfinished deliveries, which are
/// small. Only in the order of an index ([`query_in_index_order`]).
pub(crate) static UNFINISHED: Sql = Sql::new(|| {
    let pending = Lane::ALL.map(|lane| {
        format!(
            "(select id from deliveries where state = {PENDING} and lane = {} and tenant_id = $1
 order by target_id, due_at, id limit $2)",
            lane.number()
        )
    });
    format!(
        "{}
union all
(select id from deliveries where tenant_id = $1 and order_key is not null
   and state in ({PENDING}, {LEASED}, {WAITING}) and state + 0 = {WAITING}
 order by target_id, order_key, order_number limit $2)",
        pending.join("\nunion all\n")
    )
});

/// Ends those of these deliveries that no node holds. They leave no dead letters, and no others become active in their
/// place, because those end here as well.
pub(crate) static END: Sql = Sql::new(|| {
    format!(
        "with held as materialized (
    select d.tenant_id, d.id from unnest($1::uuid[], $2::uuid[]) as k(tenant_id, id)
    join deliveries d on d.tenant_id = k.tenant_id and d.id = k.id
    where d.state + 0 in ({PENDING}, {WAITING}) order by d.tenant_id, d.id for update of d skip locked)
update deliveries d set state = {DEAD} from held
where d.tenant_id = held.tenant_id and d.id = held.id"
    )
});

/// Tables, and the columns of their keys besides the tenant.
const SMALL: [(&str, &str); 7] = [
    ("intake", "id"),
    ("dead_letters", "delivery_id"),
    ("suppressions", "address"),
    ("email_reports", "email_id"),
    ("replays", "id"),
    // Written by a node that did not know of the deletion yet.
    ("records", "kind, key"),
    ("subjects", "subject"),
];

/// The parcels whose deliveries have all ended.
pub(crate) static ENDED: Sql = Sql::new(|| {
    format!(
        "select p.id from parcels p where p.tenant_id = $3 and {HAS_ENDED} order by p.id limit $4"
    )
});

#[async_trait]
impl Erasure for PostgresStore {
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool> {
        let was_there = self.delete_at_once(uuid(id), now).await.map_err(TxError::into_error)?;
        self.bells.ring_all();
        Ok(was_there)
    }

    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>> {
        let session = self.session().await?;
        let sql = "select tenant_id, slug, deleted_at, is_erased from deleted_tenants
            order by deleted_at, tenant_id limit $1";
        let found = query(&session, sql, &[&(max as i64)]).await.map_err(store_error)?;
        let tenant = |row| {
            Ok(DeletedTenant {
                id: rows::id(row, 0)?,
                slug: rows::get(row, 1)?,
                deleted_at: rows::time(row, 2)?,
                is_erased: rows::get(row, 3)?,
            })
        };
        found.iter().map(tenant).collect()
    }

    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep> {
        self.erase_step(uuid(id), max as i64).await.map_err(TxError::into_error)
    }

    async fn mark_erased(&self, id: TenantId) -> Result<()> {
        let sql = "update deleted_tenants set is_erased = true where tenant_id = $1";
        let done = execute(&self.session().await?, sql, &[&uuid(id)]).await;
        done.map(drop).map_err(store_error)
    }

    async fn forget_deleted(&self, id: TenantId) -> Result<()> {
        let sql = "delete from deleted_tenants where tenant_id = $1";
        let done = execute(&self.session().await?, sql, &[&uuid(id)]).await;
        done.map(drop).map_err(store_error)
    }

    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure> {
        self.overwrite(scope, id, &replacement, now).await.map_err(TxError::into_error)
    }

    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan> {
        self.scan_subject(scope, &subject, after, max).await
    }
}

impl PostgresStore {
    async fn delete_at_once(&self, tenant: Uuid, now: Time) -> Result<bool, TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let was_there = execute(session, DELETE, &[&tenant, &now.micros()]).await? > 0;
        if was_there {
            for table in ["endpoints", "records", "pauses"] {
                let sql = format!("delete from {table} where tenant_id = $1");
                execute(session, &sql, &[&tenant]).await?;
            }
        }
        transaction.commit().await?;
        Ok(was_there)
    }

    async fn erase_step(&self, tenant: Uuid, max: i64) -> Result<EraseStep, TxError> {
        let session = self.session().await?;
        let sql = "select from deleted_tenants where tenant_id = $1";
        if query(&session, sql, &[&tenant]).await?.is_empty() {
            return Ok(EraseStep::default());
        }
        let found = query_in_index_order(session, &UNFINISHED, &[&tenant, &max]).await?;
        let unfinished = found.iter().map(|row| rows::get(row, 0));
        let unfinished = unfinished.collect::<Result<Vec<Uuid>>>()?;
        let session = self.session().await?;
        let tenants = vec![tenant; unfinished.len()];
        let mut removed = execute(&session, &END, &[&tenants, &unfinished]).await?;
        for (table, key) in SMALL {
            let sql = format!(
                "delete from {table} where tenant_id = $1 and ({key}) in
                   (select {key} from {table} where tenant_id = $1 limit $2)"
            );
            removed += execute(&session, &sql, &[&tenant, &max]).await?;
        }
        if removed > 0 {
            return Ok(EraseStep { more: true, ..EraseStep::default() });
        }
        let Cutoff { before, now } = Cutoff::ALL;
        let values: [&(dyn ToSql + Sync); 4] = [&before.micros(), &now.micros(), &tenant, &max];
        let found = query(&session, &ENDED, &values).await?;
        drop(session);
        let ids = found.iter().map(|row| rows::get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
        if !ids.is_empty() {
            let parcels = self.remove(Cutoff::ALL, &vec![tenant; ids.len()], &ids).await?;
            return Ok(EraseStep { parcels, more: parcels > 0, is_clean: false });
        }
        let sql = "select from parcels where tenant_id = $1 limit 1";
        let is_clean = query(&self.session().await?, sql, &[&tenant]).await?.is_empty();
        Ok(EraseStep { is_clean, ..EraseStep::default() })
    }
}
