//! Where callers queue, and how much of it a committer takes at a time.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gancho_domain::{DeliveryId, TenantId, TenantScope};
use gancho_store::{
    AcceptOutcome, NewEmailReport, NewParcel, NodeId, Result, SettleOutcome, Settlement, StoreError,
};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout_at},
};

use crate::{
    batch::{Answer, Work},
    orphaned_leases::LeaseGuard,
};

/// A transaction takes no more than this, unless one call alone is larger.
const MAX_ROWS: usize = 1_024;
const MAX_BYTES: usize = 8 << 20;
/// Below this number of rows, a busy committer waits a moment for more.
const FEW_ROWS: usize = 128;
const MOMENT: Duration = Duration::from_millis(1);

/// One caller's work, and where its answer goes.
pub(crate) struct Call {
    pub work: Work,
    pub reply: oneshot::Sender<Result<(Answer, LeaseGuard)>>,
    rows: usize,
    bytes: usize,
}

/// Where callers queue.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<CallQueue>);

#[derive(Default)]
struct CallQueue {
    calls: Mutex<VecDeque<Call>>,
    came: Notify,
    /// Committers that wait.
    idle: AtomicUsize,
}

impl Queue {
    pub(crate) async fn accept(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        self.accepted(Work::Accept(parcels, holder)).await
    }

    pub(crate) async fn accept_intake(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        self.accepted(Work::AcceptIntake(parcels, holder)).await
    }

    async fn accepted(&self, work: Work) -> Result<Vec<AcceptOutcome>> {
        match self.call(work).await? {
            Answer::Accepted(answers) => Ok(answers),
            Answer::Settled(_) | Answer::Released => Err(mixed_up()),
        }
    }

    pub(crate) async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        match self.call(Work::Settle(node, settlements)).await? {
            Answer::Settled(answers) => Ok(answers),
            Answer::Accepted(_) | Answer::Released => Err(mixed_up()),
        }
    }

    pub(crate) async fn release(
        &self,
        node: NodeId,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<()> {
        match self.call(Work::Release((node, deliveries))).await? {
            Answer::Released => Ok(()),
            Answer::Accepted(_) | Answer::Settled(_) => Err(mixed_up()),
        }
    }

    pub(crate) async fn report(
        &self,
        scope: TenantScope,
        new: NewEmailReport,
    ) -> Result<AcceptOutcome> {
        match self.call(Work::Report(scope, Box::new(new))).await? {
            Answer::Accepted(mut answers) => answers.pop().ok_or_else(mixed_up),
            Answer::Settled(_) | Answer::Released => Err(mixed_up()),
        }
    }

    async fn call(&self, work: Work) -> Result<Answer> {
        let (reply, answer) = oneshot::channel();
        let (rows, bytes) = work.size();
        self.0.calls.lock().push_back(Call { work, reply, rows, bytes });
        self.0.came.notify_one();
        let stopped = |_| Err(StoreError::Broken("the committer stopped".to_owned()));
        let (answer, mut guard) = answer.await.unwrap_or_else(stopped)?;
        // Nothing is awaited any more: the caller has it.
        guard.clear();
        Ok(answer)
    }

    /// For a committer: what fits into one transaction, at least one call.
    pub(crate) async fn next(&self) -> Vec<Call> {
        loop {
            let came = self.0.came.notified();
            let mut calls = Vec::new();
            self.take(&mut calls);
            if !calls.is_empty() {
                return calls;
            }
            self.0.idle.fetch_add(1, Ordering::Relaxed);
            came.await;
            self.0.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// For a committer that is kept busy: waits a moment until there are a few.
    pub(crate) async fn gather(&self, calls: &mut Vec<Call>) {
        let end = Instant::now() + MOMENT;
        while rows_of(&*calls) < FEW_ROWS {
            if timeout_at(end, self.0.came.notified()).await.is_err() {
                return;
            }
            self.take(calls);
            if !self.is_empty() {
                // What comes next does not fit.
                return;
            }
        }
    }

    /// Adds what still fits. Where other committers have nothing to do, they get their share: one
    /// prepares its batch while another waits for the disk.
    fn take(&self, taken: &mut Vec<Call>) {
        let mut calls = self.0.calls.lock();
        let mut rows = rows_of(&*taken);
        let mut bytes: usize = taken.iter().map(|call| call.bytes).sum();
        let idle = self.0.idle.load(Ordering::Relaxed);
        let share = (rows + rows_of(&*calls)).div_ceil(idle + 1);
        let max = share.clamp(FEW_ROWS, MAX_ROWS);
        while let Some(next) = calls.front() {
            rows += next.rows;
            bytes += next.bytes;
            if !taken.is_empty() && (rows > max || bytes > MAX_BYTES) {
                break;
            }
            taken.extend(calls.pop_front());
        }
        if !calls.is_empty() {
            // For another committer.
            self.0.came.notify_one();
        }
    }

    /// The server cannot be reached: answers everyone who waits.
    pub(crate) fn refuse(&self, error: &StoreError) {
        for call in std::mem::take(&mut *self.0.calls.lock()) {
            let _ = call.reply.send(Err(error.clone()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.calls.lock().is_empty()
    }
}

fn rows_of<'a>(calls: impl IntoIterator<Item = &'a Call>) -> usize {
    calls.into_iter().map(|call| call.rows).sum()
}

pub(crate) fn mixed_up() -> StoreError {
    StoreError::Broken("an answer went to the wrong caller".to_owned())
}
