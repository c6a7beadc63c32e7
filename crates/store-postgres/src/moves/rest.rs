//! Moves what is not copied row by row: the version of the endpoints, the statistics that a node continues,
//! and the intake.

use gancho_domain::TenantId;
use gancho_store::{Result, statistics::level::Level};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    MoveRow,
    copy::literal,
    guard::{WritableState, enter},
    tables::node_offset,
};
use crate::{
    PostgresStore,
    listen::INTAKE_CHANNEL,
    rows::{self, uuid},
    session::{Session, execute, query},
    states::{LEASED, sql},
    tx_error::{TxError, store_error},
};

/// Raises the version of the endpoints above any that nodes may have seen in the old cell, because nodes
/// detect changes by it.
const RAISE_VERSION: &str = "
insert into endpoint_versions as v (tenant_id, version) values ($1, $2::int8 + 1)
on conflict (tenant_id) do update set version = greatest(v.version, $2::int8) + 1";

const MARK_DUE: &str = "
insert into statistics_due as d (level, chunk, version, place)
select k.level, k.chunk, 1, null from unnest($1::int2[], $2::int8[]) as k(level, chunk)
on conflict (level, chunk) do update set version = d.version + 1, place = null";

/// Hands over the minutes that a node has begun in the old cell, so that it continues them.
const HAND_OVER: &str = "
update statistics s set node = k.number
from unnest($2::int8[], $3::int8[]) as k(node, number)
where s.level = any ($4) and s.chunk >= $5 and s.tenant_id = $1 and s.node = k.node and not exists (
    select from statistics o where o.level = s.level and o.chunk = s.chunk and o.tenant_id = s.tenant_id
      and o.target_id = s.target_id and o.lane = s.lane and o.at = s.at and o.node = k.number
      and o.part = s.part offset 0)";

/// Copies events without their numbers, which are different in the new cell; their order stays the same.
const INTAKE: &str = "tenant_id, id, state, event_type, subject, external_id, idempotency_key, key, content, deliver_at,
    body, size, published_at, code, reason, rejected_at";
/// Maximum rows of the intake in one transaction.
const BATCH: i64 = 200;

impl PostgresStore {
    /// Returns how many changes are not copied yet, counted up to a million.
    pub async fn changes_of(&self, tenant: TenantId) -> Result<u64> {
        let sql =
            "select count(*) from (select from move_changes where tenant_id = $1 limit 1000000) c";
        self.count_of(sql, tenant).await
    }

    /// Returns how many of the tenant's deliveries nodes hold.
    pub async fn leases_of(&self, tenant: TenantId) -> Result<u64> {
        let sql = sql!("select count(*) from deliveries where state = {LEASED} and tenant_id = $1");
        self.count_of(sql, tenant).await
    }

    async fn count_of(&self, sql: &str, tenant: TenantId) -> Result<u64> {
        let found = query(&self.session().await?, sql, &[&uuid(tenant)]).await;
        let found = found.map_err(store_error)?;
        found.first().map_or(Ok(0), |row| Ok(rows::get::<i64>(row, 0)?.max(0) as u64))
    }

    /// Copies the rest, when all rows are copied and nothing can be written in the old cell. The intake
    /// follows after the move.
    pub async fn copy_rest(&self, to: &Self, of: &MoveRow) -> Result<()> {
        let copied = async {
            let tenant = uuid(of.tenant);
            let sql = "select version from endpoint_versions where tenant_id = $1";
            let version = query(&self.session().await?, sql, &[&tenant]).await?;
            let version = version.first().map(|row| rows::get::<i64>(row, 0)).transpose()?;
            let transaction = to.begin_session().await?;
            let target = transaction.session()?;
            enter(target, tenant, of.run, WritableState::Arriving).await?;
            execute(target, RAISE_VERSION, &[&tenant, &version.unwrap_or(0)]).await?;
            transaction.commit().await?;
            Ok::<_, TxError>(())
        };
        copied.await.map_err(TxError::into_error)
    }

    /// Hands over the statistics, when the tenant lives in the new cell and before anyone writes there: its
    /// nodes continue the minutes that they have begun, and what is not rolled up yet is rolled up there.
    pub async fn hand_over_statistics(&self, to: &Self, of: &MoveRow) -> Result<()> {
        self.hand_over(to, of).await.map_err(TxError::into_error)
    }

