//! Handing dead letters to the archive: those of all cells.

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_store::{
    ArchiveSelection, ArchivedLetter, Archiving, FullDeadLetter, ImportOutcome, Result,
};

use crate::{CellStore, accept::in_parts, long_in_cell};

#[async_trait]
impl Archiving for CellStore {
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>> {
        let found =
            self.each(|store, _| async move { store.dead_overflow(max_per_tenant).await }).await?;
        Ok(found.into_iter().flat_map(|(_, found)| found).collect())
    }

    /// Those that expire first, of the cells that answer.
    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>> {
        if let ArchiveSelection::Overflow(tenant, ..) = which {
            return long_in_cell!(self, tenant, |store| store
                .letters_to_archive(which, max, max_bytes));
        }
        let found = self
            .each(|store, _| async move { store.letters_to_archive(which, max, max_bytes).await })
            .await?;
        let mut found = self.living(found, |one| Some(one.letter.tenant));
        found.sort_by_key(|one| (one.letter.expires_at, one.letter.delivery));
        let mut bytes = 0;
        let fits = |one: &&FullDeadLetter| {
            let has_room = bytes == 0 || bytes < max_bytes;
            bytes += one.letter.original.len().max(1);
            has_room
        };
        let count = found.iter().take(max).take_while(fits).count();
        found.truncate(count);
        Ok(found)
    }

    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64> {
        let parts = self.by_cell(letters, |letter| letter.tenant).await?;
        let removed = in_parts(parts, |cell, letters| async move {
            let store = cell.store()?;
            let count = letters.len();
            let removed = cell.long(store.remove_archived(letters)).await?;
            // One answer for each: all of them with the first.
            let mut answers = vec![0; count];
            answers.iter_mut().take(1).for_each(|first| *first = removed);
            Ok(answers)
        })
        .await?;
        Ok(removed.into_iter().sum())
    }

    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        let parts = self.by_cell(letters, |one| one.letter.tenant).await?;
        in_parts(parts, |cell, letters| async move {
            cell.long(cell.store()?.import_dead(letters, now)).await
        })
        .await
    }
}
