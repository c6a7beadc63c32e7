//! Claiming: the cells have their turns. A claim asks one cell first, and the others in turn while there is room; the
//! next claim begins with the next cell. Within a cell the round goes over its tenants as ever.
//!
//! A cell that takes long for its answer is not waited for: the others are asked meanwhile, and what it has leased comes
//! with the next claim. So a cell that is slow, or hangs, delays nobody's deliveries but its own.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use gancho_store::{
    Claim, ClaimCursor, ClaimParts, ClaimResult, ClaimRound, Claiming, Lease, NodeId, Result,
    StoreError,
};
use tokio::sync::oneshot;

use crate::{
    CellStore,
    accept::{asked_at, in_parts},
    at_home,
    cell::Cell,
    late_claims::{LateAnswer, LateClaim},
};

/// What a cell has to say to a claim.
enum ClaimAnswer {
    Claimed(Box<ClaimResult>),
    /// There is no room for more.
    NoRoom,
    /// It has not answered yet.
    Pending,
}

#[async_trait]
impl Claiming for CellStore {
    async fn claim(&self, mut claim: Claim) -> Result<ClaimResult> {
        if self.is_alone() {
            claim.node = self.number_in(&self.home, claim.node);
            return at_home!(self, |store| store.claim(claim));
        }
        let mut round = CrossCellClaim::begin(claim);
        let cells = self.cells();
        let begin = cells.iter().position(|cell| cell.number > round.claim.cursor.parts.first);
        let (before, after) = cells.split_at(begin.unwrap_or(0));
        let mut pending = Vec::new();
        for cell in after.iter().chain(before) {
            let outcome = self.claim_in(cell, &round, Duration::ZERO).await;
            if matches!(outcome, Ok(ClaimAnswer::Pending)) {
                pending.push(cell);
            }
            round.note(cell, outcome);
        }
        // Only where nothing else is to be done.
        if let Some(cell) = pending.first().filter(|_| round.result.jobs.is_empty()) {
            let outcome = self.claim_in(cell, &round, self.setup.claim_wait).await;
            round.note(cell, outcome);
        }
        cells.iter().for_each(|cell| round.note_lap(cell));
        round.end()
    }

    async fn release(&self, node: NodeId, leases: Vec<Lease>) -> Result<()> {
        let parts = self.by_cell(leases, |one| one.tenant).await?;
        in_parts(parts, |cell, mut leases| async move {
            let store = cell.store()?;
            let count = leases.len();
            let number = self.number_in(&cell, node);
            leases.retain(|one| !self.has_lost(&cell, node, one.tenant, one.since));
            cell.noted(store.release(number, leases).await)?;
            Ok(vec![(); count])
        })
        .await
        .map(drop)
    }

    async fn note_attempt(&self, node: NodeId, lease: Lease) -> Result<bool> {
        let cell = self.cell_of(lease.tenant).await?;
        let store = cell.store()?;
        let number = self.number_in(&cell, node);
        if self.has_lost(&cell, node, lease.tenant, lease.since) {
            return Ok(false);
        }
        cell.call(store.note_attempt(number, lease)).await
    }
}

