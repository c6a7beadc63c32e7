//! Statistics: nodes' counts, rolled up, read and pruned.

mod failing;
mod roll_up;

use std::collections::BTreeSet;

use async_trait::async_trait;
use gancho_domain::{Figures, Lane, TenantId, TenantScope, Time};
use gancho_store::{
    FailingTarget, Result, Series, Statistics, StatisticsBatch, StatisticsPoint, StatisticsStep,
    StatisticsWindow, TargetId,
    statistics::{
        MAX_LATE, figures_codec,
        level::{DueChunk, Level, SeriesKey, place_from_bytes},
        read_plan::{ReadPlan, ReadRange, check_size},
        without_success::{WithoutSuccessQuery, fair_order},
    },
};
use tokio_postgres::{Row, types::ToSql};
use uuid::Uuid;

#[cfg(test)]
pub(crate) use {
    failing::{ALL_FAILING, FAILING, FAILING_OF_TENANT},
    roll_up::NEXT,
};

use crate::{
    PostgresStore, rows,
    session::{Session, Transaction, execute, query},
    tx_error::{TxError, corrupt, store_error},
};

/// Writes rows. A row of a minute belongs to a node; sums have the writer `(0, 0)`.
const PUT: &str = "
insert into statistics as s (level, chunk, tenant_id, target_id, lane, at, node, part, failed, figures)
select k.level, k.chunk, k.tenant_id, k.target_id, k.lane, k.at, $9, $10, k.failed, k.figures
from unnest($1::int2[], $2::int8[], $3::uuid[], $4::uuid[], $5::int2[], $6::int8[], $7::int8[],
    $8::bytea[]) as k(level, chunk, tenant_id, target_id, lane, at, failed, figures)
on conflict (level, chunk, tenant_id, target_id, lane, at, node, part) do update
set failed = excluded.failed, figures = excluded.figures";

/// Marks chunks as due. A running roll-up of them starts over.
const MARK_DUE: &str = "
insert into statistics_due as d (level, chunk, version, place)
select k.level, k.chunk, 1, null from unnest($1::int2[], $2::int8[]) as k(level, chunk)
on conflict (level, chunk) do update set version = d.version + 1, place = null";

/// Returns the due chunks, oldest first. There are few: the current hour and day, and those that have just
/// ended.
const DUE: &str = "select level, chunk, version, place from statistics_due order by chunk, level";

pub(crate) const READ: &str = "
select k.place, s.at, s.figures
from unnest($1::int2[], $2::int8[], $3::uuid[], $4::uuid[], $5::int2[], $6::int8[], $7::int8[])
    with ordinality as k(level, chunk, tenant_id, target_id, lane, since, until, place)
cross join lateral (
    select s.at, s.figures from statistics s
    where s.level = k.level and s.chunk = k.chunk and s.tenant_id = k.tenant_id
      and s.target_id = k.target_id and s.lane = k.lane and s.at >= k.since and s.at < k.until
    offset 0) s";

/// Removes old rows. Chunks that are not rolled up yet stay.
pub(crate) const PRUNE: &str = "
delete from statistics s using (
    select level, chunk, tenant_id, target_id, lane, at, node, part from statistics
    where level = $1 and chunk < least($2, (select min(chunk) from statistics_due where level = $1))
    order by level, chunk, tenant_id, target_id, lane, at, node, part limit $3) late
where s.level = late.level and s.chunk = late.chunk and s.tenant_id = late.tenant_id
  and s.target_id = late.target_id and s.lane = late.lane and s.at = late.at and s.node = late.node
  and s.part = late.part";

#[async_trait]
impl Statistics for PostgresStore {
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()> {
        self.write_batch(&batch, now).await.map_err(TxError::into_error)
    }

    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool> {
        self.roll_up_step(max, now).await.map_err(TxError::into_error)
    }

    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        let tenant = scope.tenant();
        let series = of.into_iter().map(|of| Series::within(tenant, of));
        self.read_statistics(Some(tenant), &series.collect::<Vec<_>>(), window).await
    }

    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        let series: Vec<_> = lanes.into_iter().map(Series::of_gateway).collect();
        self.read_statistics(None, &series, window).await
    }

    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        self.failing(Some(scope.tenant()), lane, until, max).await
    }

    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        self.failing(None, lane, until, max).await
    }

    async fn targets_without_success(&self, of: WithoutSuccessQuery) -> Result<Vec<FailingTarget>> {
        let mut found = Vec::new();
        for part in of.parts(self.all_failing(&of).await?) {
            let points = self.read_statistics(None, &of.series(&part), of.window()).await?;
            found.extend(of.check(&part, &points));
        }
        Ok(fair_order(found))
    }
}

