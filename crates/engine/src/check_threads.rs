//! Runs checks that take long, such as of a schema, on a few threads of their own.
//!
//! The threads have a lower priority (on Linux), so that checks use the processor that publishing and delivering
//! leave. Tenants take turns, none has all of the threads, and calls of a tenant that has very many waiting are
//! refused: a tenant's checks delay only its own.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, mpsc},
    thread,
};

use gancho_store::{Account, FairSemaphore, Result, StoreError};
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// At least two, so that one tenant leaves one to the others.
const MIN_THREADS: usize = 2;
const MAX_THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

pub struct CheckThreads {
    count: u32,
    turns: FairSemaphore,
    /// Starts with the first check. The threads end when this is dropped.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Default for CheckThreads {
    fn default() -> Self {
        let processors = thread::available_parallelism().map_or(MIN_THREADS, usize::from);
        let count = (processors / 2).clamp(MIN_THREADS, MAX_THREADS) as u32;
        let turns = FairSemaphore::new(count, count / 2);
        Self { count, turns, jobs: Mutex::new(None) }
    }
}

impl CheckThreads {
    /// Waits for the account's turn, and runs the check. If it panics, the input is neither valid nor invalid,
    /// and the caller must try again.
    pub async fn run<T: Send + 'static>(
        &self,
        account: impl Into<Account>,
        check: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let turn = self.turns.acquire(account).await?;
        let (reply, outcome) = oneshot::channel();
        self.start(Box::new(move || {
            let outcome = run_inline(check);
            // The turn lasts until the thread is free again, even if the caller no longer waits.
            drop(turn);
            let _ = reply.send(outcome);
        }))?;
        outcome.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Returns the number of calls that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    fn start(&self, job: Job) -> Result<()> {
        let mut jobs = self.jobs.lock();
        let jobs = match &mut *jobs {
            Some(jobs) => jobs,
            none => none.insert(start_threads(self.count)?),
        };
        jobs.send(job).map_err(|_| stopped())
    }
}

/// Runs a short check on the calling thread. One that panics is an error, as with [`CheckThreads::run`].
pub fn run_inline<T>(check: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(check)).map_err(|_| {
        tracing::error!("check panicked");
        StoreError::Unavailable("the check failed: try again".into())
    })
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the threads for checks have stopped: try again".into())
}

fn start_threads(count: u32) -> Result<mpsc::Sender<Job>> {
    let (jobs, queue) = mpsc::channel::<Job>();
    let queue = Arc::new(Mutex::new(queue));
    for number in 0..count {
        let queue = queue.clone();
        let serve = move || {
            yield_to_others();
            loop {
                let next = queue.lock().recv();
                let Ok(job) = next else { return };
                job();
            }
        };
        thread::Builder::new().name(format!("gancho-check-{number}")).spawn(serve).map_err(
            |error| {
                StoreError::Unavailable(format!("could not start a thread for checks: {error}"))
            },
        )?;
    }
    Ok(jobs)
}

/// Lowers the priority of this thread.
fn yield_to_others() {
    // On Linux, this is the calling thread; elsewhere it would be the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use gancho_domain::TenantId;
    use gancho_testkit::wait_for;

    use super::*;

    fn tenant(number: u128) -> Account {
        Account::Tenant(TenantId::from_bits(number))
    }

    // faults.md E6: an input that could not be checked neither passes nor counts as an error of the sender.
    #[tokio::test]
    async fn a_check_that_breaks_has_no_outcome() {
        let threads = CheckThreads::default();
        for _ in 0..2 * MAX_THREADS {
            let outcome = threads.run(tenant(1), || -> bool { panic!("in the check") }).await;
            assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
        }
        assert!(threads.run(tenant(1), || true).await.unwrap(), "the threads live on");
        let inline = run_inline(|| -> bool { panic!("in the check") });
        assert!(matches!(inline, Err(StoreError::Unavailable(_))), "{inline:?}");
        assert!(run_inline(|| true).unwrap());
    }

    #[tokio::test]
    async fn a_tenant_with_many_long_checks_leaves_threads_to_others() {
        let threads = Arc::new(CheckThreads::default());
        let (end, ended) = mpsc::channel::<()>();
        let (ended, running) = (Arc::new(Mutex::new(ended)), Arc::new(AtomicUsize::new(0)));
        let long: Vec<_> = (0..20)
            .map(|_| {
                let (threads, ended, running) = (threads.clone(), ended.clone(), running.clone());
                tokio::spawn(async move {
                    let check = move || {
                        running.fetch_add(1, Ordering::SeqCst);
                        let _ = ended.lock().recv();
                    };
                    threads.run(tenant(1), check).await
                })
            })
            .collect();
        let share = threads.count as usize / 2;
        wait_for("the tenant's share of threads", || async {
            let is_full = running.load(Ordering::SeqCst) == share;
            (is_full && threads.waiting() == 20 - share).then_some(())
        })
        .await;
        assert!(threads.run(tenant(2), || true).await.unwrap(), "another tenant's is run at once");
        assert_eq!(running.load(Ordering::SeqCst), share);
        drop(end);
        for check in long {
            check.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn calls_beyond_the_maximum_that_may_wait_are_refused() {
        let threads = Arc::new(CheckThreads::default());
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let wait = || {
            let ended = ended.clone();
            move || ended.lock().recv().is_ok()
        };
        let mut calls: Vec<_> =
            (0..2_000).map(|_| Box::pin(threads.run(tenant(1), wait()))).collect();
        let refused = calls
            .iter_mut()
            .filter_map(|call| futures_util::FutureExt::now_or_never(call.as_mut()))
            .filter(|outcome| matches!(outcome, Err(StoreError::Busy(_))))
            .count();
        assert_eq!(refused, 2_000 - 1_024 - threads.count as usize / 2);
        assert!(threads.run(tenant(2), || true).await.unwrap());
        drop((end, calls));
    }
}
