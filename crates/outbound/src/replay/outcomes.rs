//! The outcomes of the deliveries that a replay has sent.
//!
//! Each delivery row has the delivery's state. A replay only remembers which deliveries it has sent, the
//! first [`MAX_REMEMBERED`] of them, so that counting takes a bounded time. Their ids are in documents that
//! expire.

use std::{collections::BTreeSet, time::Duration};

use bytes::{Bytes, BytesMut};
use gancho_domain::{DeliveryId, TenantId};
use gancho_store::{DeliveryCounts, Precondition, ReplayJob, Result};

use super::{Replay, Replays};
use crate::Owner;

const KIND: &str = "replayed";
/// Deliveries of a replay that are remembered.
const MAX_REMEMBERED: u64 = 5_000;
/// Approximate number of deliveries in a document: a page is stored in the document in which it begins.
const PER_DOCUMENT: u64 = 100;
/// How long the ids are stored. Deliveries are seldom stored longer.
const KEPT_FOR: Duration = Duration::from_hours(24 * 30);
const ID_LENGTH: usize = 16;

/// The current states of the deliveries of a replay, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayOutcomes {
    pub counts: DeliveryCounts,
    /// The number of deliveries that were counted: the first ones that were sent.
    pub of: u64,
}

impl Replays {
    /// Remembers the deliveries of a page that follows what the job has recorded. A page that is sent again
    /// because its outcome is unknown is the same page. Deliveries that cannot be remembered are not counted;
    /// the replay continues.
    pub(super) async fn remember(
        &self,
        owner: Owner,
        job: &ReplayJob,
        sent: &[(TenantId, DeliveryId)],
    ) {
        if sent.is_empty() || job.sent.done >= MAX_REMEMBERED {
            return;
        }
        if let Err(error) = self.write_sent(owner, job, sent).await {
            tracing::warn!(%error, replay = %job.id, "could not record a replay's deliveries");
        }
    }

    async fn write_sent(
        &self,
        owner: Owner,
        job: &ReplayJob,
        sent: &[(TenantId, DeliveryId)],
    ) -> Result<()> {
        let (place, until) = (owner.collection(KIND), self.clock.now() + KEPT_FOR);
        let key = format!("{}/{:02}", job.id, job.sent.done / PER_DOCUMENT);
        let known = self.store.document(place, &key).await?;
        let mut all = known.map_or_else(BTreeSet::new, |document| read(&document.body));
        all.extend(sent);
        self.store
            .put_document_until(place, &key, write(&all), Precondition::Anything, until)
            .await?;
        Ok(())
    }

    /// Counts the deliveries that a replay has sent, by their current state.
    pub async fn outcomes(&self, replay: &Replay) -> Result<ReplayOutcomes> {
        let place = Owner::of(replay.tenant).collection(KIND);
        let prefix = format!("{}/", replay.id);
        let max = (MAX_REMEMBERED / PER_DOCUMENT) as usize;
        let found = self.store.documents(place, Some(&prefix), max).await?;
        let own = found.iter().filter(|document| document.key.starts_with(&prefix));
        let all: BTreeSet<_> = own.flat_map(|document| read(&document.body)).collect();
        let of = all.len() as u64;
        let counts = self.store.count_deliveries(all.into_iter().collect()).await?;
        Ok(ReplayOutcomes { counts, of })
    }
}

fn write(sent: &BTreeSet<(TenantId, DeliveryId)>) -> Bytes {
    let mut body = BytesMut::with_capacity(sent.len() * 2 * ID_LENGTH);
    for (tenant, delivery) in sent {
        body.extend_from_slice(&tenant.bytes());
        body.extend_from_slice(&delivery.bytes());
    }
    body.freeze()
}

fn read(body: &[u8]) -> BTreeSet<(TenantId, DeliveryId)> {
    let (pairs, _) = body.as_chunks::<{ 2 * ID_LENGTH }>();
    let pair = |pair: &[u8; 2 * ID_LENGTH]| {
        let (tenant, delivery) = pair.split_at(ID_LENGTH);
        let tenant = TenantId::from_bytes(tenant.try_into().ok()?);
        Some((tenant, DeliveryId::from_bytes(delivery.try_into().ok()?)))
    };
    pairs.iter().filter_map(pair).collect()
}
