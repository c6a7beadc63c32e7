//! Where callers queue, and how much of it a committer takes at a time.

mod waiting;

use std::{
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

pub(crate) use self::waiting::Transaction;
use self::waiting::{MAX_ROWS, Waiting};

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
    waiting: Mutex<Waiting>,
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
        match self.call(Work::Accept(parcels, holder)).await? {
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
        self.0.waiting.lock().push(Call { work, reply, rows, bytes });
        self.0.came.notify_one();
        let stopped = |_| Err(StoreError::Broken("the committer stopped".to_owned()));
        let (answer, mut guard) = answer.await.unwrap_or_else(stopped)?;
        // Nothing is awaited any more: the caller has it.
        guard.clear();
        Ok(answer)
    }

    /// For a committer: what fits into one transaction, at least one call.
    pub(crate) async fn next(&self) -> Transaction {
        loop {
            let came = self.0.came.notified();
            let mut next = Transaction::default();
            self.take(&mut next);
            if !next.calls.is_empty() {
                return next;
            }
            self.0.idle.fetch_add(1, Ordering::Relaxed);
            came.await;
            self.0.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// For a committer that is kept busy: waits a moment until there are a few.
    pub(crate) async fn gather(&self, next: &mut Transaction) {
        let end = Instant::now() + MOMENT;
        while next.rows() < FEW_ROWS {
            if timeout_at(end, self.0.came.notified()).await.is_err() {
                return;
            }
            self.take(next);
            if !self.is_empty() {
                // What comes next does not fit.
                return;
            }
        }
    }

    /// Adds what still fits. Where other committers have nothing to do, they get their share: one
    /// prepares its batch while another waits for the disk.
    fn take(&self, next: &mut Transaction) {
        let mut waiting = self.0.waiting.lock();
        let idle = self.0.idle.load(Ordering::Relaxed);
        let share = (next.rows() + waiting.rows()).div_ceil(idle + 1);
        waiting.take(next, share.clamp(FEW_ROWS, MAX_ROWS));
        if !waiting.is_empty() {
            // For another committer.
            self.0.came.notify_one();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.waiting.lock().is_empty()
    }
}

pub(crate) fn mixed_up() -> StoreError {
    StoreError::Broken("an answer went to the wrong caller".to_owned())
}
