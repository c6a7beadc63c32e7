//! Lets the engine end an attempt that hangs while others wait for its slot, as long as nothing is lost by that.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// The engine's request to end an attempt early. The carrier seals it before it sends what must not be sent
/// twice; from then on the attempt runs to its own deadline. The default is never requested.
#[derive(Debug, Clone, Default)]
pub struct Preemption(Option<Arc<Request>>);

#[derive(Debug)]
struct Request {
    state: AtomicU8,
    bell: Notify,
    patience: u32,
}

const OPEN: u8 = 0;
const SEALED: u8 = 1;
const REQUESTED: u8 = 2;

/// The patience doubles this many times. After that it is as long as a mail server is given anyway. The last attempt
/// of a plan is never ended early, so that a server that is slow, and does not hang, accepts the message in the end.
const MAX_DOUBLINGS: u32 = 6;

impl Preemption {
    /// For an attempt of a delivery that has had this many before.
    pub fn after(attempts: u32) -> Self {
        let patience = 2_u32.pow(attempts.min(MAX_DOUBLINGS));
        let state = AtomicU8::new(OPEN);
        Self(Some(Arc::new(Request { state, bell: Notify::new(), patience })))
    }

    /// Whether the attempt may go on to what cannot be undone: it was not cut, and cannot be from now on.
    pub fn seal(&self) -> bool {
        self.0.as_ref().is_none_or(|request| request.change(SEALED) != REQUESTED)
    }

    /// Resolves when the attempt is to end.
    pub async fn requested(&self) {
        let Some(request) = &self.0 else {
            return std::future::pending().await;
        };
        while !self.is_requested() {
            request.bell.notified().await;
        }
    }

    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|request| request.state.load(Ordering::Acquire) == REQUESTED)
    }

    /// How many times as long as a first attempt this one may hang while others wait for its slot. `None`: to its own
    /// deadline.
    pub fn patience(&self) -> Option<u32> {
        self.0.as_ref().map(|request| request.patience)
    }

    /// Asks the attempt to end. Returns whether it will: it was not sealed.
    pub(crate) fn request(&self) -> bool {
        let Some(request) = &self.0 else {
            return false;
        };
        let is_requested = request.change(REQUESTED) != SEALED;
        if is_requested {
            request.bell.notify_one();
        }
        is_requested
    }
}

impl Request {
    /// Moves from open to the given state. Returns the state before.
    fn change(&self, to: u8) -> u8 {
        let changed = self.state.compare_exchange(OPEN, to, Ordering::AcqRel, Ordering::Acquire);
        changed.unwrap_or_else(|before| before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_not_cut_and_what_is_cut_is_not_sealed() {
        let preemption = Preemption::after(0);
        assert!(preemption.seal() && preemption.seal());
        assert!(!preemption.request() && !preemption.is_requested());
        let preemption = Preemption::after(0);
        assert!(preemption.request() && preemption.request() && preemption.is_requested());
        assert!(!preemption.seal());
        assert!(Preemption::default().seal() && !Preemption::default().request());
    }

    #[test]
    fn later_attempts_have_more_patience() {
        let patience =
            [0, 1, 2, 3, 6, 9].map(|attempts| Preemption::after(attempts).patience().unwrap());
        assert_eq!(patience, [1, 2, 4, 8, 64, 64]);
    }

    #[tokio::test]
    async fn a_request_is_noticed_before_and_while_it_is_waited_for() {
        let preemption = Preemption::after(0);
        let waiter = tokio::spawn({
            let preemption = preemption.clone();
            async move { preemption.requested().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        preemption.request();
        waiter.await.unwrap();
        preemption.requested().await;
    }
}
