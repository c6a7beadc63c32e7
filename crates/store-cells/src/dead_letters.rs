//! Dead letters: one tenant's in its cell; everyone's in all of them.

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_store::{
    DeadFilter, DeadLetter, DeadLetters, DeadStats, Page, PageRequest, ReplayPage, Result,
};

use crate::{CellStore, long_in_cell, merge::merge};

/// A place holds the time and the id of a letter; the bytes between are free, and hold the cell whose letters are being
/// replayed, plus 1.
const CELL: std::ops::Range<usize> = 8..12;

#[async_trait]
impl DeadLetters for CellStore {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        if let Some(tenant) = filter.tenant {
            return long_in_cell!(self, tenant, |store| store.dead_letters(filter, page));
        }
        let pages = self
            .each(|store, _| {
                let (filter, page) = (filter.clone(), page.clone());
                async move { store.dead_letters(filter, page).await }
            })
            .await?;
        let pages = self.living_pages(pages, |letter| letter.tenant).into_iter();
        let size = |letter: &DeadLetter| letter.original.len();
        Ok(merge(pages, page.order, page.max, page.max_bytes, place, size))
    }

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        if let Some(tenant) = filter.tenant {
            return long_in_cell!(self, tenant, |store| store.dead_stats(filter));
        }
        let found = self
            .each(|store, _| {
                let filter = filter.clone();
                async move { store.dead_stats(filter).await }
            })
            .await?;
        Ok(found.into_iter().map(|(_, stats)| stats).fold(DeadStats::default(), added))
    }

    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>> {
        let found = self
            .each(|store, _| {
                let times = times.clone();
                async move { store.dead_since(times).await }
            })
            .await?;
        let mut sums = vec![0; times.len()];
        for (_, counts) in found {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(sums)
    }

    /// Cell after cell, each from its oldest on.
    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage> {
        if let Some(tenant) = filter.tenant {
            return long_in_cell!(self, tenant, |store| store.replay_dead(filter, max, after, now));
        }
        let (number, after) = after.map_or((0, None), read_place);
        let cells = self.cells();
        let mut left = cells.iter().skip_while(|cell| cell.number < number);
        let Some(cell) = left.next() else { return Ok(ReplayPage::default()) };
        let after = after.filter(|_| cell.number == number);
        let store = cell.store()?;
        let page = cell.long(store.replay_dead(filter, max, after, now)).await?;
        let next = match (page.next, left.next()) {
            (Some(next), _) => Some(write_place(cell.number, next)),
            (None, Some(other)) => Some(write_place(other.number, [0; 32])),
            (None, None) => None,
        };
        Ok(ReplayPage { next, ..page })
    }

    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64> {
        if let Some(tenant) = filter.tenant {
            return long_in_cell!(self, tenant, |store| store.purge_dead(filter, max));
        }
        let mut gone = 0;
        for cell in self.cells().iter() {
            let left = max.saturating_sub(gone as usize);
            if left == 0 {
                break;
            }
            let store = cell.store()?;
            gone += cell.long(store.purge_dead(filter.clone(), left)).await?;
        }
        Ok(gone)
    }
}

fn place(letter: &DeadLetter) -> [u8; 32] {
    let mut place = [0; 32];
    place[..8].copy_from_slice(&letter.moved_at.micros().to_be_bytes());
    place[16..].copy_from_slice(&letter.delivery.bytes());
    place
}

fn added(mut sum: DeadStats, stats: DeadStats) -> DeadStats {
    sum.total += stats.total;
    sum.oldest = [sum.oldest, stats.oldest].into_iter().flatten().min();
    stats
        .by_code
        .into_iter()
        .for_each(|(code, count)| *sum.by_code.entry(code).or_default() += count);
    for (tenant, count) in stats.by_tenant {
        *sum.by_tenant.entry(tenant).or_default() += count;
    }
    stats
        .by_lane
        .into_iter()
        .for_each(|(lane, count)| *sum.by_lane.entry(lane).or_default() += count);
    sum
}

/// A place of zeros in a cell is its beginning.
fn write_place(cell: u32, mut place: [u8; 32]) -> [u8; 32] {
    place[CELL].copy_from_slice(&(cell + 1).to_be_bytes());
    place
}

fn read_place(mut place: [u8; 32]) -> (u32, Option<[u8; 32]>) {
    let mut number = [0; 4];
    number.copy_from_slice(&place[CELL]);
    place[CELL].fill(0);
    let number = u32::from_be_bytes(number).saturating_sub(1);
    (number, (place != [0; 32]).then_some(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_cells_read_back() {
        let mut inner = [0; 32];
        inner[0] = 9;
        inner[31] = 1;
        assert_eq!(read_place(write_place(7, inner)), (7, Some(inner)));
        assert_eq!(read_place(write_place(0, inner)), (0, Some(inner)));
        assert_eq!(read_place(write_place(3, [0; 32])), (3, None), "the beginning");
        assert_eq!(read_place(inner), (0, Some(inner)), "from before there were cells");
    }
}
