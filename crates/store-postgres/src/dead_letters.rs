//! Deliveries that were given up.

mod list;

use async_trait::async_trait;
use gancho_domain::{Lane, Time};
use gancho_store::{
    DeadFilter, DeadLetter, DeadLetters, DeadStats, ListOrder, Page, PageRequest, ReplayPage,
    Result,
};
use tokio_postgres::Row;

use self::list::Letters;
use crate::{
    PostgresStore,
    retry::Retries,
    rows::{self, uuid},
    scan::{ScanBudget, page},
    session::{execute, query},
    states::Sql,
    tx_error::{corrupt, store_error},
    where_clause::Conditions,
};

#[async_trait]
impl DeadLetters for PostgresStore {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        self.page_of_dead(&filter, &page).await
    }

    /// The count is stored, unless the filter has a time. The index has the oldest.
    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        // Counting does not take a connection from publishing.
        let session = match filter.tenant {
            Some(_) => self.lists.next(filter.tenant).await?,
            None => self.upkeep_session().await?,
        };
        let is_kept = filter.is_counted();
        let conditions = conditions(&filter);
        let count = if is_kept { "sum(l.change)::bigint" } else { "count(*)" };
        let table = if is_kept { "dead_counts" } else { "dead_letters" };
        let sql = format!(
            "select l.code, l.tenant_id, l.lane, {count} from {table} l
             where {} group by 1, 2, 3 having {count} > 0",
            conditions.sql()
        );
        let found = query(&session, &sql, &conditions.values()).await;
        let mut stats = DeadStats::default();
        for row in &found.map_err(store_error)? {
            let count = rows::get::<i64>(row, 3)? as u64;
            stats.total += count;
            *stats.by_code.entry(rows::get(row, 0)?).or_default() += count;
            *stats.by_tenant.entry(rows::id(row, 1)?).or_default() += count;
            *stats.by_lane.entry(rows::lane(row, 2)?).or_default() += count;
        }
        if stats.total > 0 {
            let sql = format!(
                "select l.moved_at from dead_letters l where {}
                 order by l.moved_at, l.delivery_id limit 1",
                conditions.sql()
            );
            let found = query(&session, &sql, &conditions.values()).await.map_err(store_error)?;
            stats.oldest = found.first().map(|row| rows::time(row, 0)).transpose()?;
        }
        Ok(stats)
    }

    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>> {
        let session = self.upkeep_session().await?;
        let sql = "select (select count(*) from dead_letters where moved_at >= t.since)
                   from unnest($1::bigint[]) with ordinality t(since, place) order by t.place";
        let times: Vec<i64> = times.into_iter().map(Time::micros).collect();
        let found = query(&session, sql, &[&times]).await.map_err(store_error)?;
        found.iter().map(|row| Ok(rows::get::<i64>(row, 0)? as u64)).collect()
    }

    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage> {
        let (found, next) = {
            let session = self.lists.next(filter.tenant).await?;
            // A dead letter that is being replayed already is skipped.
            let order = ListOrder::OldestFirst;
            let letters = Letters { session: &session, filter: &filter, order, ended: true };
            let after = list::start(order, after.as_ref());
            page(&letters, max, ScanBudget::new(self.max_scanned, max), after).await?
        };
        let next = next.map(list::write_place);
        if found.is_empty() {
            return Ok(ReplayPage { retried: Vec::new(), next });
        }
        let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
        let retried = self
            .retry_in_order(Retries { keys: &keys, only_dead: true, now, account: filter.tenant })
            .await?;
        Ok(ReplayPage { retried: retried.into_keys().collect(), next })
    }

    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64> {
        let session = self.session_of(filter.tenant).await?;
        let mut conditions = conditions(&filter);
        let max = conditions.value(max as i64);
        let sql = format!(
            "with gone as materialized (
               select l.tenant_id, l.delivery_id from dead_letters l
               where {} order by l.moved_at, l.delivery_id limit {max} for update skip locked)
             delete from dead_letters l using gone
             where l.tenant_id = gone.tenant_id and l.delivery_id = gone.delivery_id",
            conditions.sql()
        );
        let gone = execute(&session, &sql, &conditions.values()).await;
        gone.map_err(store_error)
    }
}

/// Builds conditions over `l` (dead_letters).
fn conditions(filter: &DeadFilter) -> Conditions {
    let mut conditions = Conditions::default();
    conditions.add_if("l.tenant_id = ?", filter.tenant.map(uuid));
    conditions.add_if("l.delivery_id = ?", filter.delivery.map(uuid));
    conditions.add_if("l.lane = ?", filter.lane.map(Lane::number));
    conditions.add_if("l.code = ?", filter.code.clone());
    conditions.add_if("l.code <> ?", filter.excluded_code());
    conditions.add_if("l.moved_at >= ?", filter.since.map(Time::micros));
    conditions.add_if("l.moved_at < ?", filter.until.map(Time::micros));
    if filter.only_sendable {
        conditions.add_plain(&SENDABLE);
    }
    conditions
}

/// The condition of sendable dead letters, over `l`.
pub(crate) static SENDABLE: Sql = Sql::new(|| {
    format!(
        "(l.lane <> {} or exists (select from deliveries t
            join endpoints e on e.tenant_id = t.tenant_id and e.id = t.target_id
            where t.tenant_id = l.tenant_id and t.id = l.delivery_id and e.is_active offset 0))",
        Lane::Webhook.number()
    )
});

/// The columns of [`dead_letter`], for a query over `l` (dead_letters), `d` (its delivery) and `p` (its
/// parcel).
pub(crate) const LETTER: &str = "l.delivery_id, l.lane, l.tenant_id, d.target_id, p.id, p.subject, \
    p.body, l.failed_attempts, l.code, l.reason, l.failed_at, d.created_at, l.moved_at, l.expires_at, \
    p.event_type, p.external_id, p.is_test, l.provider_code";

pub(crate) fn dead_letter(row: &Row) -> Result<DeadLetter> {
    Ok(DeadLetter {
        delivery: rows::id(row, 0)?,
        lane: rows::lane(row, 1)?,
        tenant: rows::id(row, 2)?,
        target: rows::id(row, 3)?,
        parcel: rows::id(row, 4)?,
        subject: rows::maybe_text(row, 5)?,
        original: rows::bytes(row, 6)?,
        failed_attempts: rows::count(row, 7)?,
        failure: rows::failure(row, 8, 9)?
            .ok_or_else(|| corrupt("a dead letter without a reason"))?
            .with_provider_code(rows::get(row, 17)?),
        failed_at: rows::time(row, 10)?,
        enqueued_at: rows::time(row, 11)?,
        moved_at: rows::time(row, 12)?,
        expires_at: rows::time(row, 13)?,
        event_type: rows::get::<&str>(row, 14)?.into(),
        external_id: rows::maybe_text(row, 15)?,
        is_test: rows::get(row, 16)?,
    })
}
