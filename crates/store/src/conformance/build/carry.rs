//! Claims due deliveries and settles their results.

use std::sync::Arc;

use gancho_domain::{Lane, Time};

use super::{DONE, World, delivered, given_up, timeout, tried_again};
use crate::{
    Claim, ClaimCursor, ClaimExclusions, ClaimResult, Job, SettleOutcome, Settlement,
    conformance::Fixture,
};

impl<F: Fixture> World<F> {
    /// Returns a claim of webhooks with room for everything that a case has.
    pub fn claim(&self) -> Claim {
        Claim {
            node: self.node,
            lane: Lane::Webhook,
            now: self.now(),
            max: 1_000,
            max_bytes: 64 << 20,
            per_target: 1_000,
            per_proven: 1_000,
            per_tenant: 1_000,
            proven: Arc::default(),
            skip: Arc::new(ClaimExclusions::default()),
            first: Vec::new(),
            cursor: ClaimCursor::default(),
        }
    }

    pub async fn take(&self, claim: Claim) -> ClaimResult {
        self.store.claim(claim).await.unwrap()
    }

    /// Claims until nothing more is due; each claim continues where the one before stopped. Returns all jobs
    /// and the last claim.
    pub async fn take_until_done(&self, mut claim: Claim) -> (Vec<Job>, ClaimResult) {
        let mut jobs = Vec::new();
        for _ in 0..1_000 {
            let mut claimed = self.take(claim.clone()).await;
            jobs.append(&mut claimed.jobs);
            if !claimed.more {
                return (jobs, claimed);
            }
            claim.cursor = claimed.cursor;
        }
        panic!("more is said to be due for ever");
    }

    pub async fn take_all(&self) -> Vec<Job> {
        self.take_until_done(self.claim()).await.0
    }

    pub async fn take_one(&self) -> Job {
        let mut jobs = self.take_all().await;
        assert_eq!(jobs.len(), 1, "one delivery is due: {jobs:?}");
        jobs.remove(0)
    }

    pub async fn nothing_is_due(&self) {
        let jobs = self.take_all().await;
        assert!(jobs.is_empty(), "nothing is due: {jobs:?}");
    }

    pub async fn settle(&self, settlement: Settlement) -> SettleOutcome {
        let mut settled = self.store.settle(self.node, vec![settlement]).await.unwrap();
        assert_eq!(settled.len(), 1, "one answer for each settlement");
        settled.remove(0)
    }

    pub async fn deliver(&self, job: &Job) {
        let settled = self.settle(delivered(job, self.now())).await;
        assert_eq!(settled, DONE);
    }

    pub async fn retry_at(&self, job: &Job, due_at: Time) {
        let settled = self.settle(tried_again(job, self.now(), due_at)).await;
        assert_eq!(settled, DONE);
    }

    pub async fn give_up(&self, job: &Job) {
        let settled = self.settle(given_up(job, self.now(), timeout())).await;
        assert_eq!(settled, DONE);
    }
}
