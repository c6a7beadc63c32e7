//! Claims whose answers come late, or had more than there was room for. What they have leased comes with the next claim,
//! unless its tenant moves meanwhile.

use std::{collections::HashMap, time::Instant};

use gancho_domain::Lane;
use gancho_store::{ClaimResult, Claiming, Job, Lease, NodeId, Result};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{CellStore, cell::Cell};

/// Claims that were not answered in time, and answers that there was no room for.
#[derive(Default)]
pub(crate) struct LateClaims {
    /// By cell and lane.
    pub all: Mutex<HashMap<(u32, Lane), LateClaim>>,
}

pub(crate) struct LateClaim {
    /// The node's number in the cell.
    pub node: NodeId,
    /// A moment before it began.
    pub since: Instant,
    pub answer: LateAnswer,
}

pub(crate) enum LateAnswer {
    Awaited(oneshot::Receiver<Result<ClaimResult>>),
    /// What is left of it.
    Left(Box<ClaimResult>),
}

impl CellStore {
    /// Of what was claimed in a cell: deliveries of tenants that have moved since, or live in another cell.
    pub(crate) fn take_stale(&self, cell: &Cell, since: Instant, jobs: &mut Vec<Job>) -> Vec<Job> {
        let is_stale = |job: &Job| self.directory.has_left(job.tenant, cell.number, since);
        let (stale, rest) = std::mem::take(jobs).into_iter().partition(is_stale);
        *jobs = rest;
        stale
    }

    /// Releases what is leased under the node's number in the cell. Where the tenant has left, there is nothing to release.
    pub(crate) fn give_back(&self, cell: &Cell, number: NodeId, jobs: &[Job]) {
        let Ok(store) = cell.open_store() else { return };
        let leases: Vec<Lease> = jobs.iter().map(|job| (job.tenant, job.delivery).into()).collect();
        if leases.is_empty() {
            return;
        }
        let (name, stop) = (cell.name.clone(), self.stopping.clone());
        self.tasks.spawn(async move {
            let released = stop.run_until_cancelled(store.release(number, leases)).await;
            if let Some(Err(error)) = released {
                tracing::debug!(cell = name, %error, "could not release a late claim");
            }
        });
    }

    /// What was claimed late waits for the next claim, which may be long in coming. Tenants that are about to leave do not
    /// wait for it.
    pub(crate) fn release_late(&self) {
        let mut all = self.late_claims.all.lock();
        for cell in self.cells().iter() {
            for (_, late) in all.iter_mut().filter(|(key, _)| key.0 == cell.number) {
                late.poll_answer();
                let LateAnswer::Left(left) = &mut late.answer else { continue };
                let mut back = self.take_stale(cell, late.since, &mut left.jobs);
                let is_leaving = |job: &Job| self.directory.is_leaving(job.tenant);
                let (leaving, rest): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut left.jobs).into_iter().partition(is_leaving);
                left.jobs = rest;
                back.extend(leaving);
                self.give_back(cell, late.node, &back);
            }
        }
    }
}

impl LateClaim {
    /// Whether the answer is there. A failure waits for the next claim.
    fn poll_answer(&mut self) {
        let LateAnswer::Awaited(awaited) = &mut self.answer else { return };
        match awaited.try_recv() {
            Ok(Ok(claimed)) => self.answer = LateAnswer::Left(Box::new(claimed)),
            Ok(Err(error)) => {
                let (sender, receiver) = oneshot::channel();
                let _ = sender.send(Err(error));
                self.answer = LateAnswer::Awaited(receiver);
            }
            Err(_) => {}
        }
    }
}
