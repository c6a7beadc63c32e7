//! The queue of callers, and how much of it a committer takes at a time.
//!
//! Calls with large bodies have a separate queue and never share a transaction with others, and one committer
//! at a time runs them: a small event does not wait until another tenant's megabytes are compressed and
//! written.

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
    batch::{CallResult, WriteCall},
    orphaned_leases::LeaseGuard,
};

/// Maximum rows of a transaction, unless one call alone has more.
const MAX_ROWS: usize = 1_024;
const MAX_BYTES: usize = 2 << 20;
/// A call with larger bodies is heavy.
const HEAVY: usize = 256 << 10;
/// A busy committer with fewer rows than this waits a moment for more.
const FEW_ROWS: usize = 128;
const MOMENT: Duration = Duration::from_millis(1);

/// One caller's work, and where its answer is sent.
pub(crate) struct Call {
    pub work: WriteCall,
    pub reply: oneshot::Sender<Result<(CallResult, LeaseGuard)>>,
    rows: usize,
    bytes: usize,
}

/// The queue of callers.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<CallQueue>);

#[derive(Default)]
struct CallQueue {
    calls: Mutex<WaitingCalls>,
    came: Notify,
    /// The number of waiting committers.
    idle: AtomicUsize,
}

#[derive(Default)]
struct WaitingCalls {
    light: VecDeque<Call>,
    heavy: VecDeque<Call>,
    /// Whether a committer runs heavy calls now.
    heavy_is_out: bool,
    /// What was taken last, so that a single committer serves both kinds in turn.
    last_was_heavy: bool,
}

impl WaitingCalls {
    fn may_take_heavy(&self) -> bool {
        !self.heavy.is_empty() && !self.heavy_is_out
    }

    fn has_work(&self) -> bool {
        !self.light.is_empty() || self.may_take_heavy()
    }
}

/// The calls that a committer runs in one transaction.
pub(crate) struct Batch {
    pub calls: Vec<Call>,
    is_heavy: bool,
    queue: Queue,
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.is_heavy {
            self.queue.0.calls.lock().heavy_is_out = false;
        }
    }
}

impl Queue {
    pub(crate) async fn accept(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        self.accepted(WriteCall::Accept(parcels, holder)).await
    }

    pub(crate) async fn accept_intake(
        &self,
        parcels: Vec<NewParcel>,
        holder: NodeId,
    ) -> Result<Vec<AcceptOutcome>> {
        self.accepted(WriteCall::AcceptIntake(parcels, holder)).await
    }

    async fn accepted(&self, work: WriteCall) -> Result<Vec<AcceptOutcome>> {
        match self.call(work).await? {
            CallResult::Accepted(answers) => Ok(answers),
            CallResult::Settled(_) | CallResult::Released => Err(mixed_up()),
        }
    }

    pub(crate) async fn settle(
        &self,
        node: NodeId,
        settlements: Vec<Settlement>,
    ) -> Result<Vec<SettleOutcome>> {
        match self.call(WriteCall::Settle(node, settlements)).await? {
            CallResult::Settled(answers) => Ok(answers),
            CallResult::Accepted(_) | CallResult::Released => Err(mixed_up()),
        }
    }

    pub(crate) async fn release(
        &self,
        node: NodeId,
        deliveries: Vec<(TenantId, DeliveryId)>,
    ) -> Result<()> {
        match self.call(WriteCall::Release((node, deliveries))).await? {
            CallResult::Released => Ok(()),
            CallResult::Accepted(_) | CallResult::Settled(_) => Err(mixed_up()),
        }
    }

    pub(crate) async fn report(
        &self,
        scope: TenantScope,
        new: NewEmailReport,
    ) -> Result<AcceptOutcome> {
        match self.call(WriteCall::Report(scope, Box::new(new))).await? {
            CallResult::Accepted(mut answers) => answers.pop().ok_or_else(mixed_up),
            CallResult::Settled(_) | CallResult::Released => Err(mixed_up()),
        }
    }

    async fn call(&self, work: WriteCall) -> Result<CallResult> {
        let (reply, answer) = oneshot::channel();
        let (rows, bytes) = work.size();
        self.push(Call { work, reply, rows, bytes });
        let stopped = |_| Err(StoreError::Broken("the committer stopped".to_owned()));
        let (answer, mut guard) = answer.await.unwrap_or_else(stopped)?;
        // The caller has the answer, so no guard is needed any more.
        guard.clear();
        Ok(answer)
    }

    fn push(&self, call: Call) {
        let mut waiting = self.0.calls.lock();
        let line = if call.bytes > HEAVY { &mut waiting.heavy } else { &mut waiting.light };
        line.push_back(call);
        drop(waiting);
        self.0.came.notify_one();
    }

