//! Deliveries that were given up.

use async_trait::async_trait;
use gancho_domain::{Id, Lane, Time};
use gancho_store::{DeadFilter, DeadLetter, DeadLetters, DeadStats, Page, PageRequest, Result};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    fault::{corrupt, store_error},
    rows::{self, uuid},
    session::{execute, query},
    terms::Terms,
};

#[async_trait]
impl DeadLetters for PostgresStore {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        let session = self.session().await?;
        let mut terms = terms(&filter);
        if let Some(place) = &page.after {
            let (moved_at, delivery) = read_place(place);
            let moved_at = terms.value(moved_at);
            terms.add(&format!("(l.moved_at, l.delivery_id) < ({moved_at}, ?)"), delivery);
        }
        let most = terms.value(page.most as i64 + 1);
        let sql = format!(
            "select {LETTER}
             from dead_letters l
             join deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id
             join parcels p on p.tenant_id = d.tenant_id and p.id = d.parcel_id
             where {} order by l.moved_at desc, l.delivery_id desc limit {most}",
            terms.sql()
        );
        let found = query(&session, &sql, &terms.values()).await;
        let mut rows =
            found.map_err(store_error)?.iter().map(dead_letter).collect::<Result<Vec<_>>>()?;
        let more = rows.len() > page.most;
        rows.truncate(page.most);
        let next = rows.last().filter(|_| more).map(write_place);
        Ok(Page { rows, next })
    }

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        let session = self.session().await?;
        let terms = terms(&filter);
        let sql = format!(
            "select l.code, l.tenant_id, l.lane, count(*), min(l.moved_at) from dead_letters l
             where {} group by 1, 2, 3",
            terms.sql()
        );
        let found = query(&session, &sql, &terms.values()).await;
        let mut stats = DeadStats::default();
        for row in &found.map_err(store_error)? {
            let count = rows::get::<i64>(row, 3)? as u64;
            stats.total += count;
            let oldest = rows::time(row, 4)?;
            stats.oldest = Some(stats.oldest.map_or(oldest, |so_far| so_far.min(oldest)));
            *stats.by_code.entry(rows::get(row, 0)?).or_default() += count;
            *stats.by_tenant.entry(rows::id(row, 1)?).or_default() += count;
            *stats.by_lane.entry(rows::lane(row, 2)?).or_default() += count;
        }
        Ok(stats)
    }

    async fn replay_dead(&self, filter: DeadFilter, most: usize, now: Time) -> Result<u64> {
        let session = self.session().await?;
        let mut terms = terms(&filter);
        let most = terms.value(most as i64);
        let now = terms.value(now.micros());
        // One that is being replayed already is left alone.
        let sql = format!(
            "with dead as materialized (
               select l.tenant_id, l.delivery_id as id from dead_letters l
               join deliveries d on d.tenant_id = l.tenant_id and d.id = l.delivery_id
               where d.state = 6 and {}
               order by l.moved_at, l.delivery_id limit {most} for update of d skip locked)
             update deliveries d set state = 2, due_at = {now}, attempts_before = d.attempts,
                 lost_leases = 0
             from dead where d.tenant_id = dead.tenant_id and d.id = dead.id and d.state + 0 = 6",
            terms.sql()
        );
        let armed = execute(&session, &sql, &terms.values()).await;
        let armed = armed.map_err(store_error)?;
        if armed > 0 {
            self.bells.ring_all();
        }
        Ok(armed)
    }

    async fn purge_dead(&self, filter: DeadFilter, most: usize) -> Result<u64> {
        let session = self.session().await?;
        let mut terms = terms(&filter);
        let most = terms.value(most as i64);
        let sql = format!(
            "with gone as materialized (
               select l.tenant_id, l.delivery_id from dead_letters l
               where {} order by l.moved_at, l.delivery_id limit {most} for update skip locked)
             delete from dead_letters l using gone
             where l.tenant_id = gone.tenant_id and l.delivery_id = gone.delivery_id",
            terms.sql()
        );
        let gone = execute(&session, &sql, &terms.values()).await;
        gone.map_err(store_error)
    }
}

/// Over `l`.
fn terms(filter: &DeadFilter) -> Terms {
    let mut terms = Terms::default();
    terms.add_if("l.tenant_id = ?", filter.tenant.map(uuid));
    terms.add_if("l.delivery_id = ?", filter.delivery.map(uuid));
    terms.add_if("l.lane = ?", filter.lane.map(Lane::number));
    terms.add_if("l.code = ?", filter.code.clone());
    terms.add_if("l.moved_at >= ?", filter.since.map(Time::micros));
    terms.add_if("l.moved_at < ?", filter.until.map(Time::micros));
    terms
}

fn write_place(last: &DeadLetter) -> [u8; 32] {
    let mut place = [0; 32];
    place[..8].copy_from_slice(&last.moved_at.micros().to_be_bytes());
    place[16..].copy_from_slice(&last.delivery.bytes());
    place
}

fn read_place(place: &[u8; 32]) -> (i64, uuid::Uuid) {
    let mut moved_at = [0; 8];
    moved_at.copy_from_slice(&place[..8]);
    let mut delivery = [0; 16];
    delivery.copy_from_slice(&place[16..]);
    let delivery: gancho_domain::DeliveryId = Id::from_bytes(delivery);
    (i64::from_be_bytes(moved_at), uuid(delivery))
}

/// The columns of [`dead_letter`], for a query over `l` (dead_letters), `d` (its delivery) and `p` (its
/// parcel).
pub(crate) const LETTER: &str = "l.delivery_id, l.lane, l.tenant_id, d.target_id, p.id, p.subject, \
    p.body, l.failed_attempts, l.code, l.reason, l.failed_at, d.created_at, l.moved_at, l.expires_at";

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
            .ok_or_else(|| corrupt("a dead letter without a reason"))?,
        failed_at: rows::time(row, 10)?,
        enqueued_at: rows::time(row, 11)?,
        moved_at: rows::time(row, 12)?,
        expires_at: rows::time(row, 13)?,
    })
}
