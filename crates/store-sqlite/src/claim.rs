//! Leases due deliveries to a node, and returns them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gancho_domain::{DeliveryId, TenantId, Time};
use gancho_store::{
    Claim, ClaimResult, Claiming, Job, Lease, NodeId, Result, StoreError, TargetId,
    claim::UNREADABLE_DELAY,
};
use rusqlite::params;

use crate::{
    SqliteStore,
    rows::{self, JOB, PARCEL, seq},
    states::{LEASED, PENDING, sql},
    transaction::Tx,
    tx_error::TxError,
    walk::{Walk, WalkResult},
};

#[async_trait]
impl Claiming for SqliteStore {
    async fn claim(&self, claim: Claim) -> Result<ClaimResult> {
        self.write(move |tx| take_turns(tx, &claim)).await
    }

    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()> {
        self.write(move |tx| {
            let mut give_back = tx.db.prepare_cached(sql!(
                "UPDATE deliveries SET state = {PENDING}
                 WHERE seq = ?1 AND state = {LEASED} AND owner = ?2 AND tenant_id = ?3"
            ))?;
            for Lease { tenant, delivery, .. } in &leases {
                give_back.execute(params![seq(*delivery), node.0, tenant.bytes()])?;
            }
            tx.ring();
            Ok(())
        })
        .await
    }

    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool> {
        self.write(move |tx| {
            let mut mark = tx.db.prepare_cached(sql!(
                "UPDATE deliveries SET lost_leases = lost_leases + 1
                 WHERE seq = ?1 AND state = {LEASED} AND owner = ?2 AND tenant_id = ?3"
            ))?;
            Ok(mark.execute(params![seq(lease.delivery), node.0, lease.tenant.bytes()])? == 1)
        })
        .await
    }
}

fn take_turns(tx: &Tx<'_>, claim: &Claim) -> Result<ClaimResult, TxError> {
    let oldest = oldest_due(tx, claim)?;
    let mut basket = ClaimedBatch::new(tx, claim);
    if !oldest.is_all {
        basket.take_first()?;
    }
    let WalkResult { mut cursor, caught_up, ends_lap, left, far } = if oldest.is_all {
        Walk::over(&mut basket, &oldest.targets).go()?
    } else {
        Walk::new(&mut basket).go()?
    };
    // The walk continues with the next claim, but the deliveries that have been due for longest need not wait
    // for it.
    if far && !caught_up && basket.add(&oldest.targets)? {
        cursor.round = None;
    }
    let next_due = if caught_up { next_due(tx, claim)? } else { None };
    let jobs = basket.jobs;
    Ok(ClaimResult { jobs, cursor, more: !caught_up, caught_up, ends_lap, left, next_due })
}

/// The deliveries that a claim has leased so far.
pub(crate) struct ClaimedBatch<'a, 'db> {
    pub tx: &'a Tx<'db>,
    pub claim: &'a Claim,
    jobs: Vec<Job>,
    bytes: usize,
}

/// The deliveries leased from one target.
pub(crate) struct TargetLeases {
    pub count: usize,
    /// Whether more of the target is due.
    pub left: bool,
}

impl<'a, 'db> ClaimedBatch<'a, 'db> {
    fn new(tx: &'a Tx<'db>, claim: &'a Claim) -> Self {
        Self { tx, claim, jobs: Vec::new(), bytes: 0 }
    }

    pub fn is_full(&self) -> bool {
        self.jobs.len() >= self.claim.max
            || (!self.jobs.is_empty() && self.bytes >= self.claim.max_bytes)
    }

    /// Leases due deliveries of a target: its share, but at most `max`.
    pub fn take(
        &mut self,
        tenant: TenantId,
        target: TargetId,
        max: usize,
    ) -> Result<TargetLeases, TxError> {
        let room = self.claim.max - self.jobs.len();
        let max = self.claim.share(target).min(max).min(room);
        let mut due = self.tx.db.prepare_cached(&format!(
            "SELECT {JOB}, {PARCEL} FROM deliveries d INDEXED BY deliveries_pending
             JOIN parcels p ON p.seq = d.parcel
             WHERE d.state = {PENDING} AND d.lane = ?1 AND d.tenant_id = ?2 AND d.target_id = ?3
               AND d.due_at <= ?4
             ORDER BY d.due_at, d.seq LIMIT ?5"
        ))?;
        let mut found = due.query(params![
            self.claim.lane.number(),
            tenant.bytes(),
            target.bytes(),
            self.claim.now.micros(),
            // One more, to find out whether some are left.
            max as i64 + 1,
        ])?;
        let (mut taken, mut unreadable, mut left) = (Vec::new(), Vec::new(), false);
        while let Some(row) = found.next()? {
            if taken.len() == max || (self.bytes >= self.claim.max_bytes && self.bytes > 0) {
                left = true;
                break;
            }
            match rows::job(row) {
                Ok(job) => {
                    self.bytes += job.parcel.body.len();
                    taken.push(job);
                }
                Err(error) => unreadable.push((rows::id(row, 0)?, error)),
            }
        }
        for (delivery, error) in unreadable {
            put_off(self.tx, self.claim, tenant, delivery, error)?;
        }
        for job in &taken {
            lease(self.tx, self.claim.node, job)?;
        }
        let count = taken.len();
        self.jobs.extend(taken);
        Ok(TargetLeases { count, left })
    }

