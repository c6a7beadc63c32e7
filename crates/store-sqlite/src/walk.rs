//! The turns of a claim: once around the tenants, and in each tenant's turn once around its targets.
//!
//! **Invariant.** However many tenants and targets there are, a claim scans at most [`MAX_SCANNED`] targets,
//! and the next claim continues after the last of them. So each target is scanned within a bounded number of
//! claims, whatever the others have.

use std::{
    collections::BTreeSet,
    ops::Bound::{Excluded, Unbounded},
};

use gancho_domain::{Id, Lane, TenantId, Time};
use gancho_store::{ClaimCursor, ClaimProgress, ClaimRound, ClaimTurn, TargetId};
use rusqlite::{Connection, ToSql, params};

use crate::{
    claim::ClaimedBatch,
    rows,
    states::{PENDING, sql},
    tx_error::TxError,
};

const MAX_SCANNED: usize = 1_000;

type Key = (TenantId, TargetId);

pub(crate) struct Walk<'w, 'a, 'db> {
    basket: &'w mut ClaimedBatch<'a, 'db>,
    /// The targets with due deliveries, if all of them are known; otherwise the index is read.
    known: Option<&'w BTreeSet<Key>>,
    cursor: ClaimCursor,
    progress: ClaimProgress,
    budget: usize,
    /// The last result of the index, which is valid for every key between the two.
    last: Option<(Key, Option<FirstPending>)>,
}

/// The first pending delivery of a target.
#[derive(Clone, Copy)]
pub(crate) struct FirstPending {
    pub key: Key,
    due_at: Time,
}

pub(crate) struct WalkResult {
    /// Where the next claim continues.
    pub cursor: ClaimCursor,
    /// Whether a whole round has left nothing due.
    pub caught_up: bool,
    pub ends_lap: bool,
    pub left: BTreeSet<TenantId>,
    /// Whether the walk ended because it had scanned the maximum number of targets.
    pub far: bool,
}

#[derive(PartialEq, Eq)]
enum TurnEnd {
    Ended,
    /// The claim has scanned the maximum number of targets.
    Interrupted,
}

impl<'w, 'a, 'db> Walk<'w, 'a, 'db> {
    /// Starts a walk over every target with pending deliveries, which continues where the last one stopped.
    pub fn new(basket: &'w mut ClaimedBatch<'a, 'db>) -> Self {
        let mut cursor = basket.claim.cursor.clone();
        let progress = ClaimProgress::resume(&mut cursor);
        Self { basket, known: None, cursor, progress, budget: 0, last: None }
    }

    /// Starts a walk over these targets, which are all that have due deliveries.
    pub fn over(basket: &'w mut ClaimedBatch<'a, 'db>, targets: &'w BTreeSet<Key>) -> Self {
        let mut cursor = basket.claim.cursor.clone();
        if let Some(ClaimTurn { tenant, at: Some(at), .. }) = cursor.turn.take() {
            cursor.targets.insert(tenant, at);
        }
        let mut progress = ClaimProgress::resume(&mut cursor);
        progress.round = ClaimRound::after(cursor.tenant);
        Self { basket, known: Some(targets), cursor, progress, budget: 0, last: None }
    }

    /// Walks at most once around the tenants.
    pub fn go(mut self) -> Result<WalkResult, TxError> {
        self.walk()?;
        let caught_up = self.progress.is_caught_up();
        let unfinished = !caught_up && self.known.is_none();
        self.cursor.round = unfinished.then_some(self.progress.round);
        let ends_lap = self.progress.end_lap(&mut self.cursor);
        let far = self.budget >= MAX_SCANNED;
        let left = self.progress.left;
        Ok(WalkResult { cursor: self.cursor, caught_up, ends_lap, left, far })
    }

    fn walk(&mut self) -> Result<(), TxError> {
        let start = self.cursor.tenant;
        let mut wrapped = start.is_none();
        if let Some(turn) = self.cursor.turn.take()
            && self.serve(turn)? == TurnEnd::Interrupted
        {
            return Ok(());
        }
        while !self.basket.is_full() && self.budget < MAX_SCANNED && !self.progress.is_caught_up() {
            let after = self.cursor.tenant.map(|tenant| (tenant, Id::from_bits(u128::MAX)));
            match self.next_head(after)?.map(|head| head.key.0) {
                // A whole round: the tenant at which it began has had its turn too.
                Some(tenant) if wrapped && start.is_some_and(|start| tenant > start) => {
                    if let Some(start) = start {
                        self.progress.reach(start);
                    }
                    return Ok(());
                }
                Some(tenant) => {
                    let from = self.cursor.targets.remove(&tenant);
                    if self.serve(ClaimTurn::after(tenant, from))? == TurnEnd::Interrupted {
                        return Ok(());
                    }
                }
                None => {
                    self.progress.wrap();
                    self.cursor.tenant = None;
                    if wrapped {
                        return Ok(());
                    }
                    wrapped = true;
                }
            }
        }
        Ok(())
    }

