//! Limits what an engine holds in memory (back-pressure). Each delivery needs a seat, which returns itself
//! when dropped, so none can leak. Without a seat a delivery stays in the store.
//!
//! The lanes share the room, but each has a part that the others cannot take: a lane whose targets are all
//! slow does not stop the other lanes.
//!
//! Where tenants live in several databases, one that does not answer keeps the results of its deliveries in
//! memory until it does. These are set aside, up to half as many as the room has: what is due in the other
//! databases needs the seats.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use gancho_domain::Lane;
use parking_lot::Mutex;
use tokio::sync::Notify;

const LANES: usize = Lane::ALL.len();

pub struct Room {
    max: Size,
    /// The part of each lane that no other lane can take.
    kept: Size,
    /// The part that claims leave to new deliveries, so that a backlog does not delay deliveries of targets
    /// that have none.
    spared: Size,
    lanes: Vec<Lane>,
    used: Mutex<[LaneUsage; LANES]>,
    /// What was set aside. Locked after `used`.
    aside: Mutex<Size>,
    /// Rung when there is room for a lane that waits for it.
    bells: [Arc<Notify>; LANES],
    /// Rung when all seats are back.
    empty: Notify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub jobs: usize,
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct LaneUsage {
    size: Size,
    /// The number of seats that the lane waits for.
    wanted: Option<usize>,
}

impl Room {
    pub fn new(max: Size, lanes: Vec<Lane>) -> Arc<Self> {
        let parts = if lanes.len() > 1 { 4 * lanes.len() } else { usize::MAX };
        Arc::new(Self {
            max,
            kept: Size { jobs: max.jobs / parts, bytes: max.bytes / parts },
            spared: Size { jobs: max.jobs / 8, bytes: max.bytes / 8 },
            lanes,
            used: Mutex::default(),
            aside: Mutex::default(),
            bells: std::array::from_fn(|_| Arc::new(Notify::new())),
            empty: Notify::new(),
        })
    }

    pub fn bell(&self, lane: Lane) -> Arc<Notify> {
        self.bells[lane.index()].clone()
    }

    /// Takes all of these seats, or none.
    pub fn take(self: &Arc<Self>, lane: Lane, size: Size) -> Option<Seats> {
        let mut used = self.used.lock();
        let free = self.free(&used, lane);
        (free.jobs >= size.jobs && free.bytes >= size.bytes)
            .then(|| self.seat(&mut used, lane, size))
    }

    /// Takes up to `max` seats for a claim. If fewer than `min` are free it takes none, and rings the
    /// lane's bell when there are.
    pub fn take_up_to(self: &Arc<Self>, lane: Lane, max: Size, min: usize) -> Option<Seats> {
        let mut used = self.used.lock();
        let free = self.free_to_claim(&used, lane);
        if free.jobs < min.max(1) || free.bytes == 0 {
            used[lane.index()].wanted = Some(min.max(1));
            return None;
        }
        used[lane.index()].wanted = None;
        let size = Size { jobs: free.jobs.min(max.jobs), bytes: free.bytes.min(max.bytes) };
        Some(self.seat(&mut used, lane, size))
    }

    /// Whether the lane waits for room.
    pub fn is_wanted(&self, lane: Lane) -> bool {
        self.used.lock()[lane.index()].wanted.is_some()
    }

    /// Includes what was set aside.
    pub fn used(&self) -> Size {
        let used = self.used.lock();
        let aside = self.aside.lock();
        Size {
            jobs: used.iter().map(|lane| lane.size.jobs).sum::<usize>() + aside.jobs,
            bytes: used.iter().map(|lane| lane.size.bytes).sum::<usize>() + aside.bytes,
        }
    }

    /// Waits until all seats are free.
    pub async fn emptied(&self) {
        loop {
            let empty = self.empty.notified();
            if self.used().jobs == 0 {
                return;
            }
            empty.await;
        }
    }

