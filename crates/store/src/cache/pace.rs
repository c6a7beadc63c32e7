//! How often an entry that is changed all the time is read.

use std::time::Duration;

use tokio::time::Instant;

/// Each read is followed by a pause of this many times its duration, less what is [`FREE`].
const PAUSE: u32 = 9;
/// A read this short causes no pause: the change before it cost more.
const FREE: Duration = Duration::from_millis(1);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// When an entry may be read again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    next: Instant,
    pause: Duration,
}

impl Pace {
    /// After a read that took this long.
    pub fn after(took: Duration) -> Self {
        let pause = (took.saturating_sub(FREE) * PAUSE).min(MAX_PAUSE);
        Self { next: Instant::now() + pause, pause }
    }

    /// Returns until when to wait. `None`: the caller reads now, and nobody else until then.
    pub fn reserve(&mut self) -> Option<Instant> {
        let now = Instant::now();
        if now < self.next {
            return Some(self.next);
        }
        self.next = now + self.pause;
        None
    }
}
