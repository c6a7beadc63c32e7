//! Pauses. An empty blob means "not this kind of pause".

use async_trait::async_trait;
use gancho_domain::{Id, Lane, TenantId, Time};
use gancho_store::{Pause, Pauses, Result};
use rusqlite::params;

use crate::{SqliteStore, rows, tx_error::corrupt};

#[async_trait]
impl Pauses for SqliteStore {
    async fn pause(&self, what: Pause, now: Time) -> Result<()> {
        self.write_for(tenant(what), 1, move |tx| {
            let (lane, tenant, target) = key(what);
            tx.db
                .prepare_cached(
                    "INSERT INTO pauses (lane, tenant_id, target_id, since) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![lane, tenant, target, now.micros()])?;
            Ok(())
        })
        .await
    }

    async fn resume(&self, what: Pause) -> Result<()> {
        self.write_for(tenant(what), 1, move |tx| {
            let (lane, tenant, target) = key(what);
            tx.db
                .prepare_cached(
                    "DELETE FROM pauses WHERE lane = ?1 AND tenant_id = ?2 AND target_id = ?3",
                )?
                .execute(params![lane, tenant, target])?;
            tx.ring();
            Ok(())
        })
        .await
    }

    async fn pauses(&self) -> Result<Vec<Pause>> {
        self.read_aside(|db| {
            let mut list = db.prepare_cached("SELECT lane, tenant_id, target_id FROM pauses")?;
            let mut found = list.query([])?;
            let mut pauses = Vec::new();
            while let Some(row) = found.next()? {
                let lane: i16 = row.get(0)?;
                let is_set = |column| row.get_ref(column).is_ok_and(|id| id.as_blob() != Ok(&[]));
                pauses.push(match (Lane::from_number(lane), is_set(1), is_set(2)) {
                    (Some(lane), false, false) => Pause::Lane(lane),
                    (None, true, false) => Pause::Tenant(rows::id(row, 1)?),
                    (None, true, true) => Pause::Endpoint(rows::id(row, 1)?, rows::id(row, 2)?),
                    _ => return Err(corrupt("a pause of nothing")),
                });
            }
            Ok(pauses)
        })
        .await
    }
}

/// The lane of a pause of a tenant or an endpoint, which has none.
pub(crate) const NO_LANE: i16 = 0;

/// `None` for the operator.
fn tenant(what: Pause) -> Option<TenantId> {
    match what {
        Pause::Lane(_) => None,
        Pause::Tenant(tenant) | Pause::Endpoint(tenant, _) => Some(tenant),
    }
}

fn key(what: Pause) -> (i16, Vec<u8>, Vec<u8>) {
    fn bytes<K>(id: Id<K>) -> Vec<u8> {
        id.bytes().to_vec()
    }
    match what {
        Pause::Lane(lane) => (lane.number(), Vec::new(), Vec::new()),
        Pause::Tenant(tenant) => (NO_LANE, bytes(tenant), Vec::new()),
        Pause::Endpoint(tenant, endpoint) => (NO_LANE, bytes(tenant), bytes(endpoint)),
    }
}
