//! Rolls up due chunks, a few series at a time. Several nodes may do it at once: the version of a chunk shows
//! whether its rows have changed, or were rolled up, since they were read.

use gancho_domain::{Figures, Time};
use gancho_store::{
    Result,
    statistics::level::{DueChunk, Level, SeriesKey, place_to_bytes},
};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{Columns, due_chunks, figures, mark_due};
use crate::{
    PostgresStore, rows,
    session::{Transaction, execute, query},
    tx_error::{TxError, corrupt},
};

/// The rows of the next series after `($3, $4, $5)`.
pub(crate) const NEXT: &str = "
select s.tenant_id, s.target_id, s.lane, s.figures
from (select distinct tenant_id, target_id, lane from statistics
    where level = $1 and chunk = $2 and (tenant_id, target_id, lane) > ($3, $4, $5)
    order by tenant_id, target_id, lane limit $6) k
cross join lateral (
    select s.tenant_id, s.target_id, s.lane, s.figures from statistics s
    where s.level = $1 and s.chunk = $2 and s.tenant_id = k.tenant_id and s.target_id = k.target_id
      and s.lane = k.lane offset 0) s";

/// Waits for transactions that have changed the chunk.
const MOVE: &str = "
update statistics_due set version = version + 1, place = $4
where level = $1 and chunk = $2 and version = $3";

const DONE: &str = "delete from statistics_due where level = $1 and chunk = $2";

impl PostgresStore {
    pub(super) async fn roll_up_step(&self, max: usize, now: Time) -> Result<bool, TxError> {
        let session = self.upkeep_session().await?;
        let due = due_chunks(&session).await?;
        let over = due.into_iter().find(|due| due.level.is_over(due.chunk, now));
        let Some(due) = over else { return Ok(false) };
        let above = due.level.above().ok_or_else(|| corrupt("days are rolled up to nothing"))?;
        // Lanes have higher numbers.
        let (tenant, target, lane) = due.place.unwrap_or(([0; 16], [0; 16], -1));
        let limit = max.max(1) as i64;
        let values: [&(dyn ToSql + Sync); 6] = [
            &due.level.number(),
            &due.chunk.secs(),
            &Uuid::from_bytes(tenant),
            &Uuid::from_bytes(target),
            &lane,
            &limit,
        ];
        let mut sums: Vec<(SeriesKey, Figures)> = Vec::new();
        for row in query(&session, NEXT, &values).await? {
            let (tenant, target): (Uuid, Uuid) = (rows::get(&row, 0)?, rows::get(&row, 1)?);
            let key = (tenant.into_bytes(), target.into_bytes(), rows::get(&row, 2)?);
            let figures = figures(&row, 3)?;
            match sums.last_mut() {
                Some((last, sum)) if *last == key => sum.merge(&figures),
                _ => sums.push((key, figures)),
            }
        }
        drop(session);
        self.write_sums(&due, above, &sums, (sums.len() as i64) < limit).await?;
        Ok(true)
    }

    /// Writes the sums, unless another node has changed or rolled up the chunk since it was read.
    async fn write_sums(
        &self,
        due: &DueChunk,
        above: Level,
        sums: &[(SeriesKey, Figures)],
        is_last: bool,
    ) -> Result<(), TxError> {
        let transaction = Transaction::begin(self.session().await?).await?;
        let session = transaction.session()?;
        let (level, chunk) = (due.level.number(), due.chunk.secs());
        let place = sums.last().map(|(key, _)| place_to_bytes(*key));
        let moved = execute(session, MOVE, &[&level, &chunk, &due.version, &place]).await?;
        if moved > 0 {
            let mut columns = Columns::default();
            for (key, figures) in sums {
                columns.add(above, *key, due.chunk, figures);
            }
            columns.put(session, 0, 0).await?;
            if above.above().is_some() && !sums.is_empty() {
                mark_due(session, &[(above, above.chunk_step().floor(due.chunk))]).await?;
            }
            if is_last {
                execute(session, DONE, &[&level, &chunk]).await?;
            }
        }
        transaction.commit().await?;
        Ok(())
    }
}
