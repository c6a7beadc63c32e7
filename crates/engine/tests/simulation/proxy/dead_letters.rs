//! Dead letters and the archive. The engine does not call these methods.

use async_trait::async_trait;
use gancho_domain::Time;
use gancho_store::{
    ArchiveSelection, ArchivedLetter, Archiving, DeadFilter, DeadLetter, DeadLetters, DeadStats,
    FullDeadLetter, ImportOutcome, Page, PageRequest, ReplayPage, Result,
};

use super::Proxy;

#[async_trait]
impl DeadLetters for Proxy {
    async fn dead_letters(
        &self,
        filter: DeadFilter,
        page: PageRequest,
    ) -> Result<Page<DeadLetter>> {
        self.inner.dead_letters(filter, page).await
    }

    async fn dead_stats(&self, filter: DeadFilter) -> Result<DeadStats> {
        self.inner.dead_stats(filter).await
    }

    async fn dead_since(&self, times: Vec<Time>) -> Result<Vec<u64>> {
        self.inner.dead_since(times).await
    }

    async fn replay_dead(
        &self,
        filter: DeadFilter,
        max: usize,
        after: Option<[u8; 32]>,
        now: Time,
    ) -> Result<ReplayPage> {
        self.inner.replay_dead(filter, max, after, now).await
    }

    async fn purge_dead(&self, filter: DeadFilter, max: usize) -> Result<u64> {
        self.inner.purge_dead(filter, max).await
    }
}

#[async_trait]
impl Archiving for Proxy {
    async fn dead_overflow(&self, max_per_tenant: u64) -> Result<Vec<ArchiveSelection>> {
        self.inner.dead_overflow(max_per_tenant).await
    }

    async fn letters_to_archive(
        &self,
        which: ArchiveSelection,
        max: usize,
        max_bytes: usize,
    ) -> Result<Vec<FullDeadLetter>> {
        self.inner.letters_to_archive(which, max, max_bytes).await
    }

    async fn remove_archived(&self, letters: Vec<ArchivedLetter>) -> Result<u64> {
        self.inner.remove_archived(letters).await
    }

    async fn import_dead(
        &self,
        letters: Vec<FullDeadLetter>,
        now: Time,
    ) -> Result<Vec<ImportOutcome>> {
        self.inner.import_dead(letters, now).await
    }
}
