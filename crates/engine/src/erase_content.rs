//! Erases the content of one parcel: cancel what waits → erase in the store → remove from the archive.
//!
//! A delivery that a node holds is not canceled: its request may be on the way, and its result would be
//! written afterwards. In that case nothing is erased, and the caller tries again when the attempt has ended.

use bytes::Bytes;
use gancho_domain::{Parcel, ParcelId, State, TenantScope};
use gancho_store::{ContentErasure, DeliveryRow, deliveries::MAX_CANCELED};

use crate::{
    Engine,
    archive::{ArchiveRunError, LetterName},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedContent {
    pub outcome: ContentErasure,
    /// Deliveries that waited and were canceled.
    pub canceled: u64,
    /// Archived dead letters that were removed.
    pub archived: u64,
}

impl Engine {
    /// Erases the content. `replacement` makes what is stored in place of the body. Erasing twice is
    /// harmless, and removes from the archive what an earlier call could not.
    pub async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: impl FnOnce(&Parcel) -> Bytes + Send,
    ) -> Result<ErasedContent, ArchiveRunError> {
        let mut erased =
            ErasedContent { outcome: ContentErasure::Unknown, canceled: 0, archived: 0 };
        let Some(view) = self.store.event(scope, id).await? else { return Ok(erased) };
        let waits = |row: &&DeliveryRow| matches!(row.state, State::Pending | State::Waiting);
        let waiting: Vec<_> = view.deliveries.iter().filter(waits).map(|row| row.id).collect();
        for ids in waiting.chunks(MAX_CANCELED) {
            erased.canceled += self.store.cancel(scope, ids.to_vec(), self.clock.now()).await?;
        }
        let (parcel, now) = (&view.parcel, self.clock.now());
        erased.outcome = self.store.erase_content(scope, id, replacement(parcel), now).await?;
        let is_done =
            matches!(erased.outcome, ContentErasure::Erased | ContentErasure::AlreadyErased);
        if let (Some(archive), true) = (&self.archive, is_done) {
            // A dead letter that was imported from the archive and replayed has more than one attempt.
            let may_be_archived = |row: &&DeliveryRow| row.state == State::Dead || row.attempts > 1;
            let name = |row: &DeliveryRow| LetterName {
                tenant: parcel.tenant,
                lane: row.lane,
                event_type: parcel.event_type.clone(),
                delivery: row.id,
                created_at: row.created_at,
            };
            let names: Vec<_> = view.deliveries.iter().filter(may_be_archived).map(name).collect();
            if !names.is_empty() {
                erased.archived = archive.forget(&names, now).await?;
            }
        }
        Ok(erased)
    }
}
