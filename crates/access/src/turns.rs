//! Turns at something that one caller does at a time. Those who wait take turns by the network that they call
//! from: however many addresses of one network wait, a caller from another one is next but one. While callers
//! from unknown networks wait, every second turn is for the others, however many networks there are.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Where a caller comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// See [`gancho_domain::AddressBlock::site`].
    network: Option<IpAddr>,
    /// Whether somebody has proven there who they are.
    is_proven: bool,
}

impl Origin {
    /// A caller who has proven who they are.
    pub const CALLER: Self = Self { network: None, is_proven: true };

    pub fn new(network: Option<IpAddr>, is_proven: bool) -> Self {
        Self { network, is_proven }
    }
}

/// Maximum waiting callers of one network, and of all that are proven or not.
const MAX_OF_ORIGIN: usize = 32;
const MAX_WAITING: usize = 4_096;

#[derive(Clone, Default)]
pub struct Turns(Arc<Mutex<TurnState>>);

/// Invariant: nobody waits unless the turn is taken.
#[derive(Default)]
struct TurnState {
    is_taken: bool,
    proven: WaitingLine,
    unproven: WaitingLine,
    was_proven: bool,
}

/// Invariant: a network is in the order exactly if one of its callers waits.
#[derive(Default)]
struct WaitingLine {
    waiting: HashMap<Origin, VecDeque<oneshot::Sender<Turn>>>,
    order: VecDeque<Origin>,
    count: usize,
}

/// A turn. It is the next caller's when dropped.
pub struct Turn(Option<Turns>);

impl Turns {
    /// Waits for a turn. Returns `None` if too many wait.
    pub async fn acquire(&self, origin: Origin) -> Option<Turn> {
        let turn = {
            let mut state = self.0.lock();
            if !state.is_taken {
                state.is_taken = true;
                return Some(Turn(Some(self.clone())));
            }
            let line = if origin.is_proven { &mut state.proven } else { &mut state.unproven };
            line.enqueue(origin)?
        };
        turn.await.ok()
    }

    fn pass_on(&self) {
        loop {
            let next = {
                let mut state = self.0.lock();
                let next = state.next();
                state.is_taken = next.is_some();
                next
            };
            let Some(next) = next else { return };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // The caller no longer waits.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    #[cfg(test)]
    pub fn is_taken(&self) -> bool {
        self.0.lock().is_taken
    }

    #[cfg(test)]
    pub fn is_full(&self) -> bool {
        self.0.lock().unproven.count >= MAX_WAITING
    }
}

impl TurnState {
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        self.was_proven = !self.was_proven;
        let (first, second) = if self.was_proven {
            (&mut self.proven, &mut self.unproven)
        } else {
            (&mut self.unproven, &mut self.proven)
        };
        first.next().or_else(|| second.next())
    }
}

impl WaitingLine {
    fn enqueue(&mut self, origin: Origin) -> Option<oneshot::Receiver<Turn>> {
        let queue = self.waiting.entry(origin).or_default();
        let before = queue.len();
        if before >= MAX_OF_ORIGIN {
            queue.retain(|waiting| !waiting.is_closed());
            self.count -= before - queue.len();
        }
        let is_full = queue.len() >= MAX_OF_ORIGIN || self.count >= MAX_WAITING;
        let wake = (!is_full).then(|| {
            let (wake, turn) = oneshot::channel();
            queue.push_back(wake);
            turn
        });
        self.count += usize::from(wake.is_some());
        match (before > 0, !queue.is_empty()) {
            (false, true) => self.order.push_back(origin),
            (true, false) => self.order.retain(|waiting| *waiting != origin),
            _ => {}
        }
        if queue.is_empty() {
            self.waiting.remove(&origin);
        }
        wake
    }

    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let origin = self.order.pop_front()?;
        let queue = self.waiting.get_mut(&origin)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&origin);
        } else {
            self.order.push_back(origin);
        }
        self.count -= usize::from(next.is_some());
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, pin::Pin};

    use futures_util::FutureExt;

    use super::*;

    type Waiting = Pin<Box<dyn Future<Output = Option<Turn>>>>;

    fn site(number: u32) -> Origin {
        Origin::new(Some(Ipv4Addr::from_bits(number).into()), false)
    }

    /// Starts to wait.
    fn wait(turns: &Turns, from: Origin) -> Waiting {
        let turns = turns.clone();
        let mut waiting: Waiting = Box::pin(async move { turns.acquire(from).await });
        assert!(waiting.as_mut().now_or_never().is_none(), "it does not wait");
        waiting
    }

    #[tokio::test]
    async fn a_network_with_many_callers_delays_another_by_one_turn() {
        let turns = Turns::default();
        let first = turns.acquire(site(1)).await.unwrap();
        let mut crowd: VecDeque<_> = (0..MAX_OF_ORIGIN).map(|_| wait(&turns, site(1))).collect();
        assert!(turns.acquire(site(1)).await.is_none(), "too many of one network");
        let mut other = wait(&turns, site(2));
        drop(first);
        let second = crowd.pop_front().unwrap().await.unwrap();
        assert!(other.as_mut().now_or_never().is_none());
        drop(second);
        drop(other.await.unwrap());
        for one in crowd {
            drop(one.await.unwrap());
        }
        assert!(!turns.is_taken());
        let line = &turns.0.lock().unproven;
        assert!(line.waiting.is_empty() && line.order.is_empty() && line.count == 0);
    }

    #[tokio::test]
    async fn thousands_of_unknown_networks_delay_a_proven_one_by_one_turn() {
        let turns = Turns::default();
        let first = turns.acquire(site(0)).await.unwrap();
        let mut crowd: VecDeque<_> =
            (1..=MAX_WAITING).map(|number| wait(&turns, site(number as u32))).collect();
        assert!(turns.acquire(site(u32::MAX)).await.is_none(), "too many");
        let known = Origin::new(Some(Ipv4Addr::LOCALHOST.into()), true);
        let mut known: VecDeque<_> = (0..3).map(|_| wait(&turns, known)).collect();
        drop(first);
        for _ in 0..3 {
            drop(known.pop_front().unwrap().await.unwrap());
            // The crowd has every second turn.
            drop(crowd.pop_front().unwrap().await.unwrap());
        }
        for one in crowd {
            drop(one.await.unwrap());
        }
        assert!(!turns.is_taken());
    }

    #[tokio::test]
    async fn those_who_give_up_are_passed_over() {
        let turns = Turns::default();
        let first = turns.acquire(Origin::CALLER).await.unwrap();
        let gave_up: Vec<_> = (0..MAX_OF_ORIGIN).map(|_| wait(&turns, site(1))).collect();
        let last = wait(&turns, site(2));
        drop(gave_up);
        let again = wait(&turns, site(1));
        drop(first);
        // It is granted the turn, and gives up before it sees that.
        drop(again);
        drop(last.await.unwrap());
        assert!(!turns.is_taken());
        assert_eq!(turns.0.lock().unproven.count, 0);
    }
}