impl PostgresStore {
    async fn write_batch(&self, batch: &StatisticsBatch, now: Time) -> Result<(), TxError> {
        let mut columns = Columns::default();
        let mut changed = BTreeSet::new();
        let mut rows: Vec<_> =
            batch.rows.iter().filter(|row| now.since(row.minute) <= MAX_LATE).collect();
        // One statement can write a row only once, and the last value counts.
        rows.reverse();
        rows.sort_by_key(|row| (row.series.key(), row.minute));
        rows.dedup_by_key(|row| (row.series.key(), row.minute));
        for row in rows {
            let level = Level::of(StatisticsStep::Minute, &row.series);
            columns.add(level, row.series.key(), row.minute, &row.figures);
            changed.insert((level, level.chunk_step().floor(row.minute)));
        }
        if changed.is_empty() {
            return Ok(());
        }
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        columns.put(session, batch.node.0, batch.part).await?;
        // Last, because all nodes write this row, and in order, so that they cannot deadlock.
        mark_due(session, &changed.into_iter().collect::<Vec<_>>()).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn read_statistics(
        &self,
        tenant: Option<TenantId>,
        series: &[Series],
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        check_size(series.len(), &window)?;
        let session = self.lists.next(tenant).await?;
        let mut plan = ReadPlan::new(series, &window, &due_chunks(&session).await?);
        let ranges = plan.ranges.clone();
        let of = |value: fn(&ReadRange) -> i64| ranges.iter().map(value).collect::<Vec<i64>>();
        let keys: Vec<SeriesKey> = ranges.iter().map(|range| range.series.key()).collect();
        let levels: Vec<i16> = ranges.iter().map(|range| range.level.number()).collect();
        let tenants: Vec<Uuid> = keys.iter().map(|key| Uuid::from_bytes(key.0)).collect();
        let targets: Vec<Uuid> = keys.iter().map(|key| Uuid::from_bytes(key.1)).collect();
        let lanes: Vec<i16> = keys.iter().map(|key| key.2).collect();
        let chunks = of(|range| range.chunk.secs());
        let (since, until) = (of(|range| range.since.secs()), of(|range| range.until.secs()));
        let values: [&(dyn ToSql + Sync); 7] =
            [&levels, &chunks, &tenants, &targets, &lanes, &since, &until];
        for row in query(&session, READ, &values).await.map_err(store_error)? {
            let place = rows::get::<i64>(&row, 0)? as usize - 1;
            let range = ranges.get(place).ok_or_else(|| corrupt("a range that was not read"))?;
            plan.add(range, Time::from_secs(rows::get(&row, 1)?), &figures(&row, 2)?);
        }
        Ok(plan.into_points())
    }

    /// Removes at most `max` rows of each level that are too old. Returns whether there are more.
    pub(crate) async fn prune_statistics(&self, before: Time, max: i64, now: Time) -> Result<bool> {
        let session = self.session().await?;
        let mut more = false;
        for level in Level::ALL {
            let kept_from = level.kept_from(before, now).secs();
            let values: [&(dyn ToSql + Sync); 3] = [&level.number(), &kept_from, &max];
            more |= execute(&session, PRUNE, &values).await.map_err(store_error)? >= max as u64;
        }
        Ok(more)
    }
}

/// Rows to write, column by column.
#[derive(Default)]
struct Columns {
    levels: Vec<i16>,
    chunks: Vec<i64>,
    tenants: Vec<Uuid>,
    targets: Vec<Uuid>,
    lanes: Vec<i16>,
    times: Vec<i64>,
    failed: Vec<i64>,
    figures: Vec<Vec<u8>>,
}

impl Columns {
    fn add(&mut self, level: Level, (tenant, target, lane): SeriesKey, at: Time, of: &Figures) {
        self.levels.push(level.number());
        self.chunks.push(level.chunk_step().floor(at).secs());
        self.tenants.push(Uuid::from_bytes(tenant));
        self.targets.push(Uuid::from_bytes(target));
        self.lanes.push(lane);
        self.times.push(at.secs());
        self.failed.push(i64::try_from(of.failed_attempts).unwrap_or(i64::MAX));
        self.figures.push(figures_codec::encode(of));
    }

    async fn put(&self, session: &Session, node: i64, part: u32) -> Result<(), TxError> {
        let part = i32::try_from(part).unwrap_or(i32::MAX);
        let values: [&(dyn ToSql + Sync); 10] = [
            &self.levels,
            &self.chunks,
            &self.tenants,
            &self.targets,
            &self.lanes,
            &self.times,
            &self.failed,
            &self.figures,
            &node,
            &part,
        ];
        execute(session, PUT, &values).await?;
        Ok(())
    }
}

async fn mark_due(session: &Session, chunks: &[(Level, Time)]) -> Result<(), TxError> {
    let levels: Vec<i16> = chunks.iter().map(|(level, _)| level.number()).collect();
    let times: Vec<i64> = chunks.iter().map(|(_, chunk)| chunk.secs()).collect();
    execute(session, MARK_DUE, &[&levels, &times]).await?;
    Ok(())
}

async fn due_chunks(session: &Session) -> Result<Vec<DueChunk>> {
    let found = query(session, DUE, &[]).await.map_err(store_error)?;
    let due = |row: &Row| {
        let number = rows::get(row, 0)?;
        let level = Level::from_number(number);
        let place: Option<&[u8]> = rows::get(row, 3)?;
        Ok(DueChunk {
            level: level.ok_or_else(|| corrupt(format!("unknown level {number}")))?,
            chunk: Time::from_secs(rows::get(row, 1)?),
            version: rows::get(row, 2)?,
            place: place.and_then(place_from_bytes),
        })
    };
    found.iter().map(due).collect()
}

fn figures(row: &Row, column: usize) -> Result<Figures> {
    figures_codec::decode(rows::get(row, column)?)
        .ok_or_else(|| corrupt("figures cannot be decoded"))
}
