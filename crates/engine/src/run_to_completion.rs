//! A future that runs to completion even if its caller drops it.
//!
//! This is for correctness: a caller may disconnect while the store writes, and what follows the commit must still
//! happen. Deliveries that the commit has leased to this node must reach its queue (no other node takes them while this
//! one lives), the rest of a wide event must be placed, and the unused part of a charge refunded.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

/// Runs in the caller's task, so that not each call needs a task of its own. If it is dropped early, it moves
/// to a task of its own.
pub(crate) struct RunToCompletion<T: Send + 'static> {
    work: Option<Work<T>>,
    tracker: TaskTracker,
    /// Makes the tracker wait for this work too.
    _token: TaskTrackerToken,
}

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<T: Send + 'static> RunToCompletion<T> {
    pub fn new(tracker: &TaskTracker, work: impl Future<Output = T> + Send + 'static) -> Self {
        let (tracker, token) = (tracker.clone(), tracker.token());
        Self { work: Some(Box::pin(work)), tracker, _token: token }
    }
}

impl<T: Send + 'static> Future for RunToCompletion<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out first, so that work that panics is not polled again.
        let Some(mut work) = self.work.take() else { return Poll::Pending };
        let done = work.as_mut().poll(context);
        if done.is_pending() {
            self.work = Some(work);
        }
        done
    }
}

impl<T: Send + 'static> Drop for RunToCompletion<T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.tracker.spawn_on(work, &runtime);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    };

    use futures_util::{FutureExt, poll};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_is_finished_when_nobody_waits_any_more() {
        let (tracker, is_done) = (TaskTracker::new(), Arc::new(AtomicBool::new(false)));
        let (go, gone) = oneshot::channel::<()>();
        let note = is_done.clone();
        let mut waiting = Box::pin(RunToCompletion::new(&tracker, async move {
            gone.await.unwrap();
            note.store(true, Relaxed);
        }));
        assert!(poll!(&mut waiting).is_pending());
        drop(waiting);
        tracker.close();
        assert!(tracker.wait().now_or_never().is_none(), "the tracker waits for it");
        go.send(()).unwrap();
        tracker.wait().await;
        assert!(is_done.load(Relaxed));
    }

    #[tokio::test]
    async fn a_waiting_caller_gets_the_output_and_nothing_is_left() {
        let tracker = TaskTracker::new();
        let waiting = RunToCompletion::new(&tracker, async { 7 });
        tracker.close();
        assert_eq!((tracker.len(), waiting.await), (1, 7));
        assert!(tracker.is_empty());
    }

    #[tokio::test]
    async fn what_panicked_is_not_begun_again() {
        let tracker = TaskTracker::new();
        let broken = RunToCompletion::new(&tracker, async { panic!("as it must") });
        let caught = std::panic::AssertUnwindSafe(broken).catch_unwind().await;
        assert!(caught.is_err() && tracker.is_empty());
    }
}
