//! The progress of a pass over old rows. The next step continues after the last, so that rows that must
//! stay are not scanned in every step; if only such rows are found, the rest of the pass is left to the next
//! round.

use parking_lot::Mutex;

/// Maximum consecutive steps that find nothing before the rest is left to the next round.
const MAX_IDLE: u32 = 20;

pub(crate) struct Pass<P>(Mutex<State<P>>);

struct State<P> {
    /// The last row scanned.
    at: Option<P>,
    /// Consecutive steps that found nothing.
    idle: u32,
    has_ended: bool,
}

impl<P> Default for Pass<P> {
    fn default() -> Self {
        Self(Mutex::new(State { at: None, idle: 0, has_ended: false }))
    }
}

impl<P: Copy> Pass<P> {
    pub fn at(&self) -> Option<P> {
        self.0.lock().at
    }

    /// Whether it has reached the end once.
    pub fn has_ended(&self) -> bool {
        self.0.lock().has_ended
    }

    /// Continues after `last`; `None` is the end. Returns whether the next step should follow at once.
    pub fn advance(&self, last: Option<P>, found: bool) -> bool {
        let mut state = self.0.lock();
        state.at = last;
        state.has_ended |= last.is_none();
        state.idle = if found { 0 } else { state.idle + 1 };
        let more = last.is_some() && state.idle < MAX_IDLE;
        if !more {
            state.idle = 0;
        }
        more
    }
}
