//! Handing due deliveries to a node: a walk over the targets that have some, a few from each.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gancho_domain::{DeliveryId, Id, Lane, TenantId, Time};
use gancho_store::{Claim, ClaimCursor, Claimed, Claiming, Job, NodeId, Result, TargetId};
use rusqlite::params;

use crate::{
    SqliteStore,
    fault::Fault,
    rows::{self, JOB, PARCEL, seq},
    transaction::Tx,
};

#[async_trait]
impl Claiming for SqliteStore {
    async fn claim(&self, claim: Claim) -> Result<Claimed> {
        self.write(move |tx| Walk::new(tx, &claim)?.go()).await
    }

    async fn release(&self, node: NodeId, deliveries: Vec<(TenantId, DeliveryId)>) -> Result<()> {
        self.write(move |tx| {
            let mut give_back = tx.db.prepare_cached(
                "UPDATE deliveries SET state = 2
                 WHERE seq = ?1 AND state = 3 AND owner = ?2 AND tenant_id = ?3",
            )?;
            for (tenant, delivery) in &deliveries {
                give_back.execute(params![seq(*delivery), node.0, tenant.bytes()])?;
            }
            tx.ring();
            Ok(())
        })
        .await
    }
}

/// A claim looks at no more targets than this; the next one goes on from there.
const MOST_LOOKS: usize = 1_000;

struct Walk<'a> {
    tx: &'a Tx<'a>,
    claim: &'a Claim,
    /// All targets with due work, where they are few; else the index is asked for each.
    few: Option<BTreeSet<(TenantId, TargetId)>>,
    cursor: ClaimCursor,
    jobs: Vec<Job>,
    bytes: usize,
    looks: usize,
    /// Something due was seen and left.
    left: bool,
}

impl<'a> Walk<'a> {
    fn new(tx: &'a Tx<'a>, claim: &'a Claim) -> Result<Self, Fault> {
        Ok(Self {
            tx,
            claim,
            few: few_due(tx, claim.lane, claim.now, claim.most)?,
            cursor: claim.cursor.clone(),
            jobs: Vec::new(),
            bytes: 0,
            looks: 0,
            left: false,
        })
    }

    fn go(mut self) -> Result<Claimed, Fault> {
        let nothing_due = self.few.as_ref().is_some_and(BTreeSet::is_empty);
        if !nothing_due && self.claim.most > 0 {
            self.round()?;
        }
        let more = self.left || self.is_full();
        let next_due = if more { None } else { next_due(self.tx, self.claim)? };
        Ok(Claimed { jobs: self.jobs, cursor: self.cursor, more, next_due })
    }

    /// Once around the tenants, beginning after the one that was served last.
    fn round(&mut self) -> Result<(), Fault> {
        let start = self.cursor.tenant;
        let mut after = start;
        let mut wrapped = start.is_none();
        while !self.is_full() {
            match self.next_tenant(after)? {
                // All the way round: the tenant where it began has its turn too, and it is the last.
                Some(tenant) if wrapped && start.is_some_and(|start| tenant > start) => break,
                Some(tenant) => {
                    after = Some(tenant);
                    if !self.claim.skip.tenants.contains(&tenant) {
                        self.serve(tenant)?;
                    }
                    // A tenant whose targets could not all be looked at comes first next time.
                    if self.looks < MOST_LOOKS {
                        self.cursor.tenant = Some(tenant);
                    }
                }
                None if wrapped => break,
                None => {
                    wrapped = true;
                    after = None;
                }
            }
        }
        Ok(())
    }

