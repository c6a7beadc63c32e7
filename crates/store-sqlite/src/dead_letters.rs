//! Deliveries that were given up.

mod list;

use async_trait::async_trait;
use gancho_domain::{Lane, Time};
use gancho_store::{
    DeadFilter, DeadLetter, DeadLetters, DeadStats, ListOrder, Page, PageRequest, ReplayPage,
    Result,
};
use rusqlite::{Connection, Row};

use self::list::{Letters, ListPosition, page_of};
use crate::{
    SqliteStore,
    deliveries::retry_in_order,
    rows::{self, seq},
    scan::ScanBudget,
    states::{DEAD, sql},
    transaction::Tx,
    tx_error::{TxError, corrupt},
    where_clause::Conditions,
};

#[async_trait]
impl DeadLetters for SqliteStore {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        let mut budget = ScanBudget::new(self.max_scanned);
        self.read_list(filter.tenant, move |db| page_of(db, &filter, &page, &mut budget)).await
    }

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        match filter.tenant {
            Some(_) => self.read_list(filter.tenant, move |db| stats(db, &filter)).await,
            None => self.read_aside(move |db| stats(db, &filter)).await,
        }
    }

    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>> {
        self.read_aside(move |db| {
            let mut count = db.prepare_cached(
                "SELECT count(*) FROM dead_letters INDEXED BY dead_letters_by_time WHERE moved_at >= ?1",
            )?;
            let count = |time: &Time| count.query_row([time.micros()], |row| row.get::<_, i64>(0));
            let counts: rusqlite::Result<Vec<i64>> = times.iter().map(count).collect();
            Ok(counts?.into_iter().map(|count| count as u64).collect())
        })
        .await
    }

    /// Finds the dead letters in a reader, so that no writer waits for it.
    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage> {
        let (tenant, mut budget) = (filter.tenant, ScanBudget::new(self.max_scanned));
        let (found, next) = self
            .read_list(tenant, move |db| {
                // A dead letter that is being replayed already is skipped.
                let letters =
                    Letters { db, filter: &filter, order: ListOrder::OldestFirst, ended: true };
                letters.find(after.as_ref(), max, &mut budget)
            })
            .await?;
        let next = next.map(ListPosition::write);
        if found.is_empty() {
            return Ok(ReplayPage { retried: Vec::new(), next });
        }
        self.write_for(tenant, 2 * found.len(), move |tx| {
            let (mut rows, mut retried) = (Vec::with_capacity(found.len()), Vec::new());
            for place in &found {
                let mut dead = tx.db.prepare_cached(sql!(
                    "SELECT d.tenant_id, d.id FROM dead_letters l JOIN deliveries d ON d.seq = l.delivery
                     WHERE l.delivery = ?1 AND l.moved_at = ?2 AND d.state = {DEAD}"
                ))?;
                let mut dead = dead.query([place.delivery, place.moved_at])?;
                if let Some(row) = dead.next()? {
                    retried.push((rows::id(row, 0)?, rows::id(row, 1)?));
                    rows.push(place.delivery);
                }
            }
            retry_in_order(tx, &rows, now)?;
            Ok(ReplayPage { retried, next })
        })
        .await
    }

    /// As [`Self::replay_dead`], finds them in a reader. Those that were removed since then are not counted, and
    /// others are looked for in their place: fewer than `max` are all.
    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64> {
        let (tenant, mut purged) = (filter.tenant, 0);
        while purged < max {
            let (filter, left) = (filter.clone(), max - purged);
            let found =
                self.read_list(tenant, move |db| oldest(db, &conditions(&filter), left)).await?;
            let are_all = found.len() < left;
            if !found.is_empty() {
                purged += self.write_for(tenant, found.len(), move |tx| remove(tx, &found)).await?;
            }
            if are_all {
                break;
            }
        }
        Ok(purged as u64)
    }
}

/// Builds conditions over `l` (dead_letters) and `d` (deliveries).
fn conditions(filter: &DeadFilter) -> Conditions {
    let mut conditions = Conditions::default();
    if let Some(delivery) = filter.delivery {
        conditions.add("l.delivery = $", seq(delivery));
        conditions.add("d.id = $", delivery.bytes());
    }
    add_letter_conditions(&mut conditions, filter);
    conditions
}

/// Adds the conditions on the dead letter itself, `l`.
fn add_letter_conditions(conditions: &mut Conditions, filter: &DeadFilter) {
    if let Some(tenant) = filter.tenant {
        conditions.add("l.tenant_id = $", tenant.bytes());
    }
    if let Some(lane) = filter.lane {
        conditions.add("l.lane = $", lane.number());
    }
    if let Some(code) = &filter.code {
        conditions.add("l.code = $", code.clone());
    }
    if let Some(code) = filter.excluded_code() {
        conditions.add("l.code <> $", code.to_owned());
    }
    if let Some(since) = filter.since {
        conditions.add("l.moved_at >= $", since.micros());
    }
    if let Some(until) = filter.until {
        conditions.add("l.moved_at < $", until.micros());
    }
    if filter.only_sendable {
        conditions.add(
            "(l.lane <> $ OR EXISTS (SELECT 1 FROM deliveries t
              JOIN endpoints e ON e.tenant_id = t.tenant_id AND e.id = t.target_id
              WHERE t.seq = l.delivery AND e.is_active))",
            Lane::Webhook.number(),
        );
    }
}