    /// Returns the calls that fit into one transaction, at least one.
    pub(crate) async fn next(&self) -> Batch {
        loop {
            let came = self.0.came.notified();
            if let Some(batch) = self.begin() {
                return batch;
            }
            self.0.idle.fetch_add(1, Ordering::Relaxed);
            came.await;
            self.0.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits a moment until there are a few calls. For a committer under load.
    pub(crate) async fn gather(&self, batch: &mut Batch) {
        let end = Instant::now() + MOMENT;
        while !batch.is_heavy && rows_of(&batch.calls) < FEW_ROWS {
            if timeout_at(end, self.0.came.notified()).await.is_err() {
                return;
            }
            self.take(&mut self.0.calls.lock(), batch);
            if !self.is_empty() {
                // The next call does not fit.
                return;
            }
        }
    }

    fn begin(&self) -> Option<Batch> {
        let mut waiting = self.0.calls.lock();
        if !waiting.has_work() {
            return None;
        }
        let is_heavy =
            waiting.may_take_heavy() && (waiting.light.is_empty() || !waiting.last_was_heavy);
        waiting.last_was_heavy = is_heavy;
        waiting.heavy_is_out |= is_heavy;
        let mut batch = Batch { calls: Vec::new(), is_heavy, queue: self.clone() };
        self.take(&mut waiting, &mut batch);
        Some(batch)
    }

    /// Adds the calls that still fit. If other committers are idle, it leaves them their share: one prepares
    /// its batch while another waits for the disk.
    fn take(&self, waiting: &mut WaitingCalls, batch: &mut Batch) {
        let calls = if batch.is_heavy { &mut waiting.heavy } else { &mut waiting.light };
        let taken = &mut batch.calls;
        let mut rows = rows_of(&*taken);
        let mut bytes: usize = taken.iter().map(|call| call.bytes).sum();
        let idle = self.0.idle.load(Ordering::Relaxed);
        let share = (rows + rows_of(calls.iter())).div_ceil(idle + 1);
        let max = share.clamp(FEW_ROWS, MAX_ROWS);
        while let Some(next) = calls.front() {
            rows += next.rows;
            bytes += next.bytes;
            if !taken.is_empty() && (rows > max || bytes > MAX_BYTES) {
                break;
            }
            taken.extend(calls.pop_front());
        }
        if waiting.has_work() {
            // For another committer.
            self.0.came.notify_one();
        }
    }

    /// Answers all waiting callers, because the server cannot be reached.
    pub(crate) fn refuse(&self, error: &StoreError) {
        let calls: Vec<Call> = {
            let WaitingCalls { light, heavy, .. } = &mut *self.0.calls.lock();
            light.drain(..).chain(heavy.drain(..)).collect()
        };
        for call in calls {
            let _ = call.reply.send(Err(error.clone()));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.0.calls.lock().has_work()
    }
}

fn rows_of<'a>(calls: impl IntoIterator<Item = &'a Call>) -> usize {
    calls.into_iter().map(|call| call.rows).sum()
}

pub(crate) fn mixed_up() -> StoreError {
    StoreError::Broken("an answer went to the wrong caller".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIGHT: usize = 1_000;
    const MEGABYTE: usize = 1 << 20;

    fn queue_of(sizes: &[usize]) -> Queue {
        let queue = Queue::default();
        for bytes in sizes {
            let work = WriteCall::Release((NodeId(1), Vec::new()));
            queue.push(Call { work, reply: oneshot::channel().0, rows: 1, bytes: *bytes });
        }
        queue
    }

    fn sizes(batch: Option<&Batch>) -> Vec<usize> {
        batch.into_iter().flat_map(|batch| &batch.calls).map(|call| call.bytes).collect()
    }

    #[test]
    fn large_bodies_are_carried_apart_and_by_one_committer_at_a_time() {
        let queue = queue_of(&[MEGABYTE, LIGHT, MEGABYTE, MEGABYTE, LIGHT]);
        let heavy = queue.begin();
        assert_eq!(sizes(heavy.as_ref()), [MEGABYTE; 2], "no more than fit");
        let light = queue.begin();
        assert_eq!(sizes(light.as_ref()), [LIGHT; 2]);
        assert!(queue.begin().is_none() && queue.is_empty(), "one carries them already");
        drop(light);
        assert!(queue.begin().is_none());
        drop(heavy);
        assert_eq!(sizes(queue.begin().as_ref()), [MEGABYTE]);
        assert!(queue.begin().is_none());
    }

    #[test]
    fn a_single_committer_serves_both_in_turn() {
        let queue = queue_of(&[MEGABYTE, MEGABYTE, MEGABYTE, LIGHT]);
        assert_eq!(sizes(queue.begin().as_ref()), [MEGABYTE; 2]);
        assert_eq!(sizes(queue.begin().as_ref()), [LIGHT], "not all of the others first");
        assert_eq!(sizes(queue.begin().as_ref()), [MEGABYTE]);
    }
}
