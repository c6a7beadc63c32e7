//! Limits what an engine holds in memory (back-pressure). Each delivery needs a seat, which returns itself
//! when dropped, so none can leak. Without a seat a delivery stays in the store.
//!
//! The lanes share the room, but each has a part that the others cannot take: a lane whose targets are all
//! slow does not stop the other lanes.

use std::sync::Arc;

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

    pub fn used(&self) -> Size {
        let used = self.used.lock();
        Size {
            jobs: used.iter().map(|lane| lane.size.jobs).sum(),
            bytes: used.iter().map(|lane| lane.size.bytes).sum(),
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
        Seats { room: self.clone(), lane, size }
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
        if used.iter().all(|lane| lane.size.jobs == 0) {
            self.empty.notify_waiters();
        }
    }
}

/// Seats for some deliveries. Frees them when dropped.
pub struct Seats {
    room: Arc<Room>,
    lane: Lane,
    size: Size,
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
        Seats { room: self.room.clone(), lane: self.lane, size: wanted }
    }

    pub fn size(&self) -> Size {
        self.size
    }
}

impl Drop for Seats {
    fn drop(&mut self) {
        if self.size != Size::default() {
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