    /// A tenant's turn: once around its targets, as far as the turn goes.
    fn serve(&mut self, tenant: TenantId) -> Result<(), Fault> {
        let start = self.cursor.targets.remove(&tenant);
        let mut after = start;
        let mut wrapped = start.is_none();
        let mut turn = self.claim.per_tenant.max(1);
        loop {
            let target = match self.next_target(tenant, after)? {
                Some(target) if wrapped && start.is_some_and(|start| target > start) => break,
                Some(target) => target,
                None if wrapped => break,
                None => {
                    wrapped = true;
                    after = None;
                    continue;
                }
            };
            if turn == 0 || self.is_full() {
                // The rest has its turn when the round comes by again.
                self.left = true;
                if let Some(last) = after.or(start) {
                    self.cursor.targets.insert(tenant, last);
                }
                break;
            }
            after = Some(target);
            if !self.claim.skip.targets.contains(&target) {
                turn -= self.take(tenant, target, turn)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, tenant: TenantId, target: TargetId, turn: usize) -> Result<usize, Fault> {
        let room = self.claim.most - self.jobs.len();
        let most = self.claim.per_target.max(1).min(turn).min(room);
        let mut due = self.tx.db.prepare_cached(&format!(
            "SELECT {JOB}, {PARCEL} FROM deliveries d INDEXED BY deliveries_pending
             JOIN parcels p ON p.seq = d.parcel
             WHERE d.state = 2 AND d.lane = ?1 AND d.tenant_id = ?2 AND d.target_id = ?3
               AND d.due_at <= ?4
             ORDER BY d.due_at, d.seq LIMIT ?5"
        ))?;
        let mut found = due.query(params![
            self.claim.lane.number(),
            tenant.bytes(),
            target.bytes(),
            self.claim.now.micros(),
            // One more, to know whether some are left.
            most as i64 + 1,
        ])?;
        let mut taken = Vec::new();
        while let Some(row) = found.next()? {
            if taken.len() == most || (self.bytes >= self.claim.most_bytes && self.bytes > 0) {
                self.left = true;
                break;
            }
            let job = rows::job(row)?;
            self.bytes += job.parcel.body.len();
            taken.push(job);
        }
        for job in &taken {
            lease(self.tx, self.claim.node, job)?;
        }
        let count = taken.len();
        self.jobs.extend(taken);
        Ok(count)
    }

    fn is_full(&self) -> bool {
        self.jobs.len() >= self.claim.most
            || (!self.jobs.is_empty() && self.bytes >= self.claim.most_bytes)
            || self.looks >= MOST_LOOKS
    }

    /// The next tenant that has anything pending, due or not.
    fn next_tenant(&mut self, after: Option<TenantId>) -> Result<Option<TenantId>, Fault> {
        let after = match after {
            Some(tenant) => (tenant, Id::from_bits(u128::MAX)),
            None => (Id::from_bits(0), Id::from_bits(0)),
        };
        Ok(self.next_head(after)?.map(|head| head.tenant))
    }

    /// The tenant's next target that has something due.
    fn next_target(
        &mut self,
        tenant: TenantId,
        after: Option<TargetId>,
    ) -> Result<Option<TargetId>, Fault> {
        let mut after = (tenant, after.unwrap_or(Id::from_bits(0)));
        while self.looks < MOST_LOOKS {
            match self.next_head(after)? {
                Some(head) if head.tenant == tenant && head.due_at <= self.claim.now => {
                    return Ok(Some(head.target));
                }
                Some(head) if head.tenant == tenant => after = (tenant, head.target),
                _ => return Ok(None),
            }
        }
        // Looked far enough: the next claim goes on behind this target.
        self.left = true;
        self.cursor.targets.insert(tenant, after.1);
        Ok(None)
    }

    /// The first pending delivery of the next target.
    fn next_head(&mut self, after: (TenantId, TargetId)) -> Result<Option<Head>, Fault> {
        use std::ops::Bound::{Excluded, Unbounded};
        if let Some(few) = &self.few {
            let next = few.range((Excluded(after), Unbounded)).next();
            return Ok(next.map(|&(tenant, target)| Head {
                tenant,
                target,
                due_at: self.claim.now,
            }));
        }
        self.looks += 1;
        let mut next = self.tx.db.prepare_cached(
            "SELECT tenant_id, target_id, due_at FROM deliveries INDEXED BY deliveries_pending
             WHERE state = 2 AND lane = ?1 AND (tenant_id, target_id) > (?2, ?3)
             ORDER BY tenant_id, target_id, due_at LIMIT 1",
        )?;
        let lane = self.claim.lane.number();
        let mut found = next.query(params![lane, after.0.bytes(), after.1.bytes()])?;
        match found.next()? {
            Some(row) => Ok(Some(Head {
                tenant: rows::id(row, 0)?,
                target: rows::id(row, 1)?,
                due_at: rows::time(row, 2)?,
            })),
            None => Ok(None),
        }
    }
}

struct Head {
    tenant: TenantId,
    target: TargetId,
    due_at: Time,
}

fn lease(tx: &Tx<'_>, node: NodeId, job: &Job) -> Result<(), Fault> {
    tx.db
        .prepare_cached("UPDATE deliveries SET state = 3, owner = ?1 WHERE seq = ?2")?
        .execute(params![node.0, seq(job.delivery)])?;
    Ok(())
}

/// The targets with due work, if no more than `most` deliveries are due; nothing if there are more.
fn few_due(
    tx: &Tx<'_>,
    lane: Lane,
    now: Time,
    most: usize,
) -> Result<Option<BTreeSet<(TenantId, TargetId)>>, Fault> {
    let mut due = tx.db.prepare_cached(
        "SELECT tenant_id, target_id FROM deliveries INDEXED BY deliveries_due
         WHERE state = 2 AND lane = ?1 AND due_at <= ?2 LIMIT ?3",
    )?;
    let mut found = due.query(params![lane.number(), now.micros(), most as i64 + 1])?;
    let mut targets = BTreeSet::new();
    let mut count = 0;
    while let Some(row) = found.next()? {
        count += 1;
        targets.insert((rows::id(row, 0)?, rows::id(row, 1)?));
    }
    Ok((count <= most).then_some(targets))
}

fn next_due(tx: &Tx<'_>, claim: &Claim) -> Result<Option<Time>, Fault> {
    let next: Option<i64> = tx
        .db
        .prepare_cached(
            "SELECT min(due_at) FROM deliveries INDEXED BY deliveries_due
             WHERE state = 2 AND lane = ?1 AND due_at > ?2",
        )?
        .query_row(params![claim.lane.number(), claim.now.micros()], |row| row.get(0))?;
    Ok(next.map(Time::from_micros))
}