    fn seat(self: &Arc<Self>, used: &mut [LaneUsage; LANES], lane: Lane, size: Size) -> Seats {
        let mine = &mut used[lane.index()].size;
        mine.jobs += size.jobs;
        mine.bytes += size.bytes;
        Seats { room: self.clone(), lane, size, is_aside: AtomicBool::new(false) }
    }

    fn free(&self, used: &[LaneUsage; LANES], lane: Lane) -> Size {
        let mut free = self.max;
        for other in &self.lanes {
            let size = used[other.index()].size;
            let kept = if *other == lane { Size::default() } else { self.kept };
            free.jobs = free.jobs.saturating_sub(size.jobs.max(kept.jobs));
            free.bytes = free.bytes.saturating_sub(size.bytes.max(kept.bytes));
        }
        free
    }

    fn free_to_claim(&self, used: &[LaneUsage; LANES], lane: Lane) -> Size {
        let free = self.free(used, lane);
        Size {
            jobs: free.jobs.saturating_sub(self.spared.jobs),
            bytes: free.bytes.saturating_sub(self.spared.bytes),
        }
    }

    /// Adds to what was set aside, unless it is too much.
    fn set_aside(&self, size: Size) -> bool {
        let mut aside = self.aside.lock();
        let after = Size { jobs: aside.jobs + size.jobs, bytes: aside.bytes + size.bytes };
        let fits = after.jobs <= self.max.jobs / 2 && after.bytes <= self.max.bytes / 2;
        if fits {
            *aside = after;
        }
        fits
    }

    fn take_from_aside(&self, size: Size) {
        {
            let mut aside = self.aside.lock();
            aside.jobs = aside.jobs.saturating_sub(size.jobs);
            aside.bytes = aside.bytes.saturating_sub(size.bytes);
        }
        if self.used().jobs == 0 {
            self.empty.notify_waiters();
        }
    }

    fn give_back(&self, lane: Lane, size: Size) {
        let mut used = self.used.lock();
        let mine = &mut used[lane.index()].size;
        mine.jobs = mine.jobs.saturating_sub(size.jobs);
        mine.bytes = mine.bytes.saturating_sub(size.bytes);
        for other in &self.lanes {
            let free = self.free_to_claim(&used, *other);
            let waiting = &mut used[other.index()].wanted;
            if waiting.is_some_and(|wanted| free.jobs >= wanted && free.bytes > 0) {
                *waiting = None;
                self.bells[other.index()].notify_one();
            }
        }
        if used.iter().all(|lane| lane.size.jobs == 0) && self.aside.lock().jobs == 0 {
            self.empty.notify_waiters();
        }
    }
}

/// Seats for some deliveries. Frees them when dropped.
pub struct Seats {
    room: Arc<Room>,
    lane: Lane,
    size: Size,
    is_aside: AtomicBool,
}

/// The seat of one delivery.
pub type Seat = Seats;

impl Seats {
    /// Splits off one seat, for a delivery of `bytes` bytes. If that is more than was reserved, as for a body
    /// larger than the bytes that were left, the room is overdrawn, so that the delivery is not lost.
    pub fn one(&mut self, bytes: usize) -> Seat {
        let wanted = Size { jobs: 1, bytes };
        let missing = Size {
            jobs: wanted.jobs.saturating_sub(self.size.jobs),
            bytes: wanted.bytes.saturating_sub(self.size.bytes),
        };
        self.size.jobs -= wanted.jobs - missing.jobs;
        self.size.bytes -= wanted.bytes - missing.bytes;
        let mut used = self.room.used.lock();
        let mine = &mut used[self.lane.index()].size;
        mine.jobs += missing.jobs;
        mine.bytes += missing.bytes;
        let is_aside = AtomicBool::new(false);
        Seats { room: self.room.clone(), lane: self.lane, size: wanted, is_aside }
    }