impl CellStore {
    /// Claims from one cell, or takes the answer to an earlier claim.
    async fn claim_in(
        &self,
        cell: &Cell,
        round: &CrossCellClaim,
        for_late: Duration,
    ) -> Result<ClaimAnswer> {
        if !round.has_room() {
            return Ok(ClaimAnswer::NoRoom);
        }
        let key = (cell.number, round.claim.lane);
        let late = self.late_claims.all.lock().remove(&key);
        let (node, since, mut awaited, wait) = match late {
            Some(LateClaim { node, since, answer: LateAnswer::Left(left) }) => {
                return Ok(self.claimed(cell, round, (node, since), *left));
            }
            Some(LateClaim { node, since, answer: LateAnswer::Awaited(awaited) }) => {
                (node, since, awaited, for_late)
            }
            None => {
                let since = Instant::now();
                let node = self.number_to_claim(cell, round.claim.node)?;
                if self.has_rejoined(cell, round.claim.node, round.begin) {
                    return Ok(ClaimAnswer::Pending);
                }
                let mut part = round.part(cell.number, node);
                self.leave_out_moving(cell, &mut part, asked_at(round.begin));
                (node, since, self.start_claim(cell, part)?, self.setup.claim_wait)
            }
        };
        match tokio::time::timeout(wait, &mut awaited).await {
            Ok(Ok(claimed)) => Ok(self.claimed(cell, round, (node, since), cell.noted(claimed)?)),
            // The store is closing.
            Ok(Err(_)) => Err(StoreError::Unavailable("the claim was given up".into())),
            Err(_) => {
                let late = LateClaim { node, since, answer: LateAnswer::Awaited(awaited) };
                self.late_claims.all.lock().insert(key, late);
                Ok(ClaimAnswer::Pending)
            }
        }
    }

    /// What is copied to another cell is claimed in one of them alone.
    fn leave_out_moving(&self, cell: &Cell, claim: &mut Claim, since: Instant) {
        let moving = self.directory.not_to_claim(cell.number, since);
        if !moving.is_empty() {
            Arc::make_mut(&mut claim.skip).tenants.extend(moving);
        }
    }

    /// A claim that goes on without its caller. If the store is closed meanwhile, what it leases is released.
    fn start_claim(
        &self,
        cell: &Cell,
        claim: Claim,
    ) -> Result<oneshot::Receiver<Result<ClaimResult>>> {
        let store = cell.store()?;
        let (sender, receiver) = oneshot::channel();
        let (stop, bell) = (self.stopping.clone(), self.bell.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                claimed = store.claim(claim) => {
                    let has_jobs = claimed.as_ref().is_ok_and(|claimed| !claimed.jobs.is_empty());
                    let _ = sender.send(claimed);
                    if has_jobs {
                        bell.notify_one();
                    }
                }
            }
        });
        Ok(receiver)
    }

    /// As much of an answer as there is room for; the rest waits for the next claim.
    fn claimed(
        &self,
        cell: &Cell,
        round: &CrossCellClaim,
        (node, since): (NodeId, Instant),
        mut claimed: ClaimResult,
    ) -> ClaimAnswer {
        // What it was claimed under may be another's by now.
        if self.number_in(cell, round.claim.node) != node {
            return ClaimAnswer::Pending;
        }
        let stale = self.take_stale(cell, since, &mut claimed.jobs);
        self.give_back(cell, node, &stale);
        if claimed.jobs.len() > round.claim.max {
            let jobs = claimed.jobs.split_off(round.claim.max);
            let (cursor, left) = (claimed.cursor.clone(), claimed.left.clone());
            claimed.left.extend(jobs.iter().map(|job| job.tenant));
            let left = ClaimResult { jobs, cursor, left, ..claimed };
            (claimed.caught_up, claimed.ends_lap) = (false, false);
            let late = LateClaim { node, since, answer: LateAnswer::Left(Box::new(left)) };
            self.late_claims.all.lock().insert((cell.number, round.claim.lane), late);
        }
        ClaimAnswer::Claimed(Box::new(claimed))
    }
}

/// One claim over all cells.
struct CrossCellClaim {
    /// The caller takes all that it gets as leased then: what cannot have been waits for a later claim.
    begin: Instant,
    /// With what room is left.
    claim: Claim,
    result: ClaimResult,
    /// Cells that were not asked, have more, or have not answered yet.
    unfinished: BTreeSet<u32>,
    /// A cell has answered, or will.
    is_answered: bool,
    failure: Option<StoreError>,
}

