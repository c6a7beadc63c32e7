//! Deletes a tenant with all its data; `content` erases single parcels.
//!
//! Parcels are numbered by time, so finding those of one tenant means reading all parcels, a few thousand in
//! each step.

mod content;

use async_trait::async_trait;
use bytes::Bytes;
use gancho_domain::{Lane, ParcelId, TenantId, TenantScope, Time};
use gancho_store::{
    ContentErasure, DeletedTenant, EraseStep, Erasure, Result, SubjectScan, upkeep::Cutoff,
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};

pub(crate) use self::content::unreadably;
use crate::{
    SqliteStore, order,
    prune::{self, HAS_ENDED},
    rows,
    states::{DEAD, ENDED, PENDING, WAITING, sql},
    transaction::Tx,
    tx_error::TxError,
};

/// How many parcels a step reads for each that it may remove.
const LOOKS: usize = 20;

/// How far the parcels have been read for a tenant.
#[derive(Default)]
pub(crate) struct ErasePass(Mutex<Option<PassState>>);

#[derive(Clone, Copy)]
struct PassState {
    tenant: TenantId,
    /// The last row that was read.
    at: i64,
    /// Whether something had to stay.
    has_kept: bool,
}

#[async_trait]
impl Erasure for SqliteStore {
    async fn delete_tenant(&self, id: TenantId, now: Time) -> Result<bool> {
        self.write(move |tx| unreadably(tx, || delete(tx, id, now))).await
    }

    async fn deleted_tenants(&self, max: usize) -> Result<Vec<DeletedTenant>> {
        self.read(move |db| {
            let mut list = db.prepare_cached(
                "SELECT tenant_id, slug, deleted_at, is_erased FROM deleted_tenants
                 ORDER BY deleted_at, tenant_id LIMIT ?1",
            )?;
            let mut found = list.query([max as i64])?;
            let mut all = Vec::new();
            while let Some(row) = found.next()? {
                all.push(DeletedTenant {
                    id: rows::id(row, 0)?,
                    slug: row.get(1)?,
                    deleted_at: rows::time(row, 2)?,
                    is_erased: row.get(3)?,
                });
            }
            Ok(all)
        })
        .await
    }

    async fn erase(&self, id: TenantId, max: usize) -> Result<EraseStep> {
        let is_deleted = self.read(move |db| is_deleted(db, id)).await?;
        if !is_deleted {
            return Ok(EraseStep::default());
        }
        if self.write(move |tx| unreadably(tx, || remove_small(tx, id, max))).await? {
            return Ok(EraseStep { more: true, ..EraseStep::default() });
        }
        self.erase_parcels(id, max).await
    }

    async fn mark_erased(&self, id: TenantId) -> Result<()> {
        let sql = "UPDATE deleted_tenants SET is_erased = 1 WHERE tenant_id = ?1";
        self.write(move |tx| Ok(tx.db.execute(sql, [id.bytes()]).map(drop)?)).await
    }

    async fn forget_deleted(&self, id: TenantId) -> Result<()> {
        let sql = "DELETE FROM deleted_tenants WHERE tenant_id = ?1";
        self.write(move |tx| Ok(tx.db.execute(sql, [id.bytes()]).map(drop)?)).await
    }

    async fn erase_content(
        &self,
        scope: TenantScope,
        id: ParcelId,
        replacement: Bytes,
        now: Time,
    ) -> Result<ContentErasure> {
        let mut progress = content::Progress::default();
        loop {
            let (before, replacement) = (progress, replacement.clone());
            let step = move |tx: &Tx<'_>| content::erase(tx, scope, id, before, &replacement, now);
            match self.write_for(Some(scope.tenant()), content::MAX_ROWS, step).await? {
                content::Step::Done(outcome) => return Ok(outcome),
                content::Step::More(next) => progress = next,
            }
        }
    }

    async fn parcels_about(
        &self,
        scope: TenantScope,
        subject: String,
        after: Option<ParcelId>,
        max: usize,
    ) -> Result<SubjectScan> {
        self.read_list(Some(scope.tenant()), move |db| {
            content::parcels_about(db, scope, &subject, after, max)
        })
        .await
    }
}

impl SqliteStore {
    async fn erase_parcels(&self, tenant: TenantId, max: usize) -> Result<EraseStep> {
        let before = self.passes.erasure.0.lock().filter(|pass| pass.tenant == tenant);
        let mut pass = before.unwrap_or(PassState { tenant, at: 0, has_kept: false });
        let at = pass.at;
        let read = self.read_aside(move |db| read_parcels(db, tenant, at, max)).await?;
        let mut step = EraseStep::default();
        if !read.ended.is_empty() {
            let remove = move |tx: &Tx<'_>| prune::remove(tx, &read.ended, Cutoff::ALL);
            step.parcels = self.write(move |tx| unreadably(tx, || remove(tx))).await?;
        }
        pass.has_kept |= read.has_kept;
        if let Some(at) = read.last {
            step.more = true;
            *self.passes.erasure.0.lock() = Some(PassState { at, ..pass });
        } else {
            step.is_clean = !pass.has_kept;
            *self.passes.erasure.0.lock() = None;
        }
        Ok(step)
    }
}