    /// Takes from the targets that come before the turns.
    fn take_first(&mut self) -> Result<(), TxError> {
        for &(tenant, target) in &self.claim.first {
            let room = self.claim.max_first().saturating_sub(self.jobs.len());
            let has_room = room > 0 && self.bytes <= self.claim.max_bytes / 2;
            if has_room && !self.claim.skip.covers(tenant, target) {
                self.take(tenant, target, room)?;
            }
        }
        Ok(())
    }

    /// Takes from these targets too, within the tenants' shares. Returns whether any of them has more.
    fn add(&mut self, targets: &BTreeSet<(TenantId, TargetId)>) -> Result<bool, TxError> {
        let skip = &self.claim.skip;
        let mut left = false;
        for &(tenant, target) in targets {
            if self.is_full() {
                break;
            }
            let (mut of_tenant, mut of_target) = (0, 0);
            for job in self.jobs.iter().filter(|job| job.tenant == tenant) {
                of_tenant += 1;
                of_target += usize::from(job.target == target);
            }
            let share = self.claim.per_tenant.max(1).saturating_sub(of_tenant);
            if share > 0 && of_target == 0 && !skip.covers(tenant, target) {
                left |= self.take(tenant, target, share)?.left;
            }
        }
        Ok(left)
    }
}

fn lease(tx: &Tx<'_>, node: NodeId, job: &Job) -> Result<(), TxError> {
    tx.db
        .prepare_cached(sql!("UPDATE deliveries SET state = {LEASED}, owner = ?1 WHERE seq = ?2"))?
        .execute(params![node.0, seq(job.delivery)])?;
    Ok(())
}

/// Postpones a delivery that cannot be read, so that it delays no other.
fn put_off(
    tx: &Tx<'_>,
    claim: &Claim,
    tenant: TenantId,
    delivery: DeliveryId,
    error: TxError,
) -> Result<(), TxError> {
    let error = StoreError::from(error);
    tracing::error!(%tenant, %delivery, %error, "delivery is unreadable; postponed");
    let due_at = (claim.now + UNREADABLE_DELAY).micros();
    tx.db
        .prepare_cached("UPDATE deliveries SET due_at = ?1 WHERE seq = ?2")?
        .execute(params![due_at, seq(delivery)])?;
    Ok(())
}

/// The targets whose deliveries have been due for longest.
struct LongestDue {
    targets: BTreeSet<(TenantId, TargetId)>,
    /// Whether no other target has due deliveries.
    is_all: bool,
}

/// Finds the deliveries that have been due for longest. Reads one more than can be taken.
fn oldest_due(tx: &Tx<'_>, claim: &Claim) -> Result<LongestDue, TxError> {
    let mut due = tx.db.prepare_cached(sql!(
        "SELECT tenant_id, target_id FROM deliveries INDEXED BY deliveries_due
         WHERE state = {PENDING} AND lane = ?1 AND due_at <= ?2 ORDER BY due_at LIMIT ?3"
    ))?;
    let max = claim.max as i64 + 1;
    let mut found = due.query(params![claim.lane.number(), claim.now.micros(), max])?;
    let mut targets = BTreeSet::new();
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        targets.insert((rows::id(row, 0)?, rows::id(row, 1)?));
    }
    Ok(LongestDue { targets, is_all: count <= claim.max })
}

fn next_due(tx: &Tx<'_>, claim: &Claim) -> Result<Option<Time>, TxError> {
    let next: Option<i64> = tx
        .db
        .prepare_cached(sql!(
            "SELECT min(due_at) FROM deliveries INDEXED BY deliveries_due
             WHERE state = {PENDING} AND lane = ?1 AND due_at > ?2"
        ))?
        .query_row(params![claim.lane.number(), claim.now.micros()], |row| row.get(0))?;
    Ok(next.map(Time::from_micros))
}