impl CrossCellClaim {
    fn begin(mut claim: Claim) -> Self {
        let cursor = &mut claim.cursor;
        // Setting back the round sets back that of every cell.
        if cursor.round.is_none() {
            cursor.parts.caught_up.clear();
            cursor.parts.cursors.values_mut().for_each(|part| part.round = None);
        }
        let result = ClaimResult {
            jobs: Vec::new(),
            cursor: ClaimCursor::default(),
            more: false,
            caught_up: false,
            ends_lap: true,
            left: BTreeSet::new(),
            next_due: None,
        };
        let unfinished = BTreeSet::new();
        Self { begin: Instant::now(), claim, result, unfinished, is_answered: false, failure: None }
    }

    fn has_room(&self) -> bool {
        self.claim.max > 0 && (self.claim.max_bytes > 0 || self.result.jobs.is_empty())
    }

    /// The claim for one cell.
    fn part(&self, cell: u32, node: NodeId) -> Claim {
        let cursor = &self.claim.cursor;
        let whole = || ClaimCursor { parts: ClaimParts::default(), ..cursor.clone() };
        let cursor = cursor.parts.cursors.get(&cell).cloned().unwrap_or_else(whole);
        Claim { node, cursor, ..self.claim.clone() }
    }

    fn note(&mut self, cell: &Cell, outcome: Result<ClaimAnswer>) {
        let is_first = !self.is_answered;
        self.is_answered |= outcome.is_ok();
        self.unfinished.remove(&cell.number);
        match outcome {
            Ok(ClaimAnswer::Claimed(claimed)) => {
                if is_first {
                    self.claim.cursor.parts.first = cell.number;
                }
                self.add(cell.number, *claimed);
            }
            Ok(ClaimAnswer::NoRoom) => {
                if !self.claim.cursor.parts.caught_up.contains(&cell.number) {
                    self.unfinished.insert(cell.number);
                }
            }
            Ok(ClaimAnswer::Pending) => {
                self.claim.cursor.parts.caught_up.remove(&cell.number);
                // Nobody waits for one that hangs.
                if cell.trouble().is_none() {
                    self.unfinished.insert(cell.number);
                }
            }
            Err(error) => {
                self.claim.cursor.parts.caught_up.remove(&cell.number);
                self.failure = Some(error);
            }
        }
    }

    /// Of a lap over all of them, a cell in trouble is left out.
    fn note_lap(&mut self, cell: &Cell) {
        let has_ended = self.claim.cursor.parts.laps.contains(&cell.number);
        self.result.ends_lap &= has_ended || cell.trouble().is_some();
    }

    fn add(&mut self, cell: u32, claimed: ClaimResult) {
        let bytes: usize = claimed.jobs.iter().map(|job| job.parcel.body.len()).sum();
        self.claim.max = self.claim.max.saturating_sub(claimed.jobs.len());
        self.claim.max_bytes = self.claim.max_bytes.saturating_sub(bytes);
        self.result.jobs.extend(claimed.jobs);
        self.result.left.extend(claimed.left);
        let parts = &mut self.claim.cursor.parts;
        if claimed.ends_lap {
            parts.laps.insert(cell);
        }
        parts.cursors.insert(cell, claimed.cursor);
        if claimed.caught_up {
            parts.caught_up.insert(cell);
        } else {
            parts.caught_up.remove(&cell);
            self.unfinished.insert(cell);
        }
        let due = [self.result.next_due, claimed.next_due];
        self.result.next_due = due.into_iter().flatten().min();
    }

    /// Fails if no cell has answered.
    fn end(mut self) -> Result<ClaimResult> {
        if let Some(error) = self.failure.filter(|_| !self.is_answered) {
            return Err(error);
        }
        let mut parts = self.claim.cursor.parts;
        if self.result.ends_lap {
            parts.laps.clear();
        }
        let caught_up = self.unfinished.is_empty();
        if caught_up {
            parts.caught_up.clear();
            parts.cursors.values_mut().for_each(|part| part.round = None);
        } else {
            self.result.next_due = None;
        }
        // `Some` means that the round is not complete.
        let round = (!caught_up).then(|| ClaimRound::after(None));
        self.result.cursor = ClaimCursor { round, parts, ..ClaimCursor::default() };
        Ok(ClaimResult { more: !caught_up, caught_up, ..self.result })
    }
}