fn is_deleted(db: &Connection, id: TenantId) -> Result<bool, TxError> {
    Ok(db
        .prepare_cached("SELECT 1 FROM deleted_tenants WHERE tenant_id = ?1")?
        .exists([id.bytes()])?)
}

fn delete(tx: &Tx<'_>, id: TenantId, now: Time) -> Result<bool, TxError> {
    let slug: Option<String> = tx
        .db
        .query_row("DELETE FROM tenants WHERE id = ?1 RETURNING slug", [id.bytes()], |row| {
            row.get(0)
        })
        .optional()?;
    let Some(slug) = slug else { return Ok(false) };
    tx.db.execute(
        "INSERT INTO deleted_tenants (tenant_id, slug, deleted_at) VALUES (?1, ?2, ?3)",
        params![id.bytes(), slug, now.micros()],
    )?;
    for table in ["endpoints", "records", "pauses"] {
        tx.db.execute(&format!("DELETE FROM {table} WHERE tenant_id = ?1"), [id.bytes()])?;
    }
    tx.ring();
    Ok(true)
}

/// Removes everything except the parcels. Returns whether there was anything.
fn remove_small(tx: &Tx<'_>, tenant: TenantId, max: usize) -> Result<bool, TxError> {
    let mut removed = end_deliveries(tx, tenant, max)?;
    for sql in [
        "DELETE FROM dead_letters WHERE delivery IN
           (SELECT delivery FROM dead_letters WHERE tenant_id = ?1 LIMIT ?2)",
        "DELETE FROM suppressions WHERE (tenant_id, address) IN
           (SELECT tenant_id, address FROM suppressions WHERE tenant_id = ?1 LIMIT ?2)",
        "DELETE FROM email_reports WHERE (tenant_id, email_id) IN
           (SELECT tenant_id, email_id FROM email_reports WHERE tenant_id = ?1 LIMIT ?2)",
        "DELETE FROM replays WHERE id IN
           (SELECT id FROM replays WHERE tenant_id = ?1 LIMIT ?2)",
        // Written by a node that did not know of the deletion yet.
        "DELETE FROM records WHERE (kind, tenant_id, key) IN
           (SELECT kind, tenant_id, key FROM records WHERE tenant_id = ?1 LIMIT ?2)",
        "DELETE FROM subjects WHERE (tenant_id, subject) IN
           (SELECT s.tenant_id, s.subject FROM subjects s WHERE s.tenant_id = ?1 LIMIT ?2)",
    ] {
        removed += tx.db.prepare_cached(sql)?.execute(params![tenant.bytes(), max as i64])?;
    }
    Ok(removed > 0)
}

/// Ends the deliveries that no node holds. They leave no dead letters.
fn end_deliveries(tx: &Tx<'_>, tenant: TenantId, max: usize) -> Result<usize, TxError> {
    let mut left = Vec::new();
    for lane in Lane::ALL {
        let mut list = tx.db.prepare_cached(sql!(
            "SELECT seq FROM deliveries INDEXED BY deliveries_pending
             WHERE state = {PENDING} AND lane = ?1 AND tenant_id = ?2 LIMIT ?3"
        ))?;
        let values = params![lane.number(), tenant.bytes(), max as i64];
        let found = list.query_map(values, |row| row.get::<_, i64>(0))?;
        left.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    let mut list = tx.db.prepare_cached(sql!(
        "SELECT seq FROM deliveries INDEXED BY deliveries_in_order
         WHERE tenant_id = ?1 AND subject IS NOT NULL AND state < {ENDED} AND state = {WAITING}
         LIMIT ?2"
    ))?;
    let found = list.query_map(params![tenant.bytes(), max as i64], |row| row.get::<_, i64>(0))?;
    left.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
    left.truncate(max);
    for seq in &left {
        tx.db
            .prepare_cached(sql!("UPDATE deliveries SET state = {DEAD} WHERE seq = ?1"))?
            .execute([seq])?;
        order::move_up(tx, *seq)?;
    }
    Ok(left.len())
}

struct ReadParcels {
    ended: Vec<i64>,
    /// Whether a parcel of the tenant has not ended.
    has_kept: bool,
    /// Where the next step continues; `None` at the end.
    last: Option<i64>,
}

fn read_parcels(
    db: &Connection,
    tenant: TenantId,
    at: i64,
    max: usize,
) -> Result<ReadParcels, TxError> {
    let mut list = db.prepare_cached(&format!(
        "SELECT p.seq, p.tenant_id = ?3, p.tenant_id = ?3 AND {HAS_ENDED}
         FROM parcels p WHERE p.seq > ?4 ORDER BY p.seq LIMIT ?5"
    ))?;
    let (limit, Cutoff { before, now }) = (max * LOOKS, Cutoff::ALL);
    let values = params![before.micros(), now.micros(), tenant.bytes(), at, limit as i64];
    let mut found = list.query(values)?;
    let mut read = ReadParcels { ended: Vec::new(), has_kept: false, last: None };
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        let seq = row.get(0)?;
        let (is_own, has_ended): (bool, bool) = (row.get(1)?, row.get(2)?);
        if has_ended {
            read.ended.push(seq);
        }
        read.has_kept |= is_own && !has_ended;
        if count == limit || read.ended.len() == max {
            read.last = Some(seq);
            break;
        }
    }
    Ok(read)
}