    async fn hand_over(&self, to: &Self, of: &MoveRow) -> Result<(), TxError> {
        let (source, tenant) = (self.session().await?, uuid(of.tenant));
        let sql = "select level, chunk from statistics_due order by level, chunk";
        let due = query(&source, sql, &[]).await?;
        let levels = due.iter().map(|row| rows::get(row, 0)).collect::<Result<Vec<i16>>>()?;
        let chunks = due.iter().map(|row| rows::get(row, 1)).collect::<Result<Vec<i64>>>()?;
        let before = numbers(&source, of.source).await?;
        drop(source);
        let transaction = to.begin_session().await?;
        let target = transaction.session()?;
        enter(target, tenant, of.run, WritableState::Arriving).await?;
        let (mut from, mut into) = (Vec::new(), Vec::new());
        for (node, number) in numbers(target, of.target).await? {
            for (_, number_before) in before.iter().filter(|(known, _)| *known == node) {
                from.push(-(number_before + node_offset(of.source)));
                into.push(number);
            }
        }
        let minutes = [Level::TargetMinute.number(), Level::WideMinute.number()];
        let since = chunks.iter().min().copied().unwrap_or(i64::MAX);
        let values: [&(dyn ToSql + Sync); 5] = [&tenant, &from, &into, &minutes.as_slice(), &since];
        execute(target, HAND_OVER, &values).await?;
        execute(target, MARK_DUE, &[&levels, &chunks]).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Forwards the intake from the old cell, which the tenant has left: events that were not accepted yet,
    /// and events that applications have published there in transactions that were open then. Their number
    /// does not matter, because the tenant is in use meanwhile.
    pub async fn forward_intake(&self, to: &Self, tenant: TenantId) -> Result<()> {
        loop {
            let forwarded = self.forward_some(to, uuid(tenant)).await;
            if forwarded.map_err(TxError::into_error)? < BATCH as usize {
                return Ok(());
            }
        }
    }

    async fn forward_some(&self, to: &Self, tenant: Uuid) -> Result<usize, TxError> {
        let transaction = self.begin_session().await?;
        let source = transaction.session()?;
        // Locked until they are in the other cell, so that no other run forwards them.
        let sql = "select id from intake where tenant_id = $1 order by number limit $2 for update";
        let found = query(source, sql, &[&tenant, &BATCH]).await?;
        let ids = found.iter().map(|row| rows::get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
        if ids.is_empty() {
            return Ok(0);
        }
        let other = to.begin_session().await?;
        let target = other.session()?;
        // An event that was copied before may have been accepted since.
        let sql = "select k.id from unnest($2::uuid[]) as k(id)
            where exists (select from intake i where i.tenant_id = $1 and i.id = k.id offset 0)
               or exists (select from parcels p where p.tenant_id = $1 and p.id = k.id offset 0)";
        let there = query(target, sql, &[&tenant, &ids]).await?;
        let there = there.iter().map(|row| rows::get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
        let missing: Vec<String> =
            ids.iter().filter(|id| !there.contains(id)).map(Uuid::to_string).collect();
        if !missing.is_empty() {
            let missing = literal(&format!("{{{}}}", missing.join(",")));
            let select = format!(
                "select {INTAKE} from intake where tenant_id = '{tenant}' and id = any ({missing}::uuid[]) order by number"
            );
            super::copy::pipe_into(source, &select, target, "intake", INTAKE).await?;
            let ring = format!("select pg_notify('{INTAKE_CHANNEL}', '')");
            query(target, &ring, &[]).await?;
        }
        other.commit().await?;
        let sql = "delete from intake where tenant_id = $1 and id = any ($2)";
        execute(source, sql, &[&tenant, &ids]).await?;
        transaction.commit().await?;
        Ok(ids.len())
    }
}

/// Returns the nodes of the gateway, by their numbers in the home cell, and the first number that each has in
/// this cell.
async fn numbers(session: &Session, cell: u32) -> Result<Vec<(i64, i64)>, TxError> {
    let sql = "select case when $1 then id else substring(name from ' #(\\d+)$')::int8 end, min(id)
        from nodes where $1 or name ~ ' #\\d+$' group by 1";
    let found = query(session, sql, &[&(cell == 0)]).await?;
    let number = |row| Ok((rows::get(row, 0)?, rows::get(row, 1)?));
    Ok(found.iter().map(number).collect::<Result<_>>()?)
}
