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
        read_plan::{ReadPlan, check_size},
        without_success::{WithoutSuccessQuery, fair_order},
    },
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use failing::{all_failing, failing};

use crate::{
    SqliteStore, rows,
    transaction::Tx,
    tx_error::{TxError, corrupt},
};

#[async_trait]
impl Statistics for SqliteStore {
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()> {
        self.write_more(move |tx| write_batch(tx, &batch, now)).await
    }

    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool> {
        self.roll_up_step(max, now).await
    }

    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        let tenant = scope.tenant();
        let series = of.into_iter().map(|of| Series::within(tenant, of));
        self.read_statistics(Some(tenant), series.collect(), window).await
    }

    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        let series = lanes.into_iter().map(Series::of_gateway).collect();
        self.read_statistics(None, series, window).await
    }

    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        let tenant = Some(scope.tenant());
        self.read_list(tenant, move |db| failing(db, tenant, lane, until, max)).await
    }

    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        self.read_list(None, move |db| failing(db, None, lane, until, max)).await
    }

    async fn targets_without_success(&self, of: WithoutSuccessQuery) -> Result<Vec<FailingTarget>> {
        let failing = self.read_list(None, move |db| all_failing(db, &of)).await?;
        let mut found = Vec::new();
        for part in of.parts(failing) {
            let points = self.read_statistics(None, of.series(&part), of.window()).await?;
            found.extend(of.check(&part, &points));
        }
        Ok(fair_order(found))
    }
}

impl SqliteStore {
    async fn read_statistics(
        &self,
        tenant: Option<TenantId>,
        series: Vec<Series>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        check_size(series.len(), &window)?;
        self.read_list(tenant, move |db| {
            let mut plan = ReadPlan::new(&series, &window, &due_chunks(db)?);
            let mut find = db.prepare_cached(
                "SELECT at, figures FROM statistics WHERE level = ?1 AND chunk = ?2
                   AND tenant_id = ?3 AND target_id = ?4 AND lane = ?5 AND at >= ?6 AND at < ?7",
            )?;
            for range in plan.ranges.clone() {
                let (tenant, target, lane) = range.series.key();
                let mut found = find.query(params![
                    range.level.number(),
                    range.chunk.secs(),
                    tenant,
                    target,
                    lane,
                    range.since.secs(),
                    range.until.secs(),
                ])?;
                while let Some(row) = found.next()? {
                    plan.add(&range, Time::from_secs(row.get(0)?), &figures(row, 1)?);
                }
            }
            Ok(plan.into_points())
        })
        .await
    }
}

fn write_batch(tx: &Tx<'_>, batch: &StatisticsBatch, now: Time) -> Result<(), TxError> {
    let mut changed = BTreeSet::new();
    for row in batch.rows.iter().filter(|row| now.since(row.minute) <= MAX_LATE) {
        let level = Level::of(StatisticsStep::Minute, &row.series);
        put(tx, level, &row.series, row.minute, (batch.node.0, batch.part), &row.figures)?;
        changed.insert((level, level.chunk_step().floor(row.minute)));
    }
    for (level, chunk) in changed {
        mark_due(tx, level, chunk)?;
    }
    Ok(())
}

/// Writes a row. A row of a minute belongs to a node; sums have the writer `(0, 0)`.
fn put(
    tx: &Tx<'_>,
    level: Level,
    series: &Series,
    at: Time,
    (node, part): (i64, u32),
    figures: &Figures,
) -> Result<(), TxError> {
    let (tenant, target, lane) = series.key();
    tx.db
        .prepare_cached(
            "INSERT INTO statistics (level, chunk, tenant_id, target_id, lane, at, node, part, failed,
               figures)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET failed = excluded.failed, figures = excluded.figures",
        )?
        .execute(params![
            level.number(),
            level.chunk_step().floor(at).secs(),
            tenant,
            target,
            lane,
            at.secs(),
            node,
            part,
            i64::try_from(figures.failed_attempts).unwrap_or(i64::MAX),
            figures_codec::encode(figures),
        ])?;
    Ok(())
}

/// Marks a chunk as due. A running roll-up of it starts over.
fn mark_due(tx: &Tx<'_>, level: Level, chunk: Time) -> Result<(), TxError> {
    tx.db
        .prepare_cached(
            "INSERT INTO statistics_due (level, chunk, version, place) VALUES (?1, ?2, 1, NULL)
             ON CONFLICT DO UPDATE SET version = version + 1, place = NULL",
        )?
        .execute(params![level.number(), chunk.secs()])?;
    Ok(())
}

/// Returns the due chunks, oldest first. There are few: the current hour and day, and those that have just
/// ended.
fn due_chunks(db: &Connection) -> Result<Vec<DueChunk>, TxError> {
    let mut list = db.prepare_cached(
        "SELECT level, chunk, version, place FROM statistics_due ORDER BY chunk, level",
    )?;
    let mut found = list.query([])?;
    let mut due = Vec::new();
    while let Some(row) = found.next()? {
        let number = row.get(0)?;
        let level = Level::from_number(number);
        due.push(DueChunk {
            level: level.ok_or_else(|| corrupt(format!("unknown level {number}")))?,
            chunk: Time::from_secs(row.get(1)?),
            version: row.get(2)?,
            place: row.get::<_, Option<Vec<u8>>>(3)?.and_then(|place| place_from_bytes(&place)),
        });
    }
    Ok(due)
}

fn figures(row: &Row<'_>, column: usize) -> Result<Figures, TxError> {
    let bytes = row.get_ref(column)?.as_blob().map_err(|_| corrupt("figures are not a blob"))?;
    figures_codec::decode(bytes).ok_or_else(|| corrupt("figures cannot be decoded"))
}

fn series_key(row: &Row<'_>, column: usize) -> Result<SeriesKey, TxError> {
    let tenant: TenantId = rows::id(row, column)?;
    let target: TargetId = rows::id(row, column + 1)?;
    Ok((tenant.bytes(), target.bytes(), row.get(column + 2)?))
}

/// Removes at most `max` rows of each level that are too old. Chunks that are not rolled up yet stay. Returns
/// whether there are more.
pub(crate) fn prune(tx: &Tx<'_>, before: Time, max: usize, now: Time) -> Result<bool, TxError> {
    let mut more = false;
    for level in Level::ALL {
        let first_due: Option<i64> = tx
            .db
            .prepare_cached("SELECT min(chunk) FROM statistics_due WHERE level = ?1")?
            .query_row([level.number()], |row| row.get(0))
            .optional()?
            .flatten();
        let kept_from = level.kept_from(before, now).secs().min(first_due.unwrap_or(i64::MAX));
        let gone = tx
            .db
            .prepare_cached(
                "DELETE FROM statistics
                 WHERE (level, chunk, tenant_id, target_id, lane, at, node, part) IN
                   (SELECT level, chunk, tenant_id, target_id, lane, at, node, part FROM statistics
                    WHERE level = ?1 AND chunk < ?2 ORDER BY chunk LIMIT ?3)",
            )?
            .execute(params![level.number(), kept_from, max as i64])?;
        more |= gone == max;
    }
    Ok(more)
}
