//! Statistics: of a tenant and its targets in its cell, of the gateway in the home cell.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use futures_util::future::join_all;
use gancho_domain::{Lane, TenantScope, Time};
use gancho_store::{
    FailingTarget, MinuteFigures, NodeId, Result, Series, Statistics, StatisticsBatch,
    StatisticsPoint, StatisticsWindow, TargetId,
    statistics::{
        MAX_BATCH,
        without_success::{WithoutSuccessQuery, fair_order},
    },
};
use parking_lot::Mutex;

use crate::{
    CellStore, at_home,
    cell::{Cell, HOME},
    long_at_home, long_in_cell,
};

/// Rows for cells that did not answer. A row holds all that a node counted in its minute, so a later one takes the place
/// of an earlier one.
#[derive(Default)]
pub(crate) struct DeferredRows(Mutex<HashMap<u32, Rows>>);

type Rows = BTreeMap<(NodeId, u32, Time, Series), MinuteFigures>;

/// Rows that wait for one cell. Beyond these, the newest are not counted.
const MAX_DEFERRED: usize = 50_000;

impl DeferredRows {
    fn put(&self, cell: u32, (node, part): (NodeId, u32), rows: Vec<MinuteFigures>) {
        let mut all = self.0.lock();
        let waiting = all.entry(cell).or_default();
        for row in rows {
            let key = (node, part, row.minute, row.series);
            if waiting.len() < MAX_DEFERRED || waiting.contains_key(&key) {
                waiting.insert(key, row);
            }
        }
    }

    /// What has come in the meantime is newer.
    fn put_back(&self, cell: u32, (node, part): (NodeId, u32), rows: Vec<MinuteFigures>) {
        let mut all = self.0.lock();
        let waiting = all.entry(cell).or_default();
        for row in rows {
            waiting.entry((node, part, row.minute, row.series)).or_insert(row);
        }
    }

    /// Drops what waits for cells that were removed.
    pub fn keep(&self, is_there: impl Fn(u32) -> bool) {
        self.0.lock().retain(|cell, _| is_there(*cell));
    }

    /// At most one batch.
    fn take(&self, cell: u32) -> Option<((NodeId, u32), Vec<MinuteFigures>)> {
        let mut all = self.0.lock();
        let waiting = all.get_mut(&cell)?;
        let (node, part, ..) = *waiting.keys().next()?;
        let is_of = |key: &&(NodeId, u32, Time, Series)| (key.0, key.1) == (node, part);
        let keys: Vec<_> = waiting.keys().take_while(is_of).take(MAX_BATCH).copied().collect();
        Some(((node, part), keys.iter().filter_map(|key| waiting.remove(key)).collect()))
    }
}

impl CellStore {
    /// Writes rows of one cell, and before them what waits for it. What cannot be written now waits: a cell that does
    /// not answer must not hold up the statistics of the others.
    async fn write_in(
        &self,
        cell: &Cell,
        of: (NodeId, u32),
        rows: Vec<MinuteFigures>,
        now: Time,
    ) -> Result<()> {
        self.deferred.put(cell.number, of, rows);
        while let Some((of, rows)) = self.deferred.take(cell.number) {
            let rows = self.reroute(cell, of, rows);
            let written = async {
                let node = self.first_number(cell, of.0).await?;
                let batch = StatisticsBatch { node, part: of.1, rows: rows.clone() };
                let store = cell.store()?;
                cell.long(store.write_statistics(batch, now)).await
            };
            match written.await {
                Ok(()) => {}
                Err(error) if error.is_permanent() => return Err(error),
                Err(error) => {
                    tracing::debug!(cell = cell.name, %error, "statistics wait for a cell");
                    self.deferred.put_back(cell.number, of, rows);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl CellStore {
    /// Those of tenants that have moved since they were counted go where they live now.
    fn reroute(
        &self,
        cell: &Cell,
        of: (NodeId, u32),
        rows: Vec<MinuteFigures>,
    ) -> Vec<MinuteFigures> {
        let mut here = Vec::new();
        for row in rows {
            let lives_in =
                row.series.tenant().map_or(HOME, |tenant| self.directory.known_cell(tenant));
            let is_known =
                row.series.tenant().is_some_and(|one| self.directory.moved_at(one).is_some());
            if is_known && lives_in != cell.number {
                self.deferred.put(lives_in, of, vec![row]);
            } else {
                here.push(row);
            }
        }
        here
    }
}

#[async_trait]
impl Statistics for CellStore {
    async fn write_statistics(&self, batch: StatisticsBatch, now: Time) -> Result<()> {
        let StatisticsBatch { node, part, rows } = batch;
        if self.is_alone() {
            let node = self.first_number(&self.home, node).await?;
            let batch = StatisticsBatch { node, part, rows };
            return at_home!(self, |store| store.write_statistics(batch, now));
        }
        let mut by_cell: BTreeMap<u32, Vec<MinuteFigures>> = BTreeMap::new();
        for row in rows {
            let cell = match row.series.tenant() {
                Some(tenant) => self.cell_of(tenant).await?.number,
                None => HOME,
            };
            by_cell.entry(cell).or_default().push(row);
        }
        let cells = self.cells();
        let each = cells.iter().map(|cell| {
            let rows = by_cell.remove(&cell.number).unwrap_or_default();
            self.write_in(cell, (node, part), rows, now)
        });
        join_all(each.collect::<Vec<_>>()).await.into_iter().collect()
    }

    async fn roll_up_statistics(&self, max: usize, now: Time) -> Result<bool> {
        let rolled =
            self.each(|store, _| async move { store.roll_up_statistics(max, now).await }).await?;
        Ok(rolled.into_iter().any(|(_, more)| more))
    }

    async fn tenant_statistics(
        &self,
        scope: TenantScope,
        of: Vec<(Option<TargetId>, Lane)>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        long_in_cell!(self, scope.tenant(), |store| store.tenant_statistics(scope, of, window))
    }

    async fn gateway_statistics(
        &self,
        lanes: Vec<Lane>,
        window: StatisticsWindow,
    ) -> Result<Vec<StatisticsPoint>> {
        long_at_home!(self, |store| store.gateway_statistics(lanes, window))
    }

    async fn failing_targets(
        &self,
        scope: TenantScope,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        long_in_cell!(self, scope.tenant(), |store| store.failing_targets(scope, lane, until, max))
    }

    async fn failing_targets_of_all(
        &self,
        lane: Lane,
        until: Time,
        max: usize,
    ) -> Result<Vec<FailingTarget>> {
        let found = self
            .each(|store, _| async move { store.failing_targets_of_all(lane, until, max).await })
            .await?;
        let mut found = self.living(found, |one| Some(one.tenant));
        // Stable: those of one cell keep their order.
        found.sort_by_key(|one| std::cmp::Reverse(one.failed_attempts));
        found.truncate(max);
        Ok(found)
    }

    async fn targets_without_success(&self, of: WithoutSuccessQuery) -> Result<Vec<FailingTarget>> {
        let found =
            self.each(|store, _| async move { store.targets_without_success(of).await }).await?;
        Ok(fair_order(self.living(found, |one| Some(one.tenant))))
    }
}