    /// Serves a tenant's turn: once around its targets, within its share.
    fn serve(&mut self, mut turn: ClaimTurn) -> Result<TurnEnd, TxError> {
        let tenant = turn.tenant;
        let claim = self.basket.claim;
        let mut share = claim.per_tenant.max(1);
        while !claim.skip.tenants.contains(&tenant) {
            if share == 0 || self.basket.is_full() {
                // The rest of the tenant's targets is served in the next round.
                self.progress.leave(tenant);
                self.cursor.targets.extend(turn.at.map(|at| (tenant, at)));
                break;
            }
            if self.budget >= MAX_SCANNED {
                self.cursor.turn = Some(turn);
                return Ok(TurnEnd::Interrupted);
            }
            let after = (tenant, turn.at.unwrap_or(Id::from_bits(0)));
            let head = self.next_head(Some(after))?.filter(|head| head.key.0 == tenant);
            let Some(FirstPending { key: (_, target), due_at }) = head else {
                if turn.wrapped {
                    break;
                }
                (turn.wrapped, turn.at) = (true, None);
                continue;
            };
            if turn.ends_before(target) {
                break;
            }
            turn.at = Some(target);
            if due_at <= claim.now && !claim.skip.targets.contains(&target) {
                let taken = self.basket.take(tenant, target, share)?;
                share -= taken.count;
                if taken.left {
                    self.progress.leave(tenant);
                }
            }
        }
        self.cursor.tenant = Some(tenant);
        self.progress.reach(tenant);
        Ok(TurnEnd::Ended)
    }

    /// Returns the next target with pending deliveries, due or not.
    fn next_head(&mut self, after: Option<Key>) -> Result<Option<FirstPending>, TxError> {
        let after = after.unwrap_or((Id::from_bits(0), Id::from_bits(0)));
        if let Some(known) = self.known {
            let next = known.range((Excluded(after), Unbounded)).next();
            return Ok(next.map(|&key| FirstPending { key, due_at: self.basket.claim.now }));
        }
        if let Some((from, head)) = self.last
            && from <= after
            && head.is_none_or(|head| after < head.key)
        {
            return Ok(head);
        }
        self.budget += 1;
        let head = next_target(self.basket.tx.db, self.basket.claim.lane, after)?;
        self.last = Some((after, head));
        Ok(head)
    }
}

/// Returns the first target after this one that has pending deliveries in the lane. The cost does not depend
/// on how many each has. Comparing both columns at once would read all deliveries of the first target.
pub(crate) fn next_target(
    db: &Connection,
    lane: Lane,
    (tenant, target): Key,
) -> Result<Option<FirstPending>, TxError> {
    let (lane, tenant) = (lane.number(), tenant.bytes());
    let of_tenant = head(
        db,
        sql!(
            "SELECT tenant_id, target_id, due_at FROM deliveries INDEXED BY deliveries_pending
             WHERE state = {PENDING} AND lane = ?1 AND tenant_id = ?2 AND target_id > ?3
             ORDER BY target_id, due_at LIMIT 1"
        ),
        params![lane, tenant, target.bytes()],
    )?;
    if of_tenant.is_some() {
        return Ok(of_tenant);
    }
    head(
        db,
        sql!(
            "SELECT tenant_id, target_id, due_at FROM deliveries INDEXED BY deliveries_pending
             WHERE state = {PENDING} AND lane = ?1 AND tenant_id > ?2
             ORDER BY tenant_id, target_id, due_at LIMIT 1"
        ),
        params![lane, tenant],
    )
}

fn head(
    db: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> Result<Option<FirstPending>, TxError> {
    let mut next = db.prepare_cached(sql)?;
    let mut found = next.query(values)?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some(FirstPending {
        key: (rows::id(row, 0)?, rows::id(row, 1)?),
        due_at: rows::time(row, 2)?,
    }))
}