    /// Frees them for others, although what they are for stays in memory. If too much does already, they stay
    /// taken.
    pub fn set_aside(&self) {
        if !self.is_aside.load(Ordering::Acquire) && self.room.set_aside(self.size) {
            self.is_aside.store(true, Ordering::Release);
            self.room.give_back(self.lane, self.size);
        }
    }

    pub fn size(&self) -> Size {
        self.size
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        if *self.is_aside.get_mut() {
            self.room.take_from_aside(self.size);
        } else if self.size != Size::default() {
            self.room.give_back(self.lane, self.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Size = Size { jobs: 120, bytes: 12_000 };

    fn size(jobs: usize, bytes: usize) -> Size {
        Size { jobs, bytes }
    }

    #[test]
    fn a_lane_cannot_take_what_is_kept_for_others() {
        let room = Room::new(MAX, Lane::ALL.to_vec());
        assert!(room.take(Lane::Webhook, size(101, 0)).is_none());
        let all = room.take(Lane::Webhook, size(100, 10_000)).unwrap();
        assert!(room.take(Lane::Webhook, size(1, 0)).is_none());
        let kept = room.take(Lane::Email, size(10, 1_000)).unwrap();
        assert!(room.take(Lane::Email, size(1, 0)).is_none());
        drop((all, kept));
        assert_eq!(room.used(), Size::default());

        let alone = Room::new(MAX, vec![Lane::Webhook]);
        assert!(alone.take(Lane::Webhook, MAX).is_some());
    }

    #[test]
    fn seats_are_split_and_come_back() {
        let room = Room::new(MAX, vec![Lane::Webhook]);
        let mut seats = room.take(Lane::Webhook, size(2, 100)).unwrap();
        let ones = [seats.one(60), seats.one(60)];
        assert_eq!(room.used(), size(2, 120), "overdrawn by what one body was larger");
        drop(seats);
        assert_eq!(room.used(), size(2, 120));
        drop(ones);
        assert_eq!(room.used(), Size::default());
    }

    #[tokio::test]
    async fn what_is_set_aside_leaves_its_seats_to_others() {
        let room = Room::new(MAX, vec![Lane::Webhook]);
        let bell = room.bell(Lane::Webhook);
        let mut held: Vec<Seats> =
            (0..120).map(|_| room.take(Lane::Webhook, size(1, 10)).unwrap()).collect();
        assert!(room.take_up_to(Lane::Webhook, MAX, 1).is_none());
        held.iter().for_each(Seats::set_aside);
        held.iter().for_each(Seats::set_aside);
        bell.notified().await;
        assert_eq!(room.used(), size(120, 1_200));
        assert!(room.take(Lane::Webhook, size(61, 0)).is_none(), "half of them at most");
        let others = room.take(Lane::Webhook, size(60, 0)).unwrap();
        held.truncate(30);
        assert!(room.take(Lane::Webhook, size(60, 0)).is_some(), "the others of them are back");
        drop(others);
        assert!(futures_util::FutureExt::now_or_never(room.emptied()).is_none());
        drop(held);
        room.emptied().await;
        assert_eq!(room.used(), Size::default());
    }

    #[tokio::test]
    async fn a_caller_that_waits_for_room_is_woken() {
        let room = Room::new(MAX, vec![Lane::Webhook]);
        let bell = room.bell(Lane::Webhook);
        let held: Vec<Seats> =
            (0..120).map(|_| room.take(Lane::Webhook, size(1, 0)).unwrap()).collect();
        assert!(room.take_up_to(Lane::Webhook, MAX, 60).is_none());
        let mut held = held.into_iter();
        held.by_ref().take(74).for_each(drop);
        assert!(futures_util::FutureExt::now_or_never(bell.notified()).is_none());
        held.by_ref().take(1).for_each(drop);
        bell.notified().await;
        held.for_each(drop);
        room.emptied().await;
    }
}
