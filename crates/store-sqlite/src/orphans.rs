//! Deliveries and pauses of deleted endpoints.

use async_trait::async_trait;
use gancho_domain::{EndReason, EndpointId, Lane, TenantId, TenantScope, Time};
use gancho_store::{EndedDelivery, OrphanScan, Orphans, Result, TenantEndpoint};
use rusqlite::{Connection, params};

use crate::{
    SqliteStore, order,
    pauses::NO_LANE,
    settle::bury,
    states::{DEAD, ENDED, PENDING, WAITING, sql},
    transaction::Tx,
    tx_error::TxError,
    upkeep::{ended_delivery, last_failure},
    walk::next_target,
};

#[async_trait]
impl Orphans for SqliteStore {
    async fn scan_orphans(&self, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan> {
        self.read(move |db| scan(db, after, max)).await
    }

    async fn give_up_orphans(
        &self,
        scope: TenantScope,
        endpoint: EndpointId,
        max: usize,
        now: Time,
    ) -> Result<Vec<EndedDelivery>> {
        self.write(move |tx| give_up(tx, (scope.tenant(), endpoint), max, now)).await
    }

    async fn lift_orphaned_pauses(&self) -> Result<u64> {
        self.write(|tx| {
            let lifted = tx
                .db
                .prepare_cached(sql!(
                    "DELETE FROM pauses WHERE lane = {NO_LANE} AND target_id <> x'' AND NOT EXISTS
                       (SELECT 1 FROM endpoints e
                        WHERE e.tenant_id = pauses.tenant_id AND e.id = pauses.target_id)"
                ))?
                .execute([])?;
            if lifted > 0 {
                tx.ring();
            }
            Ok(lifted as u64)
        })
        .await
    }
}

/// Goes from target to target in the index of pending deliveries. The cost does not depend on how many each
/// target has.
fn scan(db: &Connection, after: Option<TenantEndpoint>, max: usize) -> Result<OrphanScan, TxError> {
    let mut scan = OrphanScan::default();
    let first = (TenantId::from_bits(0), EndpointId::from_bits(0));
    let mut last = after.unwrap_or(first);
    for _ in 0..max {
        let Some(head) = next_target(db, Lane::Webhook, last)? else { return Ok(scan) };
        last = head.key;
        if !exists(db, last)? {
            scan.orphaned.push(last);
        }
    }
    scan.next = Some(last);
    Ok(scan)
}

fn exists(db: &Connection, (tenant, endpoint): TenantEndpoint) -> Result<bool, TxError> {
    Ok(db
        .prepare_cached("SELECT 1 FROM endpoints WHERE tenant_id = ?1 AND id = ?2")?
        .exists(params![tenant.bytes(), endpoint.bytes()])?)
}

fn give_up(
    tx: &Tx<'_>,
    of: TenantEndpoint,
    max: usize,
    now: Time,
) -> Result<Vec<EndedDelivery>, TxError> {
    if exists(tx.db, of)? {
        return Ok(Vec::new());
    }
    let left: Vec<i64> = tx
        .db
        .prepare_cached(sql!(
            "SELECT seq FROM deliveries INDEXED BY deliveries_pending
             WHERE state = {PENDING} AND lane = ?1 AND tenant_id = ?2 AND target_id = ?3
             UNION ALL
             SELECT seq FROM deliveries INDEXED BY deliveries_in_order
             WHERE tenant_id = ?2 AND target_id = ?3 AND subject IS NOT NULL AND state < {ENDED}
               AND state = {WAITING} AND lane = ?1
             LIMIT ?4"
        ))?
        .query_map(
            params![Lane::Webhook.number(), of.0.bytes(), of.1.bytes(), max as i64],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    let mut ended = Vec::with_capacity(left.len());
    for seq in left {
        end(tx, seq, &EndReason::ENDPOINT_DELETED, now)?;
        ended.push(ended_delivery(tx, seq)?);
    }
    Ok(ended)
}

/// Ends an unfinished delivery as a dead letter.
pub(crate) fn end(tx: &Tx<'_>, seq: i64, reason: &EndReason, now: Time) -> Result<(), TxError> {
    tx.db
        .prepare_cached(sql!("UPDATE deliveries SET state = {DEAD} WHERE seq = ?1"))?
        .execute([seq])?;
    let last = last_failure(tx, seq)?;
    bury(tx, seq, &reason.failure(last.as_ref()), now, now)?;
    order::move_up(tx, seq)
}