fn remove(tx: &Tx<'_>, letters: &[ListPosition]) -> Result<usize, TxError> {
    let mut remove =
        tx.db.prepare_cached("DELETE FROM dead_letters WHERE delivery = ?1 AND moved_at = ?2")?;
    let mut removed = 0;
    for ListPosition { delivery, moved_at } in letters {
        removed += remove.execute([delivery, moved_at])?;
    }
    Ok(removed)
}

/// Returns the oldest matches.
fn oldest(
    db: &Connection,
    conditions: &Conditions,
    max: usize,
) -> Result<Vec<ListPosition>, TxError> {
    let place = |row: &Row<'_>| Ok(ListPosition { delivery: row.get(0)?, moved_at: row.get(1)? });
    Ok(db
        .prepare(&format!(
            "SELECT l.delivery, l.moved_at FROM dead_letters l JOIN deliveries d ON d.seq = l.delivery
             WHERE {} ORDER BY l.moved_at, l.delivery LIMIT {max}",
            conditions.sql()
        ))?
        .query_map(&*conditions.values(), place)?
        .collect::<rusqlite::Result<_>>()?)
}

/// The columns of [`dead_letter`], for a query over `l` (dead_letters), `d` (its delivery) and `p` (its
/// parcel).
pub(crate) const LETTER: &str = "d.id, l.lane, l.tenant_id, d.target_id, p.id, p.subject, p.body, \
    l.failed_attempts, l.code, l.reason, l.failed_at, d.created_at, l.moved_at, l.expires_at, \
    p.event_type, p.external_id, p.is_test, l.provider_code";

pub(crate) fn dead_letter(row: &Row<'_>) -> Result<DeadLetter, TxError> {
    Ok(DeadLetter {
        delivery: rows::id(row, 0)?,
        lane: rows::lane(row, 1)?,
        tenant: rows::id(row, 2)?,
        target: rows::id(row, 3)?,
        parcel: rows::id(row, 4)?,
        subject: row.get(5)?,
        original: rows::bytes(row, 6)?,
        failed_attempts: row.get(7)?,
        failure: rows::failure(row, 8, 9)?
            .ok_or_else(|| corrupt("a dead letter without a reason"))?
            .with_provider_code(row.get::<_, Option<String>>(17)?.as_deref()),
        failed_at: rows::time(row, 10)?,
        enqueued_at: rows::time(row, 11)?,
        moved_at: rows::time(row, 12)?,
        expires_at: rows::time(row, 13)?,
        event_type: row.get(14)?,
        external_id: row.get(15)?,
        is_test: row.get(16)?,
    })
}

/// Counts the dead letters. The count is stored, unless the filter has a time; the index has the oldest.
pub(crate) fn stats(db: &Connection, filter: &DeadFilter) -> Result<DeadStats, TxError> {
    let conditions = conditions(filter);
    let from = if filter.is_counted() {
        "SELECT l.code, l.tenant_id, l.lane, l.count FROM dead_counts l WHERE {}".to_owned()
    } else {
        "SELECT l.code, l.tenant_id, l.lane, count(*)
         FROM dead_letters l CROSS JOIN deliveries d ON d.seq = l.delivery
         WHERE {} GROUP BY 1, 2, 3"
            .to_owned()
    };
    let mut count = db.prepare_cached(&from.replace("{}", &conditions.sql()))?;
    let mut found = count.query(&*conditions.values())?;
    let mut stats = DeadStats::default();
    while let Some(row) = found.next()? {
        let count = row.get::<_, i64>(3)? as u64;
        stats.total += count;
        *stats.by_code.entry(row.get(0)?).or_default() += count;
        *stats.by_tenant.entry(rows::id(row, 1)?).or_default() += count;
        *stats.by_lane.entry(rows::lane(row, 2)?).or_default() += count;
    }
    if stats.total > 0 {
        let index = list::index(filter);
        let sql = format!(
            "SELECT l.moved_at FROM dead_letters l {index}
             CROSS JOIN deliveries d ON d.seq = l.delivery
             WHERE l.moved_at >= {} AND {} ORDER BY l.moved_at LIMIT 1",
            i64::MIN,
            conditions.sql()
        );
        let mut oldest = db.prepare_cached(&sql)?;
        let mut found = oldest.query(&*conditions.values())?;
        stats.oldest = found.next()?.map(|row| rows::time(row, 0)).transpose()?;
    }
    Ok(stats)
}
